"""What would change the finding of a trigger test, each with its number.

The way back needs Aρ < 1: fewer attempts, a retry budget, more capacity or less demand bring it about. A
queue shorter than the timeout, and dropping work that nobody waits for, break the loop itself.
"""

from __future__ import annotations

import math

from analysis import laws
from analysis.trigger.refused_connections import stayed_down
from analysis.trigger.result import Advice, Shot
from analysis.wording import number, percent, seconds
from domain.trigger.plan import TriggerPlan

MARGIN = 0.9
"""What is advised keeps Aρ below this."""
LEAST_BUDGET = 0.01
MOST_LATE = 0.05
"""A queue cap lets no more than this share of what it admits be late."""


def advice(plan: TriggerPlan, shot: Shot, capacity_per_s: float | None = None) -> tuple[Advice, ...]:
    """What would let the service of this shot come back, easiest first; none for one that is not vulnerable,
    or that crashed and stayed down.

    ``capacity_per_s``: C as found, in attempts/s; None takes the plan's, and without any the advice that
    needs it is left out. What layers between client and service add comes from the measured amplification.
    """
    if shot.verdict == "not vulnerable" or stayed_down(shot):
        return ()
    capacity = plan.capacity_per_s if capacity_per_s is None else capacity_per_s
    attempts, hidden = _attempts(plan, shot, capacity), _hidden(plan, shot, capacity)
    rho = shot.utilization
    present, source = _present(attempts, shot)
    given = (
        _fewer_attempts(attempts, hidden, rho),
        _budget(attempts, hidden, rho),
        _queue_cap(plan, attempts * hidden, capacity),
        _dropping(plan),
        _more_capacity(present, rho, capacity, source),
        _less_demand(present, rho, capacity),
    )
    return tuple(one for one in given if one is not None)


def _attempts(plan: TriggerPlan, shot: Shot, capacity: float | None) -> float:
    """A of the client alone; of one without end what was measured."""
    rate = 0.0 if capacity is None else shot.utilization * capacity
    alone = laws.failing_amplification(plan.client, rate)
    return alone if math.isfinite(alone) or shot.amplification is None else shot.amplification.value


def _hidden(plan: TriggerPlan, shot: Shot, capacity: float | None) -> float:
    """What layers in between multiply the client's attempts by: 1 unless clearly more was measured."""
    measured, alone = shot.amplification, _attempts(plan, shot, capacity)
    if measured is None or not math.isfinite(alone) or measured.low <= alone:
        return 1.0
    return measured.value / alone


def _present(attempts: float, shot: Shot) -> tuple[float, str]:
    """A as it is now, which the threshold is one over, and where the number comes from if it is not
    measured."""
    if shot.amplification is not None:
        return max(1.0, shot.amplification.value), ""
    return attempts, f" A was not measured: {number(attempts)} is what its client alone makes."


def _fewer_attempts(attempts: float, hidden: float, rho: float) -> Advice | None:
    fewer = math.floor(min(MARGIN / (hidden * rho), attempts - 1 if math.isfinite(attempts) else math.inf))
    if fewer < 1 or attempts <= 1.0:
        return None
    change = "no retries" if fewer == 1 else f"at most {fewer} attempts ({_retries(fewer - 1)})"
    times = f" times {number(hidden)} of the layers in between" if hidden > 1.0 else ""
    return Advice(
        change,
        _threshold(hidden * fewer),
        f"A is then {fewer}{times}: Aρ is {number(hidden * fewer * rho)} at this utilization.",
    )


def _retries(count: int) -> str:
    return "1 retry" if count == 1 else f"{count} retries"


def _budget(attempts: float, hidden: float, rho: float) -> Advice | None:
    budget = math.floor(100.0 * (MARGIN / (hidden * rho) - 1.0) + 1e-9) / 100.0
    budget = min(budget, 1.0)
    if budget < LEAST_BUDGET or budget >= attempts - 1.0:
        return None
    return Advice(
        f"a retry budget of {percent(budget)}",
        _threshold(hidden * (1.0 + budget)),
        f"While everything fails it sends {number(1.0 + budget)} attempts a job: Aρ is at most "
        f"{number(hidden * (1.0 + budget) * rho)}.",
    )


def _queue_cap(plan: TriggerPlan, amplification: float, capacity: float | None) -> Advice | None:
    if capacity is None or not 1.0 < amplification < math.inf:
        return None
    slack = capacity * plan.client.timeout_s
    late = min(MOST_LATE, MARGIN / amplification)
    cap = next((cap for cap in range(int(slack), 0, -1) if _late(cap, slack) <= late), None)
    if cap is None:
        return None
    return Advice(
        f"a queue of at most {cap:,} waiting, the rest turned away at once",
        1.0,
        f"Of what is let in no more than {percent(_late(cap, slack))} is then late, by chance: C·T is "
        f"{number(slack)} attempts.",
    )


def _late(cap: int, slack: float) -> float:
    return float(laws.capped_timeout_probability(cap, slack))


def _dropping(plan: TriggerPlan) -> Advice:
    half_s = plan.client.timeout_s / 2.0
    return Advice(
        f"dropping what has waited longer than {seconds(half_s)}",
        1.0,
        "That is half the timeout: what is served is still waited for, and abandoned work costs nothing.",
    )


def _more_capacity(amplification: float, rho: float, capacity: float | None, source: str) -> Advice | None:
    """Without a threshold, which stays as it is: the utilization falls."""
    if not math.isfinite(amplification) or amplification * rho < MARGIN:
        return None
    factor = amplification * rho / MARGIN
    needed = (
        "" if capacity is None else f": {number(factor * capacity)} instead of {number(capacity)} attempts/s"
    )
    return Advice(
        f"{number(factor)} times the capacity{needed}",
        None,
        f"The same demand is then a utilization of {percent(rho / factor)}, below 1/A = "
        f"{percent(1.0 / amplification)}.{source}",
    )


def _less_demand(amplification: float, rho: float, capacity: float | None) -> Advice | None:
    """Without a threshold, as for more capacity."""
    if not math.isfinite(amplification) or amplification * rho < MARGIN:
        return None
    lower = MARGIN / amplification
    rate = "" if capacity is None else f" ({number(lower * capacity)} jobs/s)"
    return Advice(
        f"a utilization of at most {percent(lower)}{rate}",
        None,
        f"Spread or shed demand: it comes back by itself below 1/A = {percent(1.0 / amplification)}.",
    )


def _threshold(amplification: float) -> float:
    return min(1.0, 1.0 / amplification)
