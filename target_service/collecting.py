"""Garbage is collected while nothing is asked of the service, so that no pause looks like a slow service."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

LOOK_EVERY_S = 1.0
WORTH_COLLECTING = 1_000
"""Requests that have left since the last time: each leaves a closed connection, a cycle of objects."""


def collect_the_newest_only() -> None:
    """From now on only the newest objects are collected in passing.

    Tens of thousands of queued requests are a million objects that live long: without this the collector
    would walk them over and over. A walk over the newest 5,000 takes milliseconds, one over 50,000 a tenth of
    a second. What outlives it is left to ``collect_when_idle``.
    """
    gc.freeze()
    gc.set_threshold(5_000, 100_000, 100)


async def collect_when_idle(in_system: Callable[[], int], left: Callable[[], int]) -> None:
    """Look every second, for ever; ``left`` counts the requests that have left so far."""
    collected = left()
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if in_system() == 0 and left() - collected >= WORTH_COLLECTING:
            gc.collect()
            collected = left()
