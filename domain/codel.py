"""CoDel as a server's queue uses it: when even the shortest wait of an interval was long, shed the longest.

Source: Facebook, "Fail at Scale", ACM Queue 13(8), 2015; folly ``executors/Codel.cpp``, whose defaults
these are. State: ``STATE_SIZE`` floats, all 0 before the first call.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.rule import State

STATE_SIZE = 4


@dataclass(frozen=True, slots=True)
class CoDel:
    """Overloaded when the least wait of the last interval exceeded ``target_s``; then what has waited
    more than twice the target is shed."""

    target_s: float = 0.005
    interval_s: float = 0.1

    def scaled(self, factor: float) -> CoDel:
        """The same rule in another unit of time."""
        return CoDel(self.target_s * factor, self.interval_s * factor)


def sheds(target_s: float, interval_s: float, s: State, now_s: float, waited_s: float) -> bool:
    """Whether an attempt that is taken from the queue at ``now_s`` after ``waited_s`` is thrown away."""
    raise NotImplementedError
