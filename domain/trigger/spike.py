"""The smallest spike that is a trigger with margin, and the most a trigger test can send.

A spike of factor k for Δ leaves a queue of (kρ − 1)Δ seconds; it is a trigger if that is more than the timeout
T (seed 002, Proposition 8). The dose is how many timeouts it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.trigger.plan import TriggerPlan


@dataclass(frozen=True, slots=True)
class Spike:
    """First attempts at ``factor`` times the normal rate for ``duration_s``."""

    factor: float
    duration_s: float


def spike_for(utilization: float, dose: float, timeout_s: float, duration_s: float | None = None) -> Spike:
    """The spike of ``dose`` timeouts at utilization ρ, one timeout long unless told otherwise: k = (1 + dose ·
    T/Δ)/ρ. In one timeout no retry can yet add to it."""
    length_s = timeout_s if duration_s is None else duration_s
    return Spike((1.0 + dose * timeout_s / length_s) / utilization, length_s)


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most that one push can send, if every attempt fails: rates in attempts/s."""

    normal_per_s: float
    spike_first_per_s: float
    peak_per_s: float
    """Every attempt of every job in the same second as the spike's first ones."""
    attempts: float
    duration_s: float


def attempts_at_most(plan: TriggerPlan) -> float:
    """Attempts a job can make: m, or for an endless client what fits into the watch."""
    m = plan.client.amplification
    return m if math.isfinite(m) else 1.0 + plan.watch_timeouts


def worst_case(plan: TriggerPlan, capacity_per_s: float) -> WorstCase:
    """What one push at the plan's utilization can send: rate × m."""
    rate = plan.utilization * capacity_per_s
    timeout_s, m = plan.client.timeout_s, attempts_at_most(plan)
    spike = spike_for(plan.utilization, plan.dose, timeout_s, plan.spike_s)
    first = rate * spike.factor
    baseline_s, watch_s = plan.baseline_timeouts * timeout_s, plan.watch_timeouts * timeout_s
    jobs = rate * (baseline_s + watch_s) + first * spike.duration_s
    # The baseline is healthy, or the test ends there; its jobs are counted in full all the same.
    return WorstCase(
        rate * m,
        first,
        first * m,
        jobs * m + rate * plan.rescue_s,
        baseline_s + spike.duration_s + watch_s + plan.rescue_s,
    )
