"""What a client offers while every attempt of it fails, and what a plain service would make of that."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from analysis import laws
from analysis.fluid import fluid_trace, last_late_s
from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.trigger.settling import settling_s
from domain.errors import ConfigurationError
from domain.experiment import Client, Demand, Experiment, Phase, Service

LEAST_JOBS = 20
MEASURED_TIMEOUTS = 2.0
"""What a budget leaves is measured over at least so many timeouts after the spike's retries have gone."""
ENDLESS_WINDOW_TIMEOUTS = 3.0


def attempts_a_job(
    client: Client,
    arrival_rate_per_s: float,
    seen: Observations,
    *,
    spike_end_s: float,
    confidence: float,
) -> Interval | None:
    """A: attempts a job makes while all fail.

    For a client with an end and without budget and breaker it is known; else it is counted since the spike's
    retries have gone, None until enough was. An endless client's grows on: it is that of the last few
    timeouts.
    """
    law = _law(client, arrival_rate_per_s)
    if not client.may_refuse and math.isfinite(law):
        return Interval(law, law, law)
    timeout_s, now = client.timeout_s, seen.now_s
    start = spike_end_s + settling_s(client)
    if now < start + MEASURED_TIMEOUTS * timeout_s:
        return None
    if math.isinf(law):
        start = max(start, now - ENDLESS_WINDOW_TIMEOUTS * timeout_s)
    jobs = seen.counted("first", start, now)
    if jobs < LEAST_JOBS:
        return None
    value = (jobs + seen.counted("retries", start, now)) / jobs
    # Retries answer to jobs of a while ago: both counts have their own chance.
    error = (value - 1.0) * NormalDist().inv_cdf(0.5 + confidence / 2.0) / math.sqrt(jobs)
    return Interval(value, max(1.0, value - error), value + error)


@lru_cache(maxsize=64)
def _law(client: Client, arrival_rate_per_s: float) -> float:
    return laws.failing_amplification(client, arrival_rate_per_s)


def law_amplification(client: Client, arrival_rate_per_s: float) -> float:
    """A of the client by the law of its rules, at this rate of jobs; ∞ for an endless one."""
    return _law(client, arrival_rate_per_s)


@lru_cache(maxsize=64)
def plain_recovery_s(
    client: Client,
    amplification: float,
    utilization: float,
    spike_factor: float,
    spike_duration_s: float,
    horizon_s: float,
) -> float:
    """Seconds from the end of the spike to the last late attempt at a plain first-in first-out service.

    By the fluid model for a client of whole attempts; for another A, and where the model would take too
    long, by the law of seed 002, Proposition 7, which overstates after short spikes. ∞ if later than
    ``horizon_s``.
    """
    if math.isinf(amplification):
        return math.inf
    whole = round(amplification)
    if abs(amplification - whole) < 1e-9:
        try:
            return _fluid_recovery_s(client, whole, utilization, spike_factor, spike_duration_s, horizon_s)
        except ConfigurationError:
            pass
    return laws.recovery_time_s(
        amplification=amplification,
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
        timeout_s=client.timeout_s,
    )


def _fluid_recovery_s(
    client: Client, attempts: int, utilization: float, factor: float, duration_s: float, horizon_s: float
) -> float:
    # The fluid's times do not depend on the capacity, only on ρ.
    plain = Client(client.timeout_s, attempts, client.backoff)
    phases = (Phase("spike", duration_s, factor), Phase("watch", horizon_s))
    trace = fluid_trace(
        Experiment("plain", "plain", plain, Demand(utilization, phases), Service(pods=1, rate_per_pod=1.0))
    )
    late = last_late_s(trace, duration_s)
    if late is None:
        return 0.0
    after = late + client.timeout_s - duration_s
    return after if late < duration_s + horizon_s - client.timeout_s else math.inf
