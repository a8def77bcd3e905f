"""A generator that does what it is told while it runs: load, saturation, patient probes, under ceilings."""
