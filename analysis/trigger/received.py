"""A from what the service says it received: a Prometheus counter beside the generator's own counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.trigger.sequence import LEAST_SQUARED_VARIATION, boundary
from analysis.trigger.slope import TUNED_TIMEOUTS
from analysis.wording import number, percent

LEAST_ATTEMPTS = 60
MISSING = 0.8
"""A counter that shows less than this of what was sent in the storm after a spike ..."""
AS_CAPACITY = 0.25
"""... at about the rate of the capacity, counts what is begun and not what comes in."""

Counts = Sequence[tuple[float, float]]


def received_per_attempt(
    received_counts: Counts,
    seen: Observations,
    from_s: float,
    *,
    timeout_s: float,
    confidence: float = 0.95,
    probes_pass: bool = True,
) -> Interval | None:
    """Attempts that the service received per attempt that the client sent, from ``from_s`` to the last count.

    None if too little was counted. ``received_counts``: (seconds since the generator's start, counter), in
    order of time, asked for every now and then; a counter that fell was reset, and the count begins anew
    there. A Prometheus goes on saying what it scraped last, so only counts that have just moved are taken.
    ``probes_pass``: whether probes go through what retries attempts, or past it and are counted once. The
    interval holds at all times at once: attempts are taken to be received half their mean more or less often.
    """
    counts = _since_reset(_moved(received_counts, from_s))
    if len(counts) < 2:
        return None
    (start, first), (end, last) = counts[0], counts[-1]
    sent = seen.counted("first", start, end) + seen.counted("retries", start, end)
    probes = seen.counted("probes_sent", start, end)
    attempts = sent + probes if probes_pass else sent
    if attempts < LEAST_ATTEMPTS:
        return None
    value = max(0.0, (last - first - (0 if probes_pass else probes)) / attempts)
    variance = LEAST_SQUARED_VARIATION * value * value
    tuned_variance = variance * TUNED_TIMEOUTS * timeout_s * attempts / (end - start)
    reach = (
        float(boundary(variance * attempts, tuned_variance, 1.0 - confidence)) / attempts
        if value > 0
        else math.inf
    )
    return Interval(value, max(0.0, value - reach), value + reach)


def counts_only_begun(
    received_counts: Counts, seen: Observations, start_s: float, end_s: float, capacity_per_s: float
) -> str | None:
    """Why the counter is none of what arrives, in a sentence; None if it may be one.

    From ``start_s`` to ``end_s`` much more was sent than the service can do: a counter that the service keeps
    of what it has begun moves at its capacity then, and tells nothing of its queue.
    """
    before = [(t, value) for t, value in received_counts if t <= start_s]
    inside = [(t, value) for t, value in received_counts if start_s < t <= end_s]
    if not before or not inside:
        return None
    (start, first), (end, last) = before[-1], inside[-1]
    sent = seen.counted("first", start, end) + seen.counted("retries", start, end)
    rate = (last - first) / (end - start)
    if not 0.0 < last - first < MISSING * sent or abs(rate / capacity_per_s - 1.0) > AS_CAPACITY:
        return None
    return (
        f"The counter of what the service received (--received) shows {percent((last - first) / sent)} of "
        f"the {sent:,} attempts that were sent in the push, {number(rate)}/s, about its capacity: it counts "
        "what was begun, not what comes in, so it tells nothing of the queue. Count at the gateway or at "
        "the door."
    )


def _moved(counts: Counts, from_s: float) -> list[tuple[float, float]]:
    """Those that differ from the count before, which was asked for at ``from_s`` or later."""
    return [later for before, later in pairwise(counts) if before[0] >= from_s and later[1] != before[1]]


def _since_reset(counts: list[tuple[float, float]]) -> list[tuple[float, float]]:
    begin = 0
    for i in range(1, len(counts)):
        if counts[i][1] < counts[i - 1][1]:
            begin = i
    return counts[begin:]
