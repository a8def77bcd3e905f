"""A from what the service says it received: a Prometheus counter beside the generator's own counts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.trigger.sequence import LEAST_SQUARED_VARIATION, boundary
from analysis.trigger.slope import TUNED_TIMEOUTS

LEAST_JOBS = 20


def received_amplification(
    received_counts: Sequence[tuple[float, float]],
    seen: Observations,
    from_s: float,
    *,
    timeout_s: float,
    confidence: float = 0.95,
) -> Interval | None:
    """Attempts that the service received per first attempt sent, from ``from_s`` to the last count.

    None if too little was counted. ``received_counts``: (seconds since the generator's start, counter), in
    order of time; a counter that fell was reset, and the count begins anew there. Probes are taken off: they
    pass the same counter once each. The interval holds at all times at once: a job's attempts are taken to
    scatter by half their mean, though those of a client that always makes m scatter only where the window
    cuts jobs.
    """
    counts = _since_reset([(t, value) for t, value in received_counts if t >= from_s])
    if len(counts) < 2:
        return None
    (start, first), (end, last) = counts[0], counts[-1]
    jobs = seen.counted("first", start, end)
    if jobs < LEAST_JOBS:
        return None
    received = last - first - seen.counted("probes_sent", start, end)
    value = max(0.0, received / jobs)
    variance = LEAST_SQUARED_VARIATION * value * value
    rate = jobs / (end - start)
    tuned_variance = variance * TUNED_TIMEOUTS * timeout_s * rate
    reach = (
        float(boundary(variance * jobs, tuned_variance, 1.0 - confidence)) / jobs if value > 0 else math.inf
    )
    return Interval(value, max(0.0, value - reach), value + reach)


def _since_reset(counts: list[tuple[float, float]]) -> list[tuple[float, float]]:
    begin = 0
    for i in range(1, len(counts)):
        if counts[i][1] < counts[i - 1][1]:
            begin = i
    return counts[begin:]
