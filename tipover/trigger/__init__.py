"""The trigger test: plan file, guards, the conductor of the live test, what is written about it."""
