"""Values and rules that every part of Tipover shares: no I/O, no clock, no randomness of its own."""
