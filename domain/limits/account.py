"""A concurrency limit in use: one rule and its state."""

from __future__ import annotations

from domain.limits import decide
from domain.limits.decide import ConcurrencyLimit


class LimitAccount:
    """What the target asks on each arrival and tells of each departure. Times: one monotonic clock."""

    __slots__ = ("_code", "_parameters", "_state")

    def __init__(self, rule: ConcurrencyLimit) -> None:
        self._code = rule.code
        self._parameters = rule.parameters
        self._state = [0.0] * rule.state_size
        decide.begin(self._code, self._parameters, self._state)

    @property
    def limit(self) -> float:
        """How many attempts may be in the system now."""
        return decide.limit(self._code, self._parameters, self._state)

    def ended(self, now_s: float, sojourn_s: float, in_system: float, dropped: bool) -> None:
        """An attempt that was admitted has left; see ``decide.note_ended``."""
        decide.note_ended(self._code, self._parameters, self._state, now_s, sojourn_s, in_system, dropped)
