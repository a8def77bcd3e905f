"""Amplification: the attempts one job costs."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable

from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise

_LARGEST_LOG = math.log(sys.float_info.max)


@elementwise
def retry_amplification(max_attempts: float, failure_probability: float = 1.0) -> float:
    """Attempts per job when each fails with probability p: (1 − p^m)/(1 − p); m at p = 1.

    ``max_attempts`` is m, the first included, ∞ allowed. Raises ``ValueError`` for m < 1 or p outside
    [0, 1]. Source: seed 002 Def. 8; seed 001 Sim A.
    """
    check(max_attempts=max_attempts, failure_probability=failure_probability)
    p = failure_probability
    if p == 1.0:
        return float(max_attempts)
    if p == 0.0:
        return 1.0
    # expm1 keeps the digits that 1 − p^m loses as p nears 1.
    return max(1.0, -math.expm1(max_attempts * math.log(p)) / (1.0 - p))


@elementwise
def budget_amplification(budget: float) -> float:
    """Attempts per job under a retry budget β (retries per first attempt): 1 + β.

    Raises ``ValueError`` for β < 0. Source: seed 002 Def. 8.
    """
    check(budget=budget)
    return 1.0 + budget


def layered_amplification(layers: Iterable[float]) -> float:
    """Amplification of layers that retry independently: the product over layers; 1 for none.

    Raises ``ValueError`` for a layer below 1. Source: seed 002 Def. 8.
    """
    product = 1.0
    for layer in layers:
        check(amplification=layer)
        product *= layer
    return product


@elementwise
def hop_amplification(max_attempts: float, hops: int) -> float:
    """Worst-case attempts at the last service of H hops that each make m attempts: m^H.

    Raises ``ValueError`` for m < 1, for H that is no whole number from 1 on, and for a product too
    large to write down. Source: seed 003; seed 001 Sim A.
    """
    check(max_attempts=max_attempts, hops=hops)
    return power_over_tiers(max_attempts, hops, "hops", hops)


def power_over_tiers(factor: float, tiers: int, field: str, value: float) -> float:
    """factor^tiers; ``ValueError`` for the field that is too large when no float can hold it."""
    fits = power_fits(factor, tiers)
    require(fits, field, f"must be smaller: {factor:g}^{int(tiers)} is more than a float can hold", value)
    return float(float(factor) ** tiers)


def power_fits(factor: float, tiers: int) -> bool:
    """Whether a float can hold factor^tiers."""
    return math.isinf(factor) or tiers * math.log(factor) < _LARGEST_LOG
