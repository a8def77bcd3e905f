"""When the works of attempts arrive behind a layer that tries again on its own: told by probes past it.

An attempt is tried up to h times, τ apart, as long as its client waits (h and τ are known to nobody here). So
of a stretch of time the works are not those of the attempts sent in it alone, but a mean of those sent 0, τ,
… (h − 1)τ before. After a push the attempts come in waves, which shows h and τ to probes that see the work
between them: of a few values, those that explain it best.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.trigger.observations import Observations
from analysis.trigger.sequence import Floats

MOST_TRIES = 4
STEPS = 12
"""So many values of τ up to the client's timeout are tried."""
PARAMETERS = 3
"""h, τ, and the work of a try."""
Chosen = NDArray[np.bool_]


class SentSoFar:
    """How many attempts of jobs had been sent by a time; even between ticks."""

    def __init__(self, seen: Observations, from_s: float) -> None:
        self._times = seen.column("t_s", from_s)
        self._counts = seen.column("first", from_s) + seen.column("retries", from_s)

    def __call__(self, times_s: Floats) -> Floats:
        """At each of these times."""
        return np.asarray(np.interp(times_s, self._times, self._counts), dtype=np.float64)


@dataclass(frozen=True)
class Stretches:
    """Times between two probes sent next to each other, the service being busy all the while: when the two
    were sent, and the seconds of work of jobs' attempts that arrived in between; each of shape (n,)."""

    starts_s: Floats
    ends_s: Floats
    works_s: Floats

    def within(self, start_s: float, end_s: float = np.inf) -> Chosen:
        """Which of them lie in this time, shape (n,), boolean."""
        inside: Chosen = (self.starts_s >= start_s) & (self.ends_s <= end_s)
        return inside


def attempts_arrived(stretches: Stretches, sent: SentSoFar, timeout_s: float) -> tuple[Floats, float] | None:
    """Attempts whose works arrived in each stretch, by the h and τ that explain the works best, and the
    variance of an attempt's work over its squared mean; None if there are too few to tell."""
    freedom = stretches.works_s.size - PARAMETERS
    if freedom < 1:
        return None
    best: tuple[float, Floats] | None = None
    for delays_s in _delays(timeout_s):
        attempts = np.mean([_between(stretches, sent, delay_s) for delay_s in delays_s], axis=0)
        if attempts.min() <= 0.0:
            continue
        mean = stretches.works_s.sum() / attempts.sum()
        scatter = float(np.sum((stretches.works_s - mean * attempts) ** 2 / attempts)) / mean**2
        if best is None or scatter < best[0]:
            best = scatter, attempts
    return None if best is None else (best[1], best[0] / freedom)


def _between(stretches: Stretches, sent: SentSoFar, delay_s: float) -> Floats:
    return sent(stretches.ends_s - delay_s) - sent(stretches.starts_s - delay_s)


def _delays(timeout_s: float) -> Iterator[tuple[float, ...]]:
    yield (0.0,)
    for tries in range(2, MOST_TRIES + 1):
        for step in range(1, STEPS):
            delay_s = timeout_s * step / STEPS
            if (tries - 1) * delay_s < timeout_s:
                yield tuple(delay_s * i for i in range(tries))
