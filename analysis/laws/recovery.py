"""Recovery: how long the way back takes once the trigger is over."""

from __future__ import annotations

import math

from analysis.laws.checks import check
from analysis.laws.elementwise import elementwise
from analysis.laws.trap import is_trap, trapped_ingress_per_s
from analysis.laws.trigger import require_rest, spike_triggers, time_to_first_timeout_s


@elementwise
def recovery_time_s(
    *,
    amplification: float,
    spike_factor: float,
    utilization: float,
    spike_duration_s: float,
    timeout_s: float,
) -> float:
    """Seconds from the end of a load spike to an empty queue: (Akρ−1)(Δ−t0)/(1−Aρ) + T/(1−ρ).

    0 when the spike triggers nothing, infinite when Aρ ≥ 1 after a trigger. Retries are counted from t0 on
    though they begin T later, so for Δ − t0 under about 5T it overstates. Raises ``ValueError``
    outside the domain of ``spike_triggers`` and for A < 1. Source: seed 002 Prop. 7 (full form).
    """
    check(
        amplification=amplification,
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
        timeout_s=timeout_s,
    )
    if not spike_triggers(
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
        timeout_s=timeout_s,
    ):
        return 0.0
    if is_trap(amplification, utilization):
        return math.inf
    t0 = time_to_first_timeout_s(spike_factor=spike_factor, utilization=utilization, timeout_s=timeout_s)
    growth = amplification * spike_factor * utilization - 1.0
    drain = 1.0 - amplification * utilization
    return growth * (spike_duration_s - t0) / drain + timeout_s / (1.0 - utilization)


@elementwise
def long_spike_recovery_time_s(
    *, amplification: float, spike_factor: float, utilization: float, spike_duration_s: float
) -> float:
    """Recovery time of a spike much longer than t0, in seconds: Δ(Akρ − 1)/(1 − Aρ).

    Infinite when Aρ ≥ 1, 0 when Akρ ≤ 1. Raises ``ValueError`` for A < 1, k ≤ 0, ρ outside [0, 1) or
    Δ < 0. Source: seed 002 Prop. 7 (long-spike form).
    """
    check(
        amplification=amplification,
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
    )
    require_rest(utilization)
    if is_trap(amplification, utilization):
        return math.inf
    if utilization == 0:
        return 0.0
    growth = amplification * spike_factor * utilization - 1.0
    return max(0.0, spike_duration_s * growth / (1.0 - amplification * utilization))


@elementwise
def drain_time_s(
    *, depth: float, capacity_per_s: float, arrival_rate_per_s: float, amplification: float
) -> float:
    """Seconds to drain D attempts while every attempt fails: D/(μ − λm); infinite when λm ≥ μ.

    Raises ``ValueError`` for D < 0, capacity ≤ 0, λ < 0 or m < 1. Source: seed 000 Prop. 2.
    """
    check(
        depth=depth,
        capacity_per_s=capacity_per_s,
        arrival_rate_per_s=arrival_rate_per_s,
        amplification=amplification,
    )
    drain = capacity_per_s - trapped_ingress_per_s(amplification, arrival_rate_per_s)
    if depth == 0:
        return 0.0
    return depth / drain if drain > 0 else math.inf
