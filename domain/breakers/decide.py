"""One way into every breaker, by code: what the live client calls and the simulator compiles.

Every call that was let through must be told of once more, by ``note_ended``; a cancelled one too.
"""

from __future__ import annotations

from domain.breakers.adaptive_throttle import begin as throttle_begin
from domain.breakers.adaptive_throttle import lets_through as throttle_lets_through
from domain.breakers.adaptive_throttle import note_ended as throttle_note_ended
from domain.breakers.circuit_breaker import begin as circuit_begin
from domain.breakers.circuit_breaker import lets_through as circuit_lets_through
from domain.breakers.circuit_breaker import note_ended as circuit_note_ended
from domain.breakers.codes import ADAPTIVE_THROTTLE, CIRCUIT_BREAKER, NONE
from domain.rule import Numbers, Rule, State

__all__ = [
    "ADAPTIVE_THROTTLE",
    "CIRCUIT_BREAKER",
    "NONE",
    "Breaker",
    "begin",
    "lets_through",
    "note_ended",
]

Breaker = Rule


def begin(code: int, p: Numbers, s: State) -> None:
    """Set the state to what it is before the first call."""
    if code == ADAPTIVE_THROTTLE:
        throttle_begin(s)
    elif code == CIRCUIT_BREAKER:
        circuit_begin(p, s)


def lets_through(code: int, p: Numbers, s: State, now_s: float, u: float) -> bool:
    """Whether a call may be sent now, given a uniform draw in [0, 1); counts it as asked for."""
    if code == ADAPTIVE_THROTTLE:
        return throttle_lets_through(p, s, now_s, u)
    if code == CIRCUIT_BREAKER:
        return circuit_lets_through(p, s, now_s)
    return True


def note_ended(code: int, p: Numbers, s: State, now_s: float, succeeded: bool) -> None:
    """A call that was let through has ended."""
    if code == ADAPTIVE_THROTTLE:
        throttle_note_ended(p, s, now_s, succeeded)
    elif code == CIRCUIT_BREAKER:
        circuit_note_ended(p, s, now_s, succeeded)
