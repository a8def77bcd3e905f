"""The autoscaler as a process: readings on a schedule, the decision of ``domain.fleet``, an order to whoever
keeps the pods."""
