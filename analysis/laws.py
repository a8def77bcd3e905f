"""Laws of metastable failure in closed form: trap, trigger, recovery, amplification, drain.

Every function is pure and takes plain floats: rates per second, durations in seconds, of any one
clock. ``amplification`` is A, the attempts one job costs when every attempt fails; ``utilization`` is
ρ = λ/C, first attempts over capacity. A value outside its domain raises ``ValueError`` with the field,
the rule and the value.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

ROUNDING = 1e-12
"""How far Aρ may fall short of 1 by floating-point rounding alone."""


def _require(ok: bool, field: str, rule: str, value: float) -> None:
    if not ok:
        raise ValueError(f"{field}: {rule} (got {value!r})")


def _positive(field: str, value: float) -> None:
    _require(math.isfinite(value) and value > 0, field, "must be positive and finite", value)


def _not_negative(field: str, value: float) -> None:
    _require(math.isfinite(value) and value >= 0, field, "must be finite and at least 0", value)


def _amplification(value: float) -> None:
    _require(value >= 1, "amplification", "must be at least 1", value)


def trap_threshold(amplification: float) -> float:
    """Utilization from which a triggered service stays failed: 1/A. Source: seed 002 Prop. 6.

    Dimensionless; 0 for an endless client (A = ∞). Raises ``ValueError`` for A < 1.
    """
    _amplification(amplification)
    return 1.0 / amplification


def is_trap(amplification: float, utilization: float) -> bool:
    """Whether a triggered service stays failed for ever: Aρ ≥ 1. Source: seed 002 Prop. 6.

    Raises ``ValueError`` for A < 1 or ρ < 0.
    """
    _amplification(amplification)
    _not_negative("utilization", utilization)
    return utilization > 0 and amplification * utilization >= 1.0 - ROUNDING


def spike_wait_s(spike_factor: float, utilization: float, spike_duration_s: float) -> float:
    """Wait a load spike builds while nothing times out: max(0, (kρ − 1)Δ) s. Source: seed 002 Prop. 8.

    Raises ``ValueError`` for k ≤ 0, ρ < 0 or Δ < 0.
    """
    _positive("spike_factor", spike_factor)
    _not_negative("utilization", utilization)
    _not_negative("spike_duration_s", spike_duration_s)
    return max(0.0, (spike_factor * utilization - 1.0) * spike_duration_s)


def spike_triggers(
    *, spike_factor: float, utilization: float, spike_duration_s: float, timeout_s: float
) -> bool:
    """Whether a load spike pushes the wait past the timeout: (kρ − 1)Δ > T. Source: seed 002 Prop. 8.

    Raises ``ValueError`` outside the domain of ``spike_wait_s`` and for T ≤ 0.
    """
    _positive("timeout_s", timeout_s)
    return spike_wait_s(spike_factor, utilization, spike_duration_s) > timeout_s


def capacity_cut_wait_s(*, cut_factor: float, utilization: float, cut_duration_s: float) -> float:
    """Wait left when capacity returns from a cut to C/k for Δ: max(0, (ρ − 1/k)Δ) s.

    In units of restored capacity, while nothing times out; ``cut_factor`` is k > 0, infinite for an
    outage. Unlike a spike of the same k it leaves (ρ − 1/k)Δ, not (kρ − 1)Δ. Raises ``ValueError`` for
    k ≤ 0, ρ < 0 or Δ < 0. Source: the fluid balance of seed 002 Prop. 8.
    """
    _require(cut_factor > 0, "cut_factor", "must be positive", cut_factor)
    _not_negative("utilization", utilization)
    _not_negative("cut_duration_s", cut_duration_s)
    return max(0.0, (utilization - 1.0 / cut_factor) * cut_duration_s)


def time_to_first_timeout_s(*, spike_factor: float, utilization: float, timeout_s: float) -> float:
    """Seconds into a load spike at which the first late attempt is sent: t0 = T/(kρ − 1).

    Infinite when kρ ≤ 1. Raises ``ValueError`` for k ≤ 0, ρ < 0 or T ≤ 0. Source: seed 002 Prop. 7.
    """
    _positive("spike_factor", spike_factor)
    _not_negative("utilization", utilization)
    _positive("timeout_s", timeout_s)
    excess = spike_factor * utilization - 1.0
    return timeout_s / excess if excess > 0 else math.inf


def recovery_time_s(
    *,
    amplification: float,
    spike_factor: float,
    utilization: float,
    spike_duration_s: float,
    timeout_s: float,
) -> float:
    """Seconds from the end of a load spike to an empty queue: (Akρ−1)(Δ−t0)/(1−Aρ) + T/(1−ρ).

    0 when the spike triggers nothing, infinite when Aρ ≥ 1 after a trigger. Raises ``ValueError``
    outside the domain of ``spike_triggers`` and for A < 1. Source: seed 002 Prop. 7 (full form).
    """
    _amplification(amplification)
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


def long_spike_recovery_time_s(
    *, amplification: float, spike_factor: float, utilization: float, spike_duration_s: float
) -> float:
    """Recovery time of a spike much longer than t0, in seconds: Δ(Akρ − 1)/(1 − Aρ).

    Infinite when Aρ ≥ 1, 0 when Akρ ≤ 1. Raises ``ValueError`` for A < 1, k ≤ 0, ρ < 0 or Δ < 0.
    Source: seed 002 Prop. 7 (long-spike form).
    """
    _amplification(amplification)
    _positive("spike_factor", spike_factor)
    _not_negative("spike_duration_s", spike_duration_s)
    if is_trap(amplification, utilization):
        return math.inf
    growth = amplification * spike_factor * utilization - 1.0
    return max(0.0, spike_duration_s * growth / (1.0 - amplification * utilization))


def retry_amplification(max_attempts: float, failure_probability: float = 1.0) -> float:
    """Attempts per job when each fails with probability p: (1 − p^m)/(1 − p); m at p = 1.

    ``max_attempts`` is m, the first included, ∞ allowed. Raises ``ValueError`` for m < 1 or p outside
    [0, 1]. Source: seed 002 Def. 8; seed 001 Sim A.
    """
    _require(max_attempts >= 1, "max_attempts", "must be at least 1", max_attempts)
    p = failure_probability
    _require(0.0 <= p <= 1.0, "failure_probability", "must lie in [0, 1]", p)
    if p == 1.0:
        return float(max_attempts)
    if p == 0.0:
        return 1.0
    # expm1 keeps the digits that 1 − p^m loses as p nears 1.
    return -math.expm1(max_attempts * math.log(p)) / (1.0 - p)


def hop_amplification(max_attempts: float, hops: int) -> float:
    """Worst-case attempts at the last service of H hops that each make m attempts: m^H.

    Raises ``ValueError`` for m < 1 or H < 1. Source: seed 003; seed 001 Sim A.
    """
    _require(max_attempts >= 1, "max_attempts", "must be at least 1", max_attempts)
    _require(hops >= 1, "hops", "must be at least 1", hops)
    return float(max_attempts) ** hops


def budget_amplification(budget: float) -> float:
    """Attempts per job under a retry budget β (retries per first attempt): 1 + β.

    Raises ``ValueError`` for β < 0. Source: seed 002 Def. 8.
    """
    _not_negative("budget", budget)
    return 1.0 + budget


def layered_amplification(layers: Iterable[float]) -> float:
    """Amplification of layers that retry independently: the product over layers; 1 for none.

    Raises ``ValueError`` for a layer below 1. Source: seed 002 Def. 8.
    """
    product = 1.0
    for layer in layers:
        _amplification(layer)
        product *= layer
    return product


def retries_are_safe(max_attempts: float, hops: int, slack: float) -> bool:
    """Whether the last service can absorb the worst case: m^H ≤ slack. Source: seed 003.

    ``slack`` is the multiple of normal load it can absorb while degraded. Raises ``ValueError``
    outside the domain of ``hop_amplification`` and for slack ≤ 0.
    """
    _positive("slack", slack)
    return hop_amplification(max_attempts, hops) <= slack


def trapped_ingress_per_s(amplification: float, arrival_rate_per_s: float) -> float:
    """Attempts per second a trapped service sees: Aλ. Source: seed 002 Prop. 6 and Cor. 5.

    Raises ``ValueError`` for A < 1 or λ < 0.
    """
    _amplification(amplification)
    _not_negative("arrival_rate_per_s", arrival_rate_per_s)
    return amplification * arrival_rate_per_s if arrival_rate_per_s else 0.0


def drain_time_s(
    *, depth: float, capacity_per_s: float, arrival_rate_per_s: float, amplification: float
) -> float:
    """Seconds to drain D attempts while every attempt fails: D/(μ − λm); infinite when λm ≥ μ.

    Raises ``ValueError`` for D < 0, capacity ≤ 0, λ < 0 or m < 1. Source: seed 000 Prop. 2.
    """
    _not_negative("depth", depth)
    _positive("capacity_per_s", capacity_per_s)
    drain = capacity_per_s - trapped_ingress_per_s(amplification, arrival_rate_per_s)
    if depth == 0:
        return 0.0
    return depth / drain if drain > 0 else math.inf


def failing_variance_per_s(
    *, arrival_rate_per_s: float, capacity_per_s: float, amplification: float, dispersion: float = 1.0
) -> float:
    """Variance of the backlog per second, in attempts²/s: A²λ·dispersion + C.

    Arrivals are worth ``amplification`` attempts each (1 while nothing fails); ``dispersion`` is the
    variance of their count over its mean, 1 for Poisson and 0 for evenly spaced ones; service is
    exponential. Raises ``ValueError`` for A < 1 or anything negative. Source: diffusion approximation.
    """
    _amplification(amplification)
    _not_negative("arrival_rate_per_s", arrival_rate_per_s)
    _not_negative("capacity_per_s", capacity_per_s)
    _not_negative("dispersion", dispersion)
    return amplification**2 * arrival_rate_per_s * dispersion + capacity_per_s


def first_passage_sd_s(*, variance: float, drift_per_s: float) -> float:
    """Standard deviation in seconds of the time to drain a backlog: √variance/drift.

    ``variance`` (attempts²) is all that the backlog has gathered by the mean time of passage,
    ``drift_per_s`` the attempts drained per second. Raises ``ValueError`` for variance < 0 or
    drift ≤ 0. Source: first passage of a Brownian motion, Cox and Miller (1965) §5.7.
    """
    _not_negative("variance", variance)
    _positive("drift_per_s", drift_per_s)
    return math.sqrt(variance) / drift_per_s


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
    _positive("capacity_per_s", capacity_per_s)
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
