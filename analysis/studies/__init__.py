"""The experiments of the sources, as studies that anyone can run again: ``tipover validate NAME``."""
