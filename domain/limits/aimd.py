"""AIMD: one more while all goes well, a tenth less when something is dropped or takes too long.

Source: Netflix/concurrency-limits ``AIMDLimit.java``; its whole numbers are whole here too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.limits.codes import AIMD
from domain.limits.range import check_range
from domain.rule import Numbers, State, padded

_INITIAL, _LEAST, _MOST, _BACKOFF_RATIO, _TIMEOUT_S = range(5)
_LIMIT = 0


@dataclass(frozen=True, slots=True)
class AimdLimit:
    """L ← ⌊``backoff_ratio`` · L⌋ after a drop or one above ``timeout_s``, else L + 1 if 2 in_system ≥ L.

    Always within [``least``, ``most``].
    """

    initial: int = 20
    least: int = 20
    most: int = 200
    backoff_ratio: float = 0.9
    timeout_s: float = 5.0
    kind = "aimd"
    code = AIMD
    state_size = 1

    def __post_init__(self) -> None:
        check_range(self.least, self.initial, self.most)
        if not 0.5 <= self.backoff_ratio < 1.0:
            raise ValueError(f"backoff_ratio: must be at least 0.5 and below 1 (got {self.backoff_ratio!r})")
        if not 0.0 < self.timeout_s < math.inf:
            raise ValueError(f"timeout_s: must be positive and finite (got {self.timeout_s!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """As the plain functions take them."""
        return padded(self.initial, self.least, self.most, self.backoff_ratio, self.timeout_s)

    def scaled(self, factor: float) -> AimdLimit:
        """The same rule in another unit of time."""
        return AimdLimit(self.initial, self.least, self.most, self.backoff_ratio, self.timeout_s * factor)


def begin(p: Numbers, s: State) -> None:
    """At the initial limit."""
    s[_LIMIT] = p[_INITIAL]


def note_ended(p: Numbers, s: State, sojourn_s: float, in_system: float, dropped: bool) -> None:
    """An attempt that was admitted has left."""
    limit = s[_LIMIT]
    if dropped or sojourn_s > p[_TIMEOUT_S]:
        limit = float(int(limit * p[_BACKOFF_RATIO]))
    elif in_system * 2.0 >= limit:
        limit += 1.0
    s[_LIMIT] = min(p[_MOST], max(p[_LEAST], limit))
