"""The plan as JSON, for the run directory and for the generator."""
