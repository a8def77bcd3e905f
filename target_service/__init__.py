"""Tipover."""
