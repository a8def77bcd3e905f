"""The smallest spike that is a trigger with margin, and the most a trigger test can send.

A spike of factor k for Δ leaves a queue of (kρ − 1)Δ seconds; it is a trigger if that is more than the
timeout T (seed 002, Proposition 8). The dose is how many timeouts it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.trigger.plan import TriggerPlan

PROBES_A_TIMEOUT = 4.0
MOST_PROBE_SHARE, MOST_DIRECT_PROBE_SHARE = 0.03, 0.06
"""Of the capacity: probes are to see the queue, not to make it."""
LEAST_PROBES_A_TIMEOUT = 1.0
"""With fewer nothing is seen."""


@dataclass(frozen=True, slots=True)
class Spike:
    """First attempts at ``factor`` times the normal rate for ``duration_s``."""

    factor: float
    duration_s: float


def spike_for(utilization: float, dose: float, timeout_s: float, duration_s: float | None = None) -> Spike:
    """The spike of ``dose`` timeouts at utilization ρ, one timeout long unless told otherwise:
    k = (1 + dose · T/Δ)/ρ. In one timeout no retry can yet add to it."""
    length_s = timeout_s if duration_s is None else duration_s
    return Spike((1.0 + dose * timeout_s / length_s) / utilization, length_s)


def spike_of(plan: TriggerPlan) -> Spike:
    """The plan's spike at its own utilization."""
    return spike_for(plan.utilization, plan.dose, plan.client.timeout_s, plan.spike_s)


def probe_rate_per_s(plan: TriggerPlan, capacity_per_s: float) -> float:
    """Patient probes a second: the plan's, or four a timeout, at most 3% of the capacity (6% past a gateway,
    whose retries take long to settle), but at least one a timeout."""
    asked, timeout_s = plan.probing.rate_per_s, plan.client.timeout_s
    if asked is not None:
        return asked
    usual = min(PROBES_A_TIMEOUT / timeout_s, most_probe_share(plan) * capacity_per_s)
    return max(usual, LEAST_PROBES_A_TIMEOUT / timeout_s)


def most_probe_share(plan: TriggerPlan) -> float:
    """The share of the capacity that probes may be unless told otherwise."""
    return MOST_PROBE_SHARE if plan.target.probe_url is None else MOST_DIRECT_PROBE_SHARE


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The most that one push can send, if every attempt fails: rates in attempts/s."""

    normal_per_s: float
    spike_first_per_s: float
    peak_per_s: float
    """In any one second: every attempt of every job that may fall into it, and the probes."""
    attempts: float
    duration_s: float


def attempts_at_most(plan: TriggerPlan) -> float:
    """Attempts a job can make: m, or for an endless client what fits into the watch."""
    m = plan.client.amplification
    return m if math.isfinite(m) else 1.0 + plan.watch_timeouts


def attempts_in_a_second(plan: TriggerPlan) -> float:
    """Attempts that one job can make within a second: all m, since a rejection may come at once; those of an
    endless client are taken to time out."""
    m = plan.client.amplification
    return m if math.isfinite(m) else min(attempts_at_most(plan), 1.0 + 1.0 / plan.client.timeout_s)


def extra_jobs(plan: TriggerPlan, capacity_per_s: float) -> float:
    """Jobs of the spike beyond those of normal load: (k − 1)λΔ."""
    spike = spike_of(plan)
    return (spike.factor - 1.0) * plan.utilization * capacity_per_s * spike.duration_s


def worst_case(plan: TriggerPlan, capacity_per_s: float) -> WorstCase:
    """What one push at the plan's utilization can send: rate × m."""
    rate, spike = plan.utilization * capacity_per_s, spike_of(plan)
    timeout_s, m = plan.client.timeout_s, attempts_at_most(plan)
    probes = probe_rate_per_s(plan, capacity_per_s)
    baseline_s, watch_s = plan.baseline_timeouts * timeout_s, plan.watch_timeouts * timeout_s
    duration_s = baseline_s + spike.duration_s + watch_s + plan.rescue_s
    extra = extra_jobs(plan, capacity_per_s)
    extra_in_a_second = extra * min(1.0, 1.0 / spike.duration_s)
    # The baseline is healthy, or the test ends there; its jobs are counted in full all the same.
    jobs = rate * (baseline_s + spike.duration_s + watch_s) + extra
    return WorstCase(
        rate * m,
        rate * spike.factor,
        rate * m + extra_in_a_second * attempts_in_a_second(plan) + probes,
        jobs * m + rate * plan.rescue_s + probes * duration_s,
        duration_s,
    )
