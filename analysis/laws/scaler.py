"""Autoscalers: which signal lets a failed service out again."""

from __future__ import annotations

import math

from analysis.laws.checks import check
from analysis.laws.elementwise import elementwise
from analysis.laws.trap import is_trap, trapped_ingress_per_s


@elementwise
def first_attempt_scaler_trapped(amplification: float, target_utilization: float) -> bool:
    """Whether a scaler that counts first attempts stays trapped after a trigger: u* ≥ 1/A.

    The retries are not in its signal, so it holds ρ = u*, its target, if it may have the capacity for it:
    see ``first_attempt_scaler_escapes``. Raises ``ValueError`` for A < 1 or u* outside (0, 1).
    Source: seed 002 Cor. 4.
    """
    check(amplification=amplification, target_utilization=target_utilization)
    return is_trap(amplification, target_utilization)


@elementwise
def first_attempt_scaler_escapes(
    amplification: float,
    arrival_rate_per_s: float,
    target_utilization: float,
    capacity_ceiling_per_s: float = math.inf,
) -> bool:
    """Whether a scaler of first attempts gets a failed service out: Aλ < min(λ/u*, its ceiling).

    Without a ceiling u* < 1/A, Corollary 4. Nothing holds a service that has no demand. Raises
    ``ValueError`` for A < 1, λ < 0, u* outside (0, 1) or a ceiling ≤ 0. Source: seed 002 Prop. 6 and Cor. 4.
    """
    check(
        amplification=amplification,
        arrival_rate_per_s=arrival_rate_per_s,
        target_utilization=target_utilization,
        capacity_ceiling_per_s=capacity_ceiling_per_s,
    )
    if arrival_rate_per_s == 0:
        return True
    # As utilizations, so that without a ceiling it is Corollary 4 to the last bit.
    return not is_trap(amplification, max(target_utilization, arrival_rate_per_s / capacity_ceiling_per_s))


@elementwise
def ingress_scaler_capacity_per_s(
    amplification: float, arrival_rate_per_s: float, target_utilization: float
) -> float:
    """Capacity in attempts/s that a scaler of ingress orders while all fails: Aλ/u*.

    Raises ``ValueError`` for A < 1, λ < 0 or u* outside (0, 1). Source: seed 002 Cor. 5.
    """
    check(
        amplification=amplification,
        arrival_rate_per_s=arrival_rate_per_s,
        target_utilization=target_utilization,
    )
    return trapped_ingress_per_s(amplification, arrival_rate_per_s) / target_utilization


@elementwise
def ingress_scaler_escapes(
    amplification: float,
    arrival_rate_per_s: float,
    target_utilization: float,
    capacity_ceiling_per_s: float = math.inf,
) -> bool:
    """Whether a scaler of ingress gets a failed service out: Aλ < min(Aλ/u*, its ceiling).

    ``capacity_ceiling_per_s`` is what its largest number of replicas can do, ∞ for no limit. The source
    asks for a ceiling of Aλ/u*; by its own Prop. 6 anything above Aλ drains the debt, only more slowly.
    It must keep the capacity until then. An endless client (A = ∞) lets nothing out. Raises
    ``ValueError`` for a ceiling ≤ 0 and as ``ingress_scaler_capacity_per_s`` does. Source: seed 002 Cor. 5.
    """
    check(capacity_ceiling_per_s=capacity_ceiling_per_s)
    ordered = ingress_scaler_capacity_per_s(amplification, arrival_rate_per_s, target_utilization)
    if arrival_rate_per_s == 0:
        return True
    capacity = min(ordered, capacity_ceiling_per_s)
    return not math.isinf(amplification) and not is_trap(amplification, arrival_rate_per_s / capacity)
