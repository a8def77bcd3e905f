"""One way into every concurrency limit, by code: what the live target calls and the simulator compiles."""

from __future__ import annotations

import math

from domain.limits.aimd import begin as aimd_begin
from domain.limits.aimd import note_ended as aimd_note_ended
from domain.limits.codes import AIMD, ENVOY_GRADIENT, GRADIENT2, NONE, VEGAS
from domain.limits.envoy_gradient import begin as envoy_begin
from domain.limits.envoy_gradient import note_ended as envoy_note_ended
from domain.limits.gradient2 import begin as gradient2_begin
from domain.limits.gradient2 import note_ended as gradient2_note_ended
from domain.limits.vegas import begin as vegas_begin
from domain.limits.vegas import note_ended as vegas_note_ended
from domain.rule import Numbers, Rule, State

__all__ = [
    "AIMD",
    "ENVOY_GRADIENT",
    "GRADIENT2",
    "NONE",
    "VEGAS",
    "ConcurrencyLimit",
    "begin",
    "limit",
    "note_ended",
]

ConcurrencyLimit = Rule
_LIMIT = 0
"""Where every limit keeps its limit."""


def begin(code: int, p: Numbers, s: State) -> None:
    """Set the state to what it is before the first attempt."""
    if code == AIMD:
        aimd_begin(p, s)
    elif code == VEGAS:
        vegas_begin(p, s)
    elif code == GRADIENT2:
        gradient2_begin(p, s)
    elif code == ENVOY_GRADIENT:
        envoy_begin(p, s)


def limit(code: int, p: Numbers, s: State) -> float:  # noqa: ARG001
    """How many attempts may be in the system now; inf without a limit.

    It may lie between two whole numbers (Gradient2). The sources cut it to the whole number below; to compare
    a number of attempts with it comes to the same.
    """
    return math.inf if code == NONE else s[_LIMIT]


def note_ended(
    code: int, p: Numbers, s: State, now_s: float, sojourn_s: float, in_system: float, dropped: bool
) -> None:
    """An attempt that was admitted has left.

    ``sojourn_s`` is since its arrival, ``in_system`` how many were in the system when it had been admitted
    (itself included), ``dropped`` whether it was thrown away unserved.
    """
    if code == AIMD:
        aimd_note_ended(p, s, sojourn_s, in_system, dropped)
    elif code == VEGAS:
        vegas_note_ended(p, s, sojourn_s, in_system, dropped)
    elif code == GRADIENT2:
        gradient2_note_ended(p, s, sojourn_s, in_system)
    elif code == ENVOY_GRADIENT:
        envoy_note_ended(p, s, now_s, sojourn_s, dropped)
