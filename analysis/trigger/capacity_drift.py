"""A capacity that is measured before and after the shots: what changed meanwhile changes A with it.

Aρ needs no capacity, nor does a verdict by it. A = Aρ·C/λ does, that of the time of the watch, which lies
between; and so does "not vulnerable", which compares with a plain service.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from analysis.trigger.result import Interval, Shot
from analysis.wording import number

LARGE = 0.10
"""A change by more than this is said."""


def with_both_capacities(
    shots: Sequence[Shot], before: Interval | None, after: Interval | None
) -> tuple[Shot, ...]:
    """The shots with A by the mean of the two capacities, and intervals wide enough for either."""
    if before is None or after is None:
        return tuple(shots)
    mean, low, high = (
        capacity / before.value
        for capacity in (
            (before.value + after.value) / 2.0,
            min(before.value, after.value),
            max(before.value, after.value),
        )
    )
    return tuple(
        shot
        if shot.amplification is None or shot.method in ("client", "threshold", "prometheus")
        else replace(
            shot,
            amplification=Interval(
                shot.amplification.value * mean, shot.amplification.low * low, shot.amplification.high * high
            ),
        )
        for shot in shots
    )


def with_verdicts_at_both(
    shots: Sequence[Shot], before: Interval | None, after: Interval | None, client_amplification: float
) -> tuple[Shot, ...]:
    """The shots, none of them called not vulnerable only because the service came to be faster meanwhile.

    That verdict says that a plain service would have stayed failed, or that an attempt cost less work; with
    the capacity that it had in the end neither need be so. It came back: that is what is left.
    """
    if drift_sentence(before, after) is None or before is None or after is None:
        return tuple(shots)
    if after.value <= before.value or client_amplification <= 1.0:
        return tuple(shots)
    grown = (
        f"Its capacity grew during the test, from {number(before.value)}/s to {number(after.value)}/s, so it "
        "may have come back by that, and not because failures add no load."
    )
    return tuple(
        replace(shot, verdict="recovers", evidence=(grown, *shot.evidence))
        if shot.verdict == "not vulnerable"
        else shot
        for shot in shots
    )


def drift_sentence(before: Interval | None, after: Interval | None) -> str | None:
    """What is to be said if the capacity has changed by more than 10%, and by more than chance."""
    if before is None or after is None:
        return None
    apart = before.high < after.low or after.high < before.low
    if not apart or abs(after.value / before.value - 1.0) <= LARGE:
        return None
    change = f"from {number(before.value)}/s to {number(after.value)}/s"
    return (
        f"The capacity changed during the test, {change}: the utilization was another one than asked for, "
        "and A and the threshold are only as good as that. Aρ needs no capacity."
    )
