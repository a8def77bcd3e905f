"""Call trees: services that call one another and retry at every tier."""

from __future__ import annotations

import math

from analysis.laws.amplification import power_fits, power_over_tiers, retry_amplification
from analysis.laws.checks import check
from analysis.laws.elementwise import elementwise


@elementwise
def call_tree_load(failure_probability: float, max_attempts: float, services: int) -> float:
    """Load on the last of N services per user request: ((1 − p^m)/(1 − p))^(N−1), dimensionless.

    Each attempt fails with p at every tier, whatever becomes of the calls below it; each of the N − 1
    callers makes up to m attempts. At p = 1 it is the worst case m^(N−1). Raises ``ValueError`` for p
    outside [0, 1], m < 1 or N < 1. Source: seed 001 Sim A.
    """
    check(failure_probability=failure_probability, max_attempts=max_attempts, services=services)
    if services == 1:
        return 1.0
    per_tier = retry_amplification(max_attempts, failure_probability)
    return power_over_tiers(per_tier, services - 1, "services", services)


@elementwise
def call_tree_success(failure_probability: float, max_attempts: float, services: int) -> float:
    """Probability that a user's request succeeds, all N services being needed: (1 − p^m)^N.

    It counts m attempts at the first service too, which ``call_tree_load`` does not: this is how the
    source's two figures (23.0 times the load, success 12%) were made. Raises ``ValueError`` as
    ``call_tree_load`` does. Source: seed 001 Sim A.
    """
    check(failure_probability=failure_probability, max_attempts=max_attempts, services=services)
    if failure_probability == 0.0:
        return 1.0
    if failure_probability == 1.0:
        return 0.0
    return math.exp(services * math.log1p(-(failure_probability**max_attempts)))


@elementwise
def last_service_load(failure_probability: float, max_attempts: float, services: int) -> float:
    """Load on the last of N services per user request when only that fails: (1 − p^M)/(1 − p), M = m^(N−1).

    A job gives up only after all M attempts, so nested retries act as one caller that makes M of them:
    far less than ``call_tree_load`` until p is near 1, where both reach m^(N−1). Raises ``ValueError``
    as ``call_tree_load`` does. Source: the geometric sum of seed 002 Def. 8, nested.
    """
    check(failure_probability=failure_probability, max_attempts=max_attempts, services=services)
    if services == 1:
        return 1.0
    if failure_probability < 1 and not power_fits(max_attempts, services - 1):
        # p^M is 0 long before M is too large for a float.
        return retry_amplification(math.inf, failure_probability)
    attempts = power_over_tiers(max_attempts, services - 1, "services", services)
    return retry_amplification(attempts, failure_probability)
