"""One way into every concurrency limit, by code: what the live target calls and the simulator compiles."""

from __future__ import annotations

from domain.rule import Numbers, Rule, State

ConcurrencyLimit = Rule
NONE, AIMD, VEGAS, GRADIENT2, ENVOY_GRADIENT = range(5)


def begin(code: int, p: Numbers, s: State) -> None:
    """Set the state to what it is before the first attempt."""


def limit(code: int, p: Numbers, s: State) -> float:
    """How many attempts may be in the system now; inf without a limit."""
    return float("inf")


def note_ended(
    code: int, p: Numbers, s: State, now_s: float, sojourn_s: float, in_system: float, dropped: bool
) -> None:
    """An attempt that was admitted has left.

    ``sojourn_s`` is since its arrival, ``in_system`` how many were in the system when it had been admitted
    (itself included), ``dropped`` whether it was thrown away unserved.
    """
