"""The trigger test: what is planned, and the words between the harness and its generator."""
