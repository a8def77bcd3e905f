"""Envoy's adaptive concurrency: the limit follows the ratio of a measured least sojourn to the median.

Source: Envoy ``gradient_controller.cc`` and the defaults of ``adaptive_concurrency.proto``. Its timers are
looked at here when an attempt leaves, since nothing else changes what they would see: a new limit is in force
from the first departure after the timer, not from the timer. Its least sojourn is measured anew after an
interval plus a jitter, uniform up to 15%; here it is always the mean of that, 7.5%. Its medians are those of
a histogram, approximate; here they are exact, but of the first ``KEPT`` samples of an interval only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.limits.codes import ENVOY_GRADIENT
from domain.limits.range import check_range
from domain.rule import Numbers, State, padded

KEPT = 256
"""Samples that are kept of one interval."""
MEAN_JITTER = 0.075
STUCK = 5.0
"""Updates in a row that leave the limit at its least, after which the least sojourn is measured again."""
_MOST, _LEAST, _SAMPLES, _BUFFER, _UPDATE_S, _MIN_RTT_EVERY_S = range(6)
_LIMIT, _DEFERRED, _MIN_RTT_S, _EPOCH_S, _MEASURE_AT_S, _UPDATE_AT_S, _AT_LEAST, _COUNT, _SORTED = range(9)
"""State: the limit; what it was before the measurement that is going on, 0 if none is; minRTT; when
the last measurement began; when the next begins; when the next update is due; updates in a row at the least;
samples; and the samples in ascending order."""


@dataclass(frozen=True, slots=True)
class EnvoyGradientLimit:
    """Every ``update_s``: L ← ⌊gL + √(gL)⌋ with g = (1 + ``buffer``) · minRTT/p50 in [.5, 2].

    p50 is the median sojourn of those that left, served, since the last update; without any, nothing changes.
    At the start, every ``min_rtt_every_s`` and after five updates in a row at ``least``, minRTT is measured:
    L is held at ``least`` until ``samples`` attempts that came after that have left; their median is minRTT.
    Attempts from before the last measurement are no samples. Always within [``least``, ``most``].
    """

    most: int = 1000
    least: int = 3
    samples: int = 50
    buffer: float = 0.25
    update_s: float = 0.1
    min_rtt_every_s: float = 60.0
    kind = "envoy-gradient"
    code = ENVOY_GRADIENT
    state_size = _SORTED + KEPT

    def __post_init__(self) -> None:
        check_range(self.least, self.least, self.most)
        if not 1 <= self.samples <= KEPT:
            raise ValueError(f"samples: must be from 1 to {KEPT} (got {self.samples!r})")
        if not 0.0 <= self.buffer < math.inf:
            raise ValueError(f"buffer: must be at least 0 and finite (got {self.buffer!r})")
        for name, value in (("update_s", self.update_s), ("min_rtt_every_s", self.min_rtt_every_s)):
            if not 0.0 < value < math.inf:
                raise ValueError(f"{name}: must be positive and finite (got {value!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """As the plain functions take them."""
        return padded(
            self.most,
            self.least,
            self.samples,
            self.buffer,
            self.update_s,
            self.min_rtt_every_s,
        )

    def scaled(self, factor: float) -> EnvoyGradientLimit:
        """The same rule in another unit of time."""
        return EnvoyGradientLimit(
            self.most,
            self.least,
            self.samples,
            self.buffer,
            self.update_s * factor,
            self.min_rtt_every_s * factor,
        )


def begin(p: Numbers, s: State) -> None:
    """Measuring the least sojourn, at the least limit."""
    s[_LIMIT] = p[_LEAST]
    s[_DEFERRED] = p[_LEAST]
    s[_MIN_RTT_S] = 0.0
    s[_EPOCH_S] = -math.inf
    s[_MEASURE_AT_S] = math.inf
    s[_UPDATE_AT_S] = math.inf
    s[_AT_LEAST] = 0.0
    s[_COUNT] = 0.0


def note_ended(p: Numbers, s: State, now_s: float, sojourn_s: float, dropped: bool) -> None:
    """An attempt that was admitted has left; first come the timers that were due before that."""
    if s[_DEFERRED] == 0.0:
        if s[_UPDATE_AT_S] < s[_MEASURE_AT_S] and s[_UPDATE_AT_S] <= now_s:
            _update(p, s, now_s)
        if s[_MEASURE_AT_S] <= now_s:
            _measure(p, s, now_s)
    if dropped or now_s - sojourn_s < s[_EPOCH_S]:
        return
    _insert(s, sojourn_s)
    if s[_DEFERRED] > 0.0 and s[_COUNT] >= p[_SAMPLES]:
        s[_MIN_RTT_S] = _median(s)
        s[_COUNT] = 0.0
        s[_LIMIT] = s[_DEFERRED]
        s[_DEFERRED] = 0.0
        s[_AT_LEAST] = 0.0
        s[_MEASURE_AT_S] = now_s + p[_MIN_RTT_EVERY_S] * (1.0 + MEAN_JITTER)
        s[_UPDATE_AT_S] = now_s + p[_UPDATE_S]


def next_limit(limit: float, min_rtt_s: float, p50_s: float, buffer: float) -> float:
    """⌊gL + √(gL)⌋ with g = (1 + buffer) · minRTT/p50 in [.5, 2], in attempts; ``p50_s`` above 0."""
    gradient = max(0.5, min(2.0, (1.0 + buffer) * min_rtt_s / p50_s))
    return float(int(limit * gradient + math.sqrt(limit * gradient)))


def _update(p: Numbers, s: State, now_s: float) -> None:
    missed = math.floor((now_s - s[_UPDATE_AT_S]) / p[_UPDATE_S])
    s[_UPDATE_AT_S] += p[_UPDATE_S] * (missed + 1.0)
    if s[_COUNT] == 0.0:
        return
    before = s[_LIMIT]
    limit = next_limit(before, s[_MIN_RTT_S], _median(s), p[_BUFFER])
    s[_COUNT] = 0.0
    s[_LIMIT] = max(p[_LEAST], min(p[_MOST], limit))
    if before == p[_LEAST] and s[_LIMIT] == p[_LEAST]:
        s[_AT_LEAST] += 1.0
    else:
        s[_AT_LEAST] = 0.0
    if s[_AT_LEAST] >= STUCK:
        s[_MEASURE_AT_S] = now_s


def _measure(p: Numbers, s: State, now_s: float) -> None:
    s[_DEFERRED] = s[_LIMIT]
    s[_LIMIT] = p[_LEAST]
    s[_AT_LEAST] = 0.0
    s[_COUNT] = 0.0
    s[_EPOCH_S] = now_s


def _insert(s: State, sojourn_s: float) -> None:
    count = int(s[_COUNT])
    if sojourn_s <= 0.0 or count >= KEPT:
        return
    place = _SORTED + count
    while place > _SORTED and s[place - 1] > sojourn_s:
        s[place] = s[place - 1]
        place -= 1
    s[place] = sojourn_s
    s[_COUNT] += 1.0


def _median(s: Numbers) -> float:
    count = int(s[_COUNT])
    return (s[_SORTED + (count - 1) // 2] + s[_SORTED + count // 2]) / 2.0
