"""Chance: how far a backlog of finite rates strays from the law of its mean."""

from __future__ import annotations

import math

from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise
from analysis.laws.recovery import recovery_time_s
from analysis.laws.trigger import time_to_first_timeout_s


@elementwise
def failing_variance_per_s(
    *,
    arrival_rate_per_s: float,
    capacity_per_s: float,
    amplification: float,
    dispersion: float = 1.0,
    squared_variation: float = 1.0,
) -> float:
    """Variance of the backlog per second, in attempts²/s: A²λ·dispersion + c²C.

    Arrivals are worth ``amplification`` attempts each (1 while nothing fails); ``dispersion`` is the
    variance of their count over its mean, 1 for Poisson and 0 for evenly spaced ones;
    ``squared_variation`` is c², the variance of a service time over its mean squared, 1 if exponential.
    Given jobs and services instead of their rates, it is all the variance that these gather. Raises
    ``ValueError`` for A < 1 or anything negative. Source: diffusion approximation.
    """
    check(
        amplification=amplification,
        arrival_rate_per_s=arrival_rate_per_s,
        dispersion=dispersion,
        squared_variation=squared_variation,
    )
    # A service that is switched off has a capacity of 0 and gathers no variance of its own.
    require(0 <= capacity_per_s < math.inf, "capacity_per_s", "must be finite and at least 0", capacity_per_s)
    return float(amplification**2 * arrival_rate_per_s * dispersion + squared_variation * capacity_per_s)


@elementwise
def first_passage_sd_s(*, variance: float, drift_per_s: float) -> float:
    """Standard deviation in seconds of the time to drain a backlog: √variance/drift.

    ``variance`` (attempts²) is all that the backlog has gathered by the mean time of passage,
    ``drift_per_s`` the attempts drained per second. Raises ``ValueError`` for variance < 0 or
    drift ≤ 0. Source: first passage of a Brownian motion, Cox and Miller (1965) §5.7.
    """
    check(variance=variance, drift_per_s=drift_per_s)
    return math.sqrt(variance) / drift_per_s


@elementwise
def recovery_sd_s(
    *,
    arrival_rate_per_s: float,
    capacity_per_s: float,
    amplification: float,
    spike_factor: float,
    spike_duration_s: float,
    timeout_s: float,
    dispersion: float = 1.0,
) -> float:
    """Standard deviation of the recovery time after a load spike, in seconds of the given clock.

    √((A²λ+C)·T_rec + A²kλ(Δ−t0) + CΔ) / (C(1−Aρ)): what gathers while it drains and what gathered in
    the spike, over the drift. 0 when nothing is triggered, infinite when trapped. Raises
    ``ValueError`` as ``recovery_time_s`` does. Source: diffusion approximation around seed 002 Prop. 7.
    """
    check(arrival_rate_per_s=arrival_rate_per_s, capacity_per_s=capacity_per_s, dispersion=dispersion)
    rho = arrival_rate_per_s / capacity_per_s
    recovery = recovery_time_s(
        amplification=amplification,
        spike_factor=spike_factor,
        utilization=rho,
        spike_duration_s=spike_duration_s,
        timeout_s=timeout_s,
    )
    if recovery == 0 or math.isinf(recovery):
        return recovery
    t0 = time_to_first_timeout_s(spike_factor=spike_factor, utilization=rho, timeout_s=timeout_s)
    arrivals = amplification**2 * arrival_rate_per_s * dispersion
    spike = arrivals * spike_factor * (spike_duration_s - t0) + capacity_per_s * spike_duration_s
    variance = (arrivals + capacity_per_s) * recovery + spike
    return first_passage_sd_s(variance=variance, drift_per_s=capacity_per_s * (1.0 - amplification * rho))
