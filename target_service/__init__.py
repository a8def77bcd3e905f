"""The service that is tipped over: one FIFO queue, some pods, exponential service, over HTTP."""
