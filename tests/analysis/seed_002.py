"""The grid that reproduces seed 002's own recovery times to the second or next to it, in plain Python.

The seed does not print its grid; this one was found by trying. Steps are one second. A step's arrivals
are a cohort, served first in first out; the part of it that has not been served when ``timeout_s``
whole steps are over has failed. Failures are noted in the step that follows, and that step's demand
sets the budget for their retries; the retries are offered one step later still. Recovery is
the last step after the spike that ends with something queued.
"""

from __future__ import annotations

import math


def recovery_s(
    utilization: float,
    *,
    factor: float,
    max_attempts: int,
    budget: float = math.inf,
    spike_s: int = 300,
    timeout_s: int = 10,
    longest_s: int = 100_000,
) -> int | None:
    """Seconds from the end of the spike; None if not within ``longest_s``. Work is in seconds of capacity."""
    queue, offered = 0.0, [0.0] * (max_attempts - 1)
    failed: list[list[float]] = []
    for step in range(spike_s + longest_s):
        demand = utilization * (factor if step < spike_s else 1.0)
        attempts = [demand, *offered]
        arrived = sum(attempts)
        unserved = min(arrived, queue + arrived - timeout_s)
        share = unserved / arrived if unserved > 1e-9 else 0.0
        failed.append([share * a for a in attempts])
        queue = max(0.0, queue + arrived - 1.0)
        if step >= spike_s and queue == 0.0:
            return step - spike_s - 1
        noted = failed[step - timeout_s][:-1] if step >= timeout_s else [0.0] * (max_attempts - 1)
        wanted = sum(noted)
        granted = min(1.0, budget * demand / wanted) if wanted > 0 else 1.0
        offered = [granted * a for a in noted]
    return None
