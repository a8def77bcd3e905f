"""The trap: when a service that fails keeps itself failing."""

from __future__ import annotations

from analysis.laws.checks import check
from analysis.laws.elementwise import elementwise

ROUNDING = 1e-12
"""How far Aρ may fall short of 1 by floating-point rounding alone."""


@elementwise
def trap_threshold(amplification: float) -> float:
    """Utilization from which a triggered service stays failed: 1/A. Source: seed 002 Prop. 6.

    Dimensionless; 0 for an endless client (A = ∞). Raises ``ValueError`` for A < 1.
    """
    check(amplification=amplification)
    return 1.0 / amplification


@elementwise
def is_trap(amplification: float, utilization: float) -> bool:
    """Whether a triggered service stays failed for ever: Aρ ≥ 1. Source: seed 002 Prop. 6.

    Raises ``ValueError`` for A < 1 or ρ < 0.
    """
    check(amplification=amplification, utilization=utilization)
    return utilization > 0 and amplification * utilization >= 1.0 - ROUNDING


@elementwise
def trapped_ingress_per_s(amplification: float, arrival_rate_per_s: float) -> float:
    """Attempts per second a trapped service sees: Aλ. Source: seed 002 Prop. 6 and Cor. 5.

    Raises ``ValueError`` for A < 1 or λ < 0.
    """
    check(amplification=amplification, arrival_rate_per_s=arrival_rate_per_s)
    return float(amplification * arrival_rate_per_s) if arrival_rate_per_s else 0.0
