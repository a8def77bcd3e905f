"""The highest utilization at which a service comes back: bisected, or one over the measured amplification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.trigger.result import Interval, Method, Shot
from analysis.wording import percent


def threshold_of(shots: Sequence[Shot], bracket: Interval | None) -> tuple[Interval | None, Method]:
    """The threshold and how it was found: ``bracket`` if it was bisected, or else 1/A, at most 1, of the
    first shot's A; None if neither is known."""
    if bracket is not None:
        return bracket, "threshold"
    if not shots or shots[0].amplification is None:
        return None, "none"
    a = shots[0].amplification
    return Interval(_inverse(a.value), _inverse(a.high), _inverse(a.low)), shots[0].method


def undecided_end(shots: Sequence[Shot]) -> str | None:
    """That the search for the threshold ended at a push of which nobody knows; None if it did not.

    ``shots``: those of the search, in their order, the asked one first. Nothing more is tried after an
    undecided one.
    """
    if not shots or shots[-1].verdict != "undecided":
        return None
    at = percent(shots[-1].utilization)
    return f"The search for the threshold ended at {at}, where the push ended undecided."


def _inverse(amplification: float) -> float:
    return 1.0 if amplification <= 1.0 else 1.0 / amplification


def with_bisected_amplification(
    shots: tuple[Shot, ...], threshold: Interval | None, method: Method
) -> tuple[Shot, ...]:
    """The first shot with A = 1/ρ* if nothing else could measure it."""
    if not shots or threshold is None or method != "threshold" or shots[0].amplification is not None:
        return shots
    a = Interval(1.0 / threshold.value, 1.0 / threshold.high, 1.0 / threshold.low)
    first = replace(
        shots[0], amplification=a, amplified_utilization=a.times(shots[0].utilization), method="threshold"
    )
    return (first, *shots[1:])
