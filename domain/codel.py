"""CoDel as a server's queue uses it: when even the shortest wait of an interval was long, shed the longest.

Source: Facebook, "Fail at Scale", ACM Queue 13(8), 2015; folly ``executors/Codel.cpp``, whose defaults
these are. State: ``STATE_SIZE`` floats, all 0 before the first call.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.rule import State

STATE_SIZE = 4
SLOUGH = 2.0
"""An attempt that waited more than so many targets is shed while the queue is overloaded."""
_LEAST_WAIT_S, _INTERVAL_ENDS_S, _COUNTING, _OVERLOADED = range(STATE_SIZE)


@dataclass(frozen=True, slots=True)
class CoDel:
    """Overloaded when the least wait of the last interval exceeded ``target_s``; then what has waited
    more than twice the target is shed."""

    target_s: float = 0.005
    interval_s: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.target_s < math.inf:
            raise ValueError(f"target_s: must be positive and finite (got {self.target_s!r})")
        if not self.target_s < self.interval_s < math.inf:
            raise ValueError(f"interval_s: must be above target_s and finite (got {self.interval_s!r})")

    def scaled(self, factor: float) -> CoDel:
        """The same rule in another unit of time."""
        return CoDel(self.target_s * factor, self.interval_s * factor)


def sheds(target_s: float, interval_s: float, s: State, now_s: float, waited_s: float) -> bool:
    """Whether an attempt that is taken from the queue at ``now_s`` after ``waited_s`` is thrown away.

    An interval begins with the first attempt taken after the last one's end. That attempt is never shed and
    only begins the new least wait, so more than one must come in an interval before anything is shed. Whether
    the queue is overloaded is judged as it comes, by the least wait since the interval before began. The very
    first attempt is an interval of its own.
    """
    if now_s > s[_INTERVAL_ENDS_S] and s[_COUNTING] > 0.0:
        s[_INTERVAL_ENDS_S] = now_s + interval_s
        s[_OVERLOADED] = 1.0 if s[_LEAST_WAIT_S] > target_s else 0.0
        s[_COUNTING] = 0.0
    if s[_COUNTING] == 0.0:
        s[_COUNTING] = 1.0
        s[_LEAST_WAIT_S] = waited_s
        return False
    s[_LEAST_WAIT_S] = min(s[_LEAST_WAIT_S], waited_s)
    return s[_OVERLOADED] > 0.0 and waited_s > SLOUGH * target_s
