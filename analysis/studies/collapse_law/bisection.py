"""Bisection on one random world: the load, or the burst, from which a run fails.

Every step of one bisection uses the same seed, so the same arrivals, only denser or sparser: what is
found is the threshold of that world, and the thresholds of many seeds are spread as the tipping
probability rises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from analysis.seeds import available_cores

STEPS = 9
T = TypeVar("T")


def threshold(fails: Callable[[float], bool], low: float, high: float, steps: int = STEPS) -> float:
    """The middle of what is left of the bracket: it holds at ``low`` and is taken to fail at ``high``."""
    for _ in range(steps):
        middle = (low + high) / 2
        if fails(middle):
            high = middle
        else:
            low = middle
    return (low + high) / 2


def for_each(seeds: Sequence[int], work: Callable[[int], T]) -> list[T]:
    """``work`` at each seed, on all cores: the compiled simulation lets other threads run."""
    with ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(work, seeds))
