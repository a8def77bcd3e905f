"""Vegas: the queue is estimated from the shortest sojourn, and kept between two bounds.

Source: Netflix/concurrency-limits ``VegasLimit.java`` with its defaults (no smoothing, probes every 30 limits
of samples) and ``Log10RootIntFunction.java``. The shortest sojourn is measured anew after 30 · L samples
times a jitter that is uniform in [.5, 1) there; here it is always the mean of that, .75.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.limits.codes import VEGAS
from domain.limits.range import check_range
from domain.rule import Numbers, State, padded

PROBE_SAMPLES = 30.0 * 0.75
"""Samples between two measurements of the shortest sojourn, per unit of the limit."""
_INITIAL, _MOST = range(2)
_LIMIT, _SHORTEST_S, _SAMPLES = range(3)


@dataclass(frozen=True, slots=True)
class VegasLimit:
    """With q = ⌈L · (1 − shortest/sojourn)⌉ and l = ⌊log10 L⌋, at least 1: L + 6l if q ≤ l; L + l if q < 3l;
    L − l if q > 6l, or after a drop.

    No change between, nor if 2 · in_system < L. Always within [1, ``most``].
    """

    initial: int = 20
    most: int = 1000
    kind = "vegas"
    code = VEGAS
    state_size = 3

    def __post_init__(self) -> None:
        check_range(1, self.initial, self.most)

    @property
    def parameters(self) -> tuple[float, ...]:
        """As the plain functions take them."""
        return padded(self.initial, self.most)

    def scaled(self, factor: float) -> VegasLimit:  # noqa: ARG002
        """Itself: it knows ratios of times only."""
        return self


def step(limit: float) -> float:
    """⌊log10 of the limit⌋, at least 1."""
    digits = 0.0
    power = 10.0
    while limit >= power:
        digits += 1.0
        power *= 10.0
    return max(1.0, digits)


def begin(p: Numbers, s: State) -> None:
    """At the initial limit; no sojourn has been seen."""
    s[_LIMIT] = p[_INITIAL]
    s[_SHORTEST_S] = 0.0
    s[_SAMPLES] = 0.0


def note_ended(p: Numbers, s: State, sojourn_s: float, in_system: float, dropped: bool) -> None:
    """An attempt that was admitted has left; one that took no time at all tells nothing."""
    if sojourn_s <= 0.0:
        return
    s[_SAMPLES] += 1.0
    if s[_SAMPLES] >= PROBE_SAMPLES * s[_LIMIT]:
        s[_SAMPLES] = 0.0
        s[_SHORTEST_S] = sojourn_s
    elif s[_SHORTEST_S] == 0.0 or sojourn_s < s[_SHORTEST_S]:
        s[_SHORTEST_S] = sojourn_s
    else:
        limit = s[_LIMIT] + _change(s[_LIMIT], s[_SHORTEST_S], sojourn_s, in_system, dropped)
        s[_LIMIT] = max(1.0, min(p[_MOST], limit))


def _change(limit: float, shortest_s: float, sojourn_s: float, in_system: float, dropped: bool) -> float:
    log = step(limit)
    if dropped:
        return -log
    if in_system * 2.0 < limit:
        return 0.0
    queue = float(math.ceil(limit * (1.0 - shortest_s / sojourn_s)))
    if queue <= log:
        return 6.0 * log
    if queue < 3.0 * log:
        return log
    return -log if queue > 6.0 * log else 0.0
