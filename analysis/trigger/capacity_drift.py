"""A capacity that is measured before and after the shots: what changed meanwhile changes A with it.

Aρ and the verdict need no capacity. A = Aρ·C/λ does, that of the time of the watch, which lies between.
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


def drift_sentence(before: Interval | None, after: Interval | None) -> str | None:
    """What is to be said if the capacity has changed by more than 10%, and by more than chance."""
    if before is None or after is None:
        return None
    apart = before.high < after.low or after.high < before.low
    if not apart or abs(after.value / before.value - 1.0) <= LARGE:
        return None
    change = f"from {number(before.value)}/s to {number(after.value)}/s"
    return (
        f"The capacity changed during the test, {change}: the utilization was another one than asked for, and "
        "A and the threshold are only as good as that. The verdict and Aρ need no capacity."
    )
