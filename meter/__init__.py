"""Counts attempts as they happen and exports the counts to Prometheus."""
