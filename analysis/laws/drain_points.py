"""Drain points: the failure probability from which a client's retry budget runs empty.

Each is the root of an expected change of zero, for attempts that fail independently with probability p
and a bucket between its ends. Below it the bucket stays full in the long run, above it retries stop.
"""

from __future__ import annotations

import math

from analysis.laws.amplification import retry_amplification
from analysis.laws.bisection import sign_change
from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise


@elementwise
def aws_drift(failure_probability: float, retry_cost: float, max_attempts: float = 3) -> float:
    """Expected change of the AWS standard-mode quota per job, in tokens: (1 − p) − c·(p² + … + p^m).

    A success at the first try pays 1; each retry costs c; a success after retries refunds the last
    retry only. So c·(p + … + p^(m−1)) is spent and c·(p − p^m) refunded. For m = 3 the cost is
    c·p²(1 + p). Raises ``ValueError`` for p outside [0, 1], c ≤ 0 or m < 1. Source: botocore
    ``retries/quota.py`` and ``retries/standard.py``; derived here.
    """
    check(failure_probability=failure_probability, retry_cost=retry_cost, max_attempts=max_attempts)
    p = failure_probability
    if p == 0.0:
        return 1.0
    retries = retry_amplification(max_attempts, p) - 1.0
    return 1.0 - p - retry_cost * p * retries


@elementwise
def aws_drain_point(retry_cost: float, max_attempts: float = 3) -> float:
    """Failure probability above which the AWS quota drains: the root of 1 − p = c·(p² + … + p^m).

    .2149 at c = 14 and .3207 at c = 5 for m = 3; 1/(1 + √c) for m = ∞. Raises ``ValueError`` for c ≤ 0
    or m ≤ 1 (no retries, nothing is spent). Source: ``aws_drift``.
    """
    check(retry_cost=retry_cost, max_attempts=max_attempts)
    _require_retries(max_attempts)
    return sign_change(lambda p: aws_drift(p, retry_cost, max_attempts) > 0, 0.0, 1.0)


@elementwise
def grpc_drain_point(ratio: float) -> float:
    """Share of failed attempts above which gRPC's retry throttle drains: r/(1 + r).

    A failed attempt takes 1 token, a success gives r, so p = r(1 − p): .0909 at r = .1. Retries stop
    when half of the tokens are gone. Raises ``ValueError`` for r ≤ 0. Source: gRPC proposal A6; derived here.
    """
    check(ratio=ratio)
    return ratio / (1.0 + ratio)


@elementwise
def budget_drain_point(budget: float, max_attempts: float = math.inf) -> float:
    """Failure probability above which a budget of β retries per first attempt refuses: p + … + p^(m−1) = β.

    β/(1 + β) for m = ∞. Raises ``ValueError`` for β < 0, m < 1, and β ≥ m − 1, which retries never reach.
    Source: seed 002 Def. 8; derived here.
    """
    check(budget=budget, max_attempts=max_attempts)
    require(
        budget < max_attempts - 1.0,
        "budget",
        f"must be below m − 1 = {max_attempts - 1.0:g}: more retries than that are never asked for",
        budget,
    )
    return sign_change(lambda p: retry_amplification(max_attempts, p) - 1.0 <= budget, 0.0, 1.0)


def _require_retries(max_attempts: float) -> None:
    require(max_attempts > 1, "max_attempts", "must be above 1: without retries nothing drains", max_attempts)
