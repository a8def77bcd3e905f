"""Gradient2: the limit follows the ratio of the long-run mean sojourn to the latest one.

Source: Netflix/concurrency-limits ``Gradient2Limit.java`` and ``ExpAvgMeasurement.java``; as there by
default, every sample counts by itself (nothing is gathered in windows of time first).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.limits.codes import GRADIENT2
from domain.limits.range import check_range
from domain.rule import Numbers, State, padded

WARM_UP = 10.0
"""Samples whose plain mean starts the exponential one."""
RECOVERY = 0.95
"""What the long-run mean is multiplied by while it is more than twice the latest sojourn."""
_INITIAL, _LEAST, _MOST, _WINDOW, _TOLERANCE, _QUEUE, _SMOOTHING = range(7)
_LIMIT, _LONG_S, _COUNT, _SUM_S = range(4)


@dataclass(frozen=True, slots=True)
class Gradient2Limit:
    """L ← (1 − a) · L + a · (L · g + ``queue``), a = ``smoothing``, g = ``tolerance`` · long/now in [.5, 1].

    No change if in_system < L/2; always within [``least``, ``most``]. ``now`` is the latest sojourn, ``long``
    the exponential mean over ``window`` samples (weight 2/(``window`` + 1), after a plain mean of the first
    ten), which is cut by 5% at each sample of less than half of it: it comes back after a long overload.
    """

    initial: int = 20
    least: int = 20
    most: int = 200
    window: int = 600
    tolerance: float = 1.5
    queue: float = 4.0
    smoothing: float = 0.2
    kind = "gradient2"
    code = GRADIENT2
    state_size = 4

    def __post_init__(self) -> None:
        check_range(self.least, self.initial, self.most)
        if not self.window >= 1:
            raise ValueError(f"window: must be at least 1 (got {self.window!r})")
        if not 1.0 <= self.tolerance < math.inf:
            raise ValueError(f"tolerance: must be at least 1 and finite (got {self.tolerance!r})")
        if not 0.0 <= self.queue < math.inf:
            raise ValueError(f"queue: must be at least 0 and finite (got {self.queue!r})")
        if not 0.0 < self.smoothing <= 1.0:
            raise ValueError(f"smoothing: must be above 0 and at most 1 (got {self.smoothing!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """As the plain functions take them."""
        return padded(
            self.initial,
            self.least,
            self.most,
            self.window,
            self.tolerance,
            self.queue,
            self.smoothing,
        )

    def scaled(self, factor: float) -> Gradient2Limit:  # noqa: ARG002
        """Itself: it knows ratios of times only."""
        return self


def begin(p: Numbers, s: State) -> None:
    """At the initial limit; no sojourn has been seen."""
    s[_LIMIT] = p[_INITIAL]
    s[_LONG_S] = 0.0
    s[_COUNT] = 0.0
    s[_SUM_S] = 0.0


def note_ended(p: Numbers, s: State, sojourn_s: float, in_system: float) -> None:
    """An attempt that was admitted has left, dropped or not; one that took no time at all tells nothing."""
    if sojourn_s <= 0.0:
        return
    long_s = _averaged(p, s, sojourn_s)
    if long_s > 2.0 * sojourn_s:
        s[_LONG_S] = long_s * RECOVERY
    limit = s[_LIMIT]
    if in_system < limit / 2.0:
        return
    gradient = max(0.5, min(1.0, p[_TOLERANCE] * long_s / sojourn_s))
    wanted = limit * gradient + p[_QUEUE]
    wanted = limit * (1.0 - p[_SMOOTHING]) + wanted * p[_SMOOTHING]
    s[_LIMIT] = max(p[_LEAST], min(p[_MOST], wanted))


def _averaged(p: Numbers, s: State, sojourn_s: float) -> float:
    if s[_COUNT] < WARM_UP:
        s[_COUNT] += 1.0
        s[_SUM_S] += sojourn_s
        s[_LONG_S] = s[_SUM_S] / s[_COUNT]
    else:
        weight = 2.0 / (p[_WINDOW] + 1.0)
        s[_LONG_S] = s[_LONG_S] * (1.0 - weight) + sojourn_s * weight
    return s[_LONG_S]
