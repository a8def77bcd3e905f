"""A breaker in use: one rule and its state."""

from __future__ import annotations

from domain.breakers import decide
from domain.breakers.decide import Breaker


class BreakerAccount:
    """What a client asks before it sends anything, and tells of every attempt. Times: one monotonic clock."""

    __slots__ = ("_code", "_parameters", "_state")

    def __init__(self, rule: Breaker) -> None:
        self._code = rule.code
        self._parameters = rule.parameters
        self._state = [0.0] * rule.state_size
        decide.begin(self._code, self._parameters, self._state)

    def lets_through(self, now_s: float, u: float) -> bool:
        """Whether a call may be sent now, given a uniform draw in [0, 1)."""
        return decide.lets_through(self._code, self._parameters, self._state, now_s, u)

    def ended(self, now_s: float, succeeded: bool) -> None:
        """A call that was let through has ended, or was cancelled; each must be told of once."""
        decide.note_ended(self._code, self._parameters, self._state, now_s, succeeded)
