"""The root of a function between two ends, to the last bit."""

from __future__ import annotations

from collections.abc import Callable


def sign_change(is_before: Callable[[float], bool], low: float, high: float) -> float:
    """The last float of [low, high] for which ``is_before`` holds, given that it holds up to one point.

    Halves the interval until its ends are neighbours, so nothing is left to a tolerance.
    """
    while True:
        middle = low + (high - low) / 2
        if not low < middle < high:
            return low
        if is_before(middle):
            low = middle
        else:
            high = middle
