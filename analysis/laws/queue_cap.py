"""Queue caps: a queue so short that what it admits is answered in time."""

from __future__ import annotations

import math

from analysis.laws.checks import check, require
from analysis.laws.elementwise import elementwise


@elementwise
def capped_timeout_probability(queue_cap: int, timeout_slack: float) -> float:
    """Largest probability that an admitted attempt times out: q_L = P(Erlang(L+1, μ) > T).

    L = ``queue_cap`` attempts may wait beyond the one in service; the regularised upper incomplete gamma
    function Q(L+1, θ). Raises ``ValueError`` for L that is no whole number from 0 on, or θ ≤ 0.
    Source: seed 000 §6.5.
    """
    check(queue_cap=queue_cap, timeout_slack=timeout_slack)
    from scipy.special import gammaincc

    return float(gammaincc(queue_cap + 1, timeout_slack))


@elementwise
def loop_gain(queue_cap: int, timeout_slack: float, max_attempts: float) -> float:
    """Attempts that one admitted job can bring about at the cap: m·q_L; infinite for m = ∞.

    Raises ``ValueError`` for m < 1 and as ``capped_timeout_probability`` does. Source: seed 000 §6.5.
    """
    check(queue_cap=queue_cap, timeout_slack=timeout_slack, max_attempts=max_attempts)
    late = capped_timeout_probability(queue_cap, timeout_slack)
    return max_attempts * late if late else 0.0


@elementwise
def cap_breaks_loop(queue_cap: int, timeout_slack: float, max_attempts: float) -> bool:
    """Whether the cap keeps retries from sustaining themselves: m·q_L < 1.

    The source calls this "the loop stays closed" and, of the same case, "cannot close the loop"; the
    inequality is what it means. Raises ``ValueError`` as ``loop_gain`` does. Source: seed 000 §6.5.
    """
    return loop_gain(queue_cap, timeout_slack, max_attempts) < 1.0


@elementwise
def largest_breaking_cap(timeout_slack: float, max_attempts: float) -> float:
    """The largest whole L with m·q_L < 1.

    At θ = 5 and m = 6 it is 2, not the θ − 1 = 4 of the source's rule of thumb. Raises ``ValueError`` for
    θ ≤ 0, m outside (1, ∞), and where even an attempt that waits for nobody is late too often: m·e^−θ ≥ 1.
    Source: seed 000 §6.5.
    """
    check(timeout_slack=timeout_slack, max_attempts=max_attempts)
    require(max_attempts > 1, "max_attempts", "must be above 1: one attempt closes no loop", max_attempts)
    require(max_attempts < math.inf, "max_attempts", "must be finite: no cap stops ∞", max_attempts)
    require(
        cap_breaks_loop(0, timeout_slack, max_attempts),
        "timeout_slack",
        f"must be above ln m = {math.log(max_attempts):.6g} for any cap to break the loop",
        timeout_slack,
    )
    breaks, reopens = 0, 1
    while cap_breaks_loop(reopens, timeout_slack, max_attempts):
        breaks, reopens = reopens, 2 * reopens
    while reopens - breaks > 1:
        middle = (breaks + reopens) // 2
        if cap_breaks_loop(middle, timeout_slack, max_attempts):
            breaks = middle
        else:
            reopens = middle
    return float(breaks)
