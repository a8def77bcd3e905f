"""The ceiling of the steady-state curve, its end, and the hysteresis loop between them.

All dimensionless, in units of the capacity μ. In the gap a = θ(1−x) the curve of ``curve.py`` is
g_m = (1 − a/θ)·(1 − e^−a)/(1 − e^−ma), and d(ln g_m)/da = φ(a) − 1/(θ−a) with
φ(a) = 1/(e^a − 1) − m/(e^ma − 1). φ falls from (m−1)/2, for φ'(a) = (S(ma) − S(a))/a² and
S(y) = (y/2)²/sinh²(y/2) falls. So φ(a)(θ−a) falls from (m−1)θ/2 to 0: the curve has exactly one
interior maximum if (m−1)θ > 2, and otherwise rises all the way to its end 1/m. The source checks
this on a lattice (seed 000 Prop. 4); this is a proof.
"""

from __future__ import annotations

import math

from analysis.laws.bisection import sign_change
from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise

_OVERFLOW = 700.0
"""Beyond this e^y is too large for a float; m/(e^y − 1) is 0 long before."""


def utilization_at_gap(gap: float, offered_utilization: float, max_attempts: float) -> float:
    """g_m in terms of both x and a = θ(1−x), whichever of them the caller knows to full precision."""
    if gap == 0.0:
        return 1.0 / max_attempts
    return offered_utilization * math.expm1(-gap) / math.expm1(-max_attempts * gap)


def peak_gap(timeout_slack: float, max_attempts: float) -> float:
    """a = θ(1−x) at the maximum of g_m, ln(1+θx*) for m = ∞; 0 if the curve rises to its end."""
    if math.isinf(max_attempts):
        return math.log1p(_endless_root(timeout_slack))
    if (max_attempts - 1.0) * timeout_slack <= 2.0:
        return 0.0

    def before_peak(gap: float) -> bool:
        last = max_attempts * gap
        slope = 1.0 / math.expm1(gap) if gap < _OVERFLOW else 0.0
        slope -= max_attempts / math.expm1(last) if last < _OVERFLOW else 0.0
        return slope * (timeout_slack - gap) > 1.0

    return sign_change(before_peak, 0.0, timeout_slack)


def _endless_root(timeout_slack: float) -> float:
    """u = θx* of an endless client: the root of u + ln(1+u) = θ, which is ω(θ+1) − 1.

    Solved for u itself: ω(θ+1) − 1 loses its digits to the subtraction when θ is small. The left side
    is concave and at most 2u, so Newton's steps from θ/2 rise to the root and never pass it.
    """
    u = timeout_slack / 2.0
    while True:
        step = (timeout_slack - u - math.log1p(u)) / (1.0 + 1.0 / (1.0 + u))
        if not step > 2e-16 * u:
            return u
        u += step


@elementwise
def ceiling_offered_utilization(timeout_slack: float, max_attempts: float = math.inf) -> float:
    """x* at which the ceiling is reached; for m = ∞ the root of e^(θ(1−x)) = 1 + θx, (ω(θ+1) − 1)/θ.

    ω is the Wright omega function. Where the curve has no interior maximum it is 1. Raises
    ``ValueError`` for θ ≤ 0 or m < 1. Source: seed 000 Prop. 1 and 3.
    """
    check(timeout_slack=timeout_slack, max_attempts=max_attempts)
    if math.isinf(max_attempts):
        return _endless_root(timeout_slack) / timeout_slack
    return 1.0 - peak_gap(timeout_slack, max_attempts) / timeout_slack


@elementwise
def collapse_ceiling(timeout_slack: float, max_attempts: float = math.inf) -> float:
    """λ_c/μ, the largest demand with a healthy steady state: max g_m; θx*²/(1 + θx*) for m = ∞.

    In units of capacity; 1 for m = 1, never below 1/m. Raises ``ValueError`` for θ ≤ 0 or m < 1.
    Source: seed 000 Prop. 1 and 3.
    """
    check(timeout_slack=timeout_slack, max_attempts=max_attempts)
    if math.isinf(max_attempts):
        u = _endless_root(timeout_slack)
        return u / timeout_slack * (u / (1.0 + u))
    gap = peak_gap(timeout_slack, max_attempts)
    # Next to the bistability boundary the maximum passes 1/m by less than a float can tell.
    return max(1.0 / max_attempts, utilization_at_gap(gap, 1.0 - gap / timeout_slack, max_attempts))


@elementwise
def tight_ceiling(timeout_slack: float) -> float:
    """λ_c/μ of an endless client as θ → 0: (θ/4)(1 − θ/4), within 1.5% at θ = .5 and 5.9% at θ = 1.

    Raises ``ValueError`` for θ outside (0, 4), where it is not even positive. Source: seed 000 §4.2.
    """
    check(timeout_slack=timeout_slack)
    require(timeout_slack < 4, "timeout_slack", "must be below 4 for the limit θ → 0", timeout_slack)
    return timeout_slack / 4.0 * (1.0 - timeout_slack / 4.0)


@elementwise
def patient_ceiling(timeout_slack: float) -> float:
    """λ_c/μ of an endless client as θ → ∞: 1 − (ln θ + 1)/θ, within 1% at θ = 20 and .05% at θ = 100.

    Raises ``ValueError`` for θ ≤ 1, where it is not positive. Source: seed 000 §4.2.
    """
    check(timeout_slack=timeout_slack)
    require(timeout_slack > 1, "timeout_slack", "must be above 1 for the limit θ → ∞", timeout_slack)
    return 1.0 - (math.log(timeout_slack) + 1.0) / timeout_slack


@elementwise
def recovery_threshold(max_attempts: float) -> float:
    """λ_r/μ below which a collapsed service drains: 1/m, the curve's end; 0 for m = ∞, which never does.

    Raises ``ValueError`` for m < 1. Source: seed 000 Prop. 2 and 3.
    """
    check(max_attempts=max_attempts)
    return 1.0 / max_attempts


@elementwise
def hysteresis_width(timeout_slack: float, max_attempts: float = math.inf) -> float:
    """λ_c/μ − λ_r/μ, the range of demand with two stable states; 0 where there is no loop.

    Raises ``ValueError`` for θ ≤ 0 or m < 1. Source: seed 000 §4.3.
    """
    return collapse_ceiling(timeout_slack, max_attempts) - recovery_threshold(max_attempts)


@elementwise
def is_bistable(timeout_slack: float, max_attempts: float = math.inf) -> bool:
    """Whether a hysteresis loop exists: (m − 1)θ > 2. Proven in this module's docstring.

    Raises ``ValueError`` for θ ≤ 0 or m < 1. Source: seed 000 Prop. 4.
    """
    check(timeout_slack=timeout_slack, max_attempts=max_attempts)
    return (max_attempts - 1.0) * timeout_slack > 2.0


@elementwise
def independence_rule(timeout_slack: float) -> float:
    """Attempts from which the ceiling is that of m = ∞ within 1%, by rule of thumb: 5.3/ln(1 + θx*).

    Not whole; round it up. It is q(x*)^m ≤ .005, so in truth about half a per cent; and from θ ≈ 205 on
    it falls to 1, where it is wrong: m = 1 has a ceiling of 1 at every θ. ``independent_attempts`` is
    exact. Raises ``ValueError`` for θ ≤ 0. Source: seed 000 §4.4.
    """
    return 5.3 / math.log1p(timeout_slack * ceiling_offered_utilization(timeout_slack))


@elementwise
def independent_attempts(timeout_slack: float, tolerance: float = 0.01) -> float:
    """The least whole m whose ceiling is within ``tolerance`` (a ratio) of that of m = ∞.

    Raises ``ValueError`` for θ ≤ 0 or a tolerance ≤ 0. Source: seed 000 §4.4; λ_c falls with m.
    """
    check(timeout_slack=timeout_slack, tolerance=tolerance)
    limit = collapse_ceiling(timeout_slack) * (1.0 + tolerance)
    enough = 1
    while collapse_ceiling(timeout_slack, float(enough)) > limit:
        enough *= 2
    too_few = enough // 2
    while enough - too_few > 1:
        middle = (enough + too_few) // 2
        if collapse_ceiling(timeout_slack, float(middle)) > limit:
            too_few = middle
        else:
            enough = middle
    return float(enough)
