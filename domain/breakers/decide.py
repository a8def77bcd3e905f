"""One way into every breaker, by code: what the live client calls and the simulator compiles."""

from __future__ import annotations

from domain.rule import Numbers, Rule, State

Breaker = Rule
NONE, ADAPTIVE_THROTTLE, CIRCUIT_BREAKER = range(3)


def begin(code: int, p: Numbers, s: State) -> None:
    """Set the state to what it is before the first call."""


def lets_through(code: int, p: Numbers, s: State, now_s: float, u: float) -> bool:
    """Whether a call may be sent now, given a uniform draw in [0, 1); counts it as asked for."""
    return True


def note_ended(code: int, p: Numbers, s: State, now_s: float, succeeded: bool) -> None:
    """A call that was let through has ended."""
