"""Counts in words: "1 group", "13,056 attempts"."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A count with its noun, in the plural unless it is one."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def does(count: int, verb: str) -> str:
    """A count with what so many do: "1 agrees", "12 agree"."""
    return f"{count:,} {verb}{'s' if count == 1 else ''}"
