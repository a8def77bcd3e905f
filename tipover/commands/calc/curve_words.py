"""What the steady-state curve means, for the case at hand."""

from __future__ import annotations

from tipover.commands.calc.calculation import counted, figure, percent, told_apart

OFTEN = 1e-4
"""Share of the time from which what chance alone queues is worth a word."""


def ceiling_meaning(timeout_slack: float, max_attempts: float, top: float) -> str:
    """Where it collapses by itself, and where a burst does it, if retries can hold it down at all."""
    from analysis import laws

    if max_attempts == 1:
        return (
            "Without retries nothing feeds on itself: the ceiling is capacity itself, and the deadline takes "
            "nothing of it but the attempts that are late."
        )
    if not laws.is_bistable(timeout_slack, max_attempts):
        return (
            f"There is no loop, as (m − 1)θ ≤ 2: up to {percent(top)} of capacity (1/m) no burst can tip it "
            "over for good. Above, retries keep it overloaded, until demand is back below."
        )
    end = laws.recovery_threshold(max_attempts)
    low, high = edges(end, top)
    band = (
        f"From {low} (1/m) to {high} a burst can tip it over and it stays down; below "
        f"{low} it comes back by itself."
        if end > 0
        else f"Below {high}, however far, a burst can tip it over and clients that never give up keep "
        "it down."
    )
    return (
        f"Above {high} of capacity no healthy state is left and the service collapses without a "
        f"trigger. {band}"
    )


def edges(end: float, top: float) -> tuple[str, str]:
    """1/m and λc as percentages that can be told from one another, and λc from all of capacity."""
    low, high = told_apart(100 * end, 100 * top, 3)
    return f"{low}%", f"{max(high, told_apart(100 * top, 100.0, 3)[0], key=len)}%"


def tipping(timeout_slack: float, depth: float, healthy: float) -> str:
    """Which bursts tip it over: the separatrix is a mean-field bound, and chance needs less.

    ``healthy`` is x, at which an M/M/1 queue holds n or more for x^n of the time.
    """
    theta, most = counted(timeout_slack, "attempts", 3), counted(depth, "attempts", 3)
    share = healthy ** min(timeout_slack, depth)
    chance = (
        f"; chance alone queues that many {percent(share)} of the time, and so tips it sooner or later"
        if share >= OFTEN
        else ""
    )
    if depth <= timeout_slack:
        return (
            f"the mean-field separatrix is only {most} deep, less than the θ = {figure(timeout_slack, 3)} "
            "that make a wait of one timeout: any burst of that size tips it over" + chance
        )
    return (
        f"a burst that leaves about {theta} queued (θ: a wait of one timeout) can already tip it over"
        f"{chance}; beyond {most}, the mean-field separatrix, it always tips"
    )
