"""Getting a service back up: by shedding below what it can drain, then by sending nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.trigger.course import Course, Journal, QuickAnswers, obeyed, waited
from analysis.wording import number, percent, seconds
from domain.trigger.messages import Drop, Load, Saturate
from domain.trigger.plan import TriggerPlan

DRAINS = 3.0
"""Shedding has failed after so many times the predicted drain time."""
SHED_AT_LEAST_TIMEOUTS = 5.0
HEALTHY_TIMEOUTS, HEALTHY_ATTEMPTS = 2.0, 20
ANSWERS = 5
FAILURES_A_BURST = 3
PAUSE_S = 5.0
TIMED_SHARE, TIMED_TIMEOUTS = 0.1, 2.0
"""A drain that is to be timed is asked after so much of the time that it has taken, or so many timeouts."""


@dataclass(frozen=True, slots=True)
class Shedding:
    """Load that a failing service can drain under: first attempts at ρ_s, and how long that may take."""

    utilization: float
    patience_s: float


def shedding(utilization: float, amplification: float, wait_s: float, timeout_s: float) -> Shedding:
    """Down to ρ_s = min(ρ/2, 1/(2A)): a backlog of W seconds then drains in W/(1 − Aρ_s), at most 2W."""
    if not math.isfinite(amplification):
        return Shedding(0.0, 0.0)
    shed = min(utilization / 2.0, 0.5 / amplification)
    drain_s = wait_s / (1.0 - amplification * shed)
    return Shedding(shed, max(DRAINS * drain_s, SHED_AT_LEAST_TIMEOUTS * timeout_s))


def healthy_since(journal: Journal, plan: TriggerPlan, start_s: float) -> float | None:
    """The start of the last two timeouts and twenty attempts, if they were answered as well as they must be
    and all lie after ``start_s``; None otherwise."""
    seen, now_s = journal.seen, journal.now_s
    times = seen.column("t_s", start_s, now_s)
    ended = seen.column("answered", start_s, now_s) + seen.column("failed", start_s, now_s)
    long_ago = times <= now_s - HEALTHY_TIMEOUTS * plan.client.timeout_s
    enough = np.flatnonzero(long_ago & (ended <= (ended[-1] if len(ended) else 0) - HEALTHY_ATTEMPTS))
    if not len(enough):
        return None
    since_s = float(times[enough[-1]])
    share, _ = journal.answered_share(since_s)
    return since_s if share is not None and share >= 1.0 - plan.guards.most_error_ratio else None


def rescued(
    journal: Journal,
    plan: TriggerPlan,
    *,
    capacity_per_s: float,
    utilization: float,
    amplification: float,
    wait_s: float,
    until_s: float,
    timed: bool = False,
) -> Course[float | None]:
    """The course that gets a failing service back: sheds load, then sends nothing and asks gently. Seconds
    until the service answered again; None if it did not by ``until_s``. ``timed``: when it answers again is
    all that tells of its queue, so it is asked more often."""
    start_s = journal.now_s
    shed = shedding(utilization, amplification, wait_s, plan.client.timeout_s)
    if shed.utilization > 0.0:
        rate = shed.utilization * capacity_per_s
        shed_s = yield from obeyed(journal, Load(rate, "shed"))
        journal.enter("rescue", shed_s, rate)
        # Without any load it takes as long as the queue is deep: that time is kept.
        end_s = min(until_s - wait_s, shed_s + shed.patience_s)
        while journal.now_s < end_s:
            since_s = healthy_since(journal, plan, shed_s)
            if since_s is not None:
                journal.said = (
                    f"healthy after {seconds(since_s - start_s)} at {percent(shed.utilization)} of capacity"
                )
                return since_s - start_s
            yield ()
    dropped_s = yield from obeyed(journal, Drop("rescue"))
    if not shed.utilization:
        journal.enter("rescue", dropped_s)
    if (yield from answers(journal, "rescue", plan.client.timeout_s, until_s, timed=timed)):
        journal.said = f"healthy after {seconds(journal.now_s - start_s)}, the last of it without any load"
        return journal.now_s - start_s
    journal.said = f"not healthy after {seconds(journal.now_s - start_s)}, the last of it without any load"
    return None


def answers(
    journal: Journal,
    phase: str,
    within_s: float,
    until_s: float,
    pause_s: float = PAUSE_S,
    timed: bool = False,
) -> Course[bool]:
    """The course that sends one patient request at a time until five in a row were answered in time; after a
    few that fail it pauses. Whether that happened by ``until_s``; nothing is in flight afterwards."""
    begun_s = journal.now_s
    while True:
        start_s = yield from obeyed(journal, Saturate(1, phase))
        quick = QuickAnswers(journal, start_s, within_s)
        while quick.look() < ANSWERS and quick.failures < FAILURES_A_BURST and journal.now_s < until_s:
            yield ()
        yield from obeyed(journal, Drop(phase))
        if quick.in_a_row >= ANSWERS or journal.now_s >= until_s:
            return quick.in_a_row >= ANSWERS
        journal.said = f"{number(quick.failures)} requests failed, pausing"
        soon_s = max(TIMED_TIMEOUTS * within_s, TIMED_SHARE * (journal.now_s - begun_s))
        next_s = min(pause_s, soon_s) if timed else pause_s
        yield from waited(journal, min(until_s, journal.now_s + next_s))


def left_healthy(journal: Journal, plan: TriggerPlan, until_s: float) -> Course[bool]:
    """The course that sees, without any load, whether the service answers quickly."""
    start_s = yield from obeyed(journal, Drop("check"))
    journal.enter("check", start_s)
    well = yield from answers(journal, "check", plan.client.timeout_s, until_s, pause_s=1.0)
    journal.said = (
        f"{ANSWERS} requests in a row answered within {seconds(plan.client.timeout_s)}"
        if well
        else "the service does NOT answer as it should"
    )
    return well
