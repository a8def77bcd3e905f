"""A service that answers more than its capacity: then that is larger, and it was pushed less than meant."""

from __future__ import annotations

import math

import numpy as np

from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.wording import number, seconds
from domain.trigger.messages import TICK_EVERY_S

OUTDONE, OUTDONE_ERRORS = 1.2, 3.0
"""By this factor and by so many standard errors more is more."""
STRETCHES_TIMEOUTS = (1.0, 2.0)
"""How long the stretches are in which a given capacity is checked."""


def outdone_capacity(
    seen: Observations,
    spike_s: tuple[float, float],
    capacity: Interval,
    timeout_s: float,
    *,
    not_vulnerable: bool,
) -> str | None:
    """Why the capacity, attempts/s, must be larger than is thought, in a sentence; None if it need not be.

    ``spike_s``: its start and end. What counts was answered from its start to a timeout after its end; and,
    if the verdict is to be not vulnerable, which rests on the capacity, and that was given and not measured
    (an interval of no width), in the best stretch since: a number may be far off, and a queue that drains is
    answered at the true one.
    """
    spike_start_s, spike_end_s = spike_s
    lasted_s = spike_end_s + timeout_s - spike_start_s
    stretches = [(seen.counted("answered", spike_start_s, spike_start_s + lasted_s), lasted_s)]
    if not_vulnerable and capacity.low == capacity.high:
        lengths = [timeouts * timeout_s for timeouts in STRETCHES_TIMEOUTS]
        stretches += [(_most_answered(seen, spike_start_s, length_s), length_s) for length_s in lengths]
    for answered, length_s in stretches:
        most = capacity.high * length_s
        if answered > OUTDONE * most + OUTDONE_ERRORS * math.sqrt(most):
            return (
                f"Since the start of the spike it answered {number(answered / length_s)}/s for "
                f"{seconds(length_s)}, more than its capacity of {number(capacity.value)}/s: the capacity is "
                "larger than that, so it was neither pushed as far nor as busy as asked."
            )
    return None


def _most_answered(seen: Observations, start_s: float, length_s: float) -> int:
    """In the best stretch of so long since then."""
    times, answered = seen.column("t_s", start_s), seen.column("answered", start_s)
    if not times.size:
        return 0
    ends = np.searchsorted(times, times + length_s + TICK_EVERY_S / 2.0, side="right") - 1
    return int((answered[ends] - answered).max())
