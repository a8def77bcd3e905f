"""Runs with an autoscaled fleet: how many pods there were, what that cost, and what the signals are worth."""
