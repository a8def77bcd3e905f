"""The steady-state curve of a server whose clients time out and retry: g_m and its fixed points.

Everything is dimensionless: x = ``offered_utilization``, all attempts over capacity; λ/μ =
``utilization``, first attempts over capacity; θ = ``timeout_slack`` = μT, the timeout in mean service
times; m = ``max_attempts``, ∞ allowed. The model is an M/M/1 queue that serves what its clients have
given up on.
"""

from __future__ import annotations

import math

from analysis.laws.bisection import sign_change
from analysis.laws.ceiling import (
    ceiling_offered_utilization,
    collapse_ceiling,
    peak_gap,
    recovery_threshold,
    utilization_at_gap,
)
from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise


@elementwise
def timeout_kernel(offered_utilization: float, timeout_slack: float) -> float:
    """Probability that an attempt times out: q(x) = e^(−θ(1−x)), the M/M/1 sojourn tail at T.

    Raises ``ValueError`` for x outside [0, 1] or θ ≤ 0. Source: seed 000 §4.1.
    """
    check(offered_utilization=offered_utilization, timeout_slack=timeout_slack)
    return math.exp(-timeout_slack * (1.0 - offered_utilization))


@elementwise
def steady_utilization(
    offered_utilization: float, timeout_slack: float, max_attempts: float = math.inf
) -> float:
    """Demand that keeps a server at x: λ/μ = g_m(x) = x(1−q)/(1−q^m); g_∞ = x(1−q), g_1 = x.

    At x = 1 it is the limit 1/m. Raises ``ValueError`` for x outside [0, 1], θ ≤ 0 or m < 1.
    Source: seed 000 §4.4.
    """
    check(offered_utilization=offered_utilization, timeout_slack=timeout_slack, max_attempts=max_attempts)
    return utilization_at_gap(timeout_slack * (1.0 - offered_utilization), offered_utilization, max_attempts)


@elementwise
def healthy_offered_utilization(
    utilization: float, timeout_slack: float, max_attempts: float = math.inf
) -> float:
    """The healthy fixed point: the smaller root x of g_m(x) = λ/μ.

    Raises ``ValueError`` for θ ≤ 0, m < 1, λ < 0, and above the ceiling, where there is none.
    Source: seed 000 §4.2.
    """
    check(utilization=utilization, timeout_slack=timeout_slack, max_attempts=max_attempts)
    _require_below_ceiling(utilization, timeout_slack, max_attempts)
    peak = ceiling_offered_utilization(timeout_slack, max_attempts)

    def below(x: float) -> bool:
        return utilization_at_gap(timeout_slack * (1.0 - x), x, max_attempts) <= utilization

    return peak if below(peak) else sign_change(below, 0.0, peak)


@elementwise
def separatrix_offered_utilization(
    utilization: float, timeout_slack: float, max_attempts: float = math.inf
) -> float:
    """The separatrix: the larger root x of g_m(x) = λ/μ, from which the service falls either way.

    It exists only inside the hysteresis loop, 1/m < λ/μ ≤ λ_c/μ. Raises ``ValueError`` outside it, for
    θ ≤ 0 and for m < 1. Source: seed 000 §4.5.
    """
    gap = _separatrix_gap(utilization, timeout_slack, max_attempts)
    return 1.0 - gap / timeout_slack


@elementwise
def separatrix_depth(utilization: float, timeout_slack: float, max_attempts: float = math.inf) -> float:
    """Queue at the separatrix in attempts: x/(1−x), the M/M/1 mean at the larger root of g_m(x) = λ/μ.

    The mean-field bound: a burst that leaves more than this queued tips the service over, but by chance
    one of about θ, a wait of one timeout, already can. At θ = 5 and half the ceiling it is
    18.7 for m = 6, the source's figure, and 13.5 for m = ∞, the figure of its withdrawn first draft.
    Raises ``ValueError`` as ``separatrix_offered_utilization`` does. Source: seed 000 §6.2, which does
    not say how it got its number.
    """
    gap = _separatrix_gap(utilization, timeout_slack, max_attempts)
    # Less above 1/m than a float can tell, the root is x = 1.
    return (timeout_slack - gap) / gap if gap > 0 else math.inf


def _separatrix_gap(utilization: float, timeout_slack: float, max_attempts: float) -> float:
    """θ(1−x) at the separatrix: sought in this form, since x itself has few digits left near 1."""
    check(utilization=utilization, timeout_slack=timeout_slack, max_attempts=max_attempts)
    _require_below_ceiling(utilization, timeout_slack, max_attempts)
    threshold = recovery_threshold(max_attempts)
    require(
        utilization > threshold,
        "utilization",
        f"must be above the recovery threshold 1/m = {threshold:.6g}: up to there it has one steady state",
        utilization,
    )
    peak = peak_gap(timeout_slack, max_attempts)

    def below(gap: float) -> bool:
        return utilization_at_gap(gap, 1.0 - gap / timeout_slack, max_attempts) <= utilization

    return peak if below(peak) else sign_change(below, 0.0, peak)


def _require_below_ceiling(utilization: float, timeout_slack: float, max_attempts: float) -> None:
    ceiling = collapse_ceiling(timeout_slack, max_attempts)
    require(
        utilization <= ceiling,
        "utilization",
        f"must be at most the ceiling {ceiling:.6g}: above it there is no healthy steady state",
        utilization,
    )
