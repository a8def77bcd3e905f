"""Random streams: one per purpose, all derived from the run's seed.

Changing how the jitter is drawn must not change the arrivals, so each purpose has its own generator.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

Purpose = Literal["arrivals", "service", "jitter", "requests", "breaker", "errors", "routing"]
_KEYS: dict[Purpose, int] = {
    "arrivals": 1,
    "service": 2,
    "jitter": 3,
    "requests": 4,
    "breaker": 5,
    "errors": 6,
    "routing": 7,
}


def stream(seed: int, purpose: Purpose, worker: int = 0) -> np.random.Generator:
    """The generator for one purpose in one worker (or pod group) of the run with this seed."""
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(entropy=seed, spawn_key=(_KEYS[purpose], worker)))
    )
