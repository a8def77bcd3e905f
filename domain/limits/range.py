"""The range a limit may take: whole numbers from a least to a most, begun in between."""

from __future__ import annotations


def check_range(least: int, initial: int, most: int) -> None:
    """Raise ``ValueError`` unless 1 ≤ ``least`` ≤ ``initial`` ≤ ``most``, all whole."""
    for name, value in (("least", least), ("initial", initial), ("most", most)):
        if value % 1 != 0:  # of an infinite one the rest is not a number
            raise ValueError(f"{name}: must be a whole number (got {value!r})")
    if least < 1:
        raise ValueError(f"least: must be at least 1 (got {least!r})")
    if most < least:
        raise ValueError(f"most: must be at least {least} (got {most!r})")
    if not least <= initial <= most:
        raise ValueError(f"initial: must be from {least} to {most} (got {initial!r})")
