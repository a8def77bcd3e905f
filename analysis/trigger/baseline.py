"""Normal load before the spike: the service must stand it, and is compared later with what it does then."""

from __future__ import annotations

from analysis.trigger.course import Course, Halted, Journal, obeyed
from analysis.wording import percent
from domain.trigger.messages import Load, Probe
from domain.trigger.plan import TriggerPlan

BASELINE_JOBS = 50
CLEARLY_FAILING, CLEARLY_FAILING_ATTEMPTS = 0.5, 30
"""A baseline of which so few are answered, of so many, goes no further."""


def baseline(
    journal: Journal, plan: TriggerPlan, capacity_per_s: float, probe_rate_per_s: float
) -> Course[float]:
    """The course of normal load before the spike, and the share of attempts answered in time; raises
    ``Halted`` if the service does not stand it."""
    rate = plan.utilization * capacity_per_s
    start_s = yield from obeyed(journal, Probe(probe_rate_per_s), Load(rate, "baseline"))
    journal.enter("baseline", start_s, rate)
    lasts_s = max(plan.baseline_timeouts * plan.client.timeout_s, BASELINE_JOBS / rate)
    while journal.now_s < start_s + lasts_s:
        share, ended = journal.answered_share(start_s)
        if share is not None and ended >= CLEARLY_FAILING_ATTEMPTS and share < CLEARLY_FAILING:
            break
        yield ()
    share, ended = journal.answered_share(start_s)
    least = 1.0 - plan.guards.most_error_ratio
    journal.said = (
        "nothing ended" if share is None else f"{percent(share)} of {ended:,} attempts answered in time"
    )
    if share is None or share < least:
        raise Halted(
            safety_stop=f"the service does not stand the asked utilization of {percent(plan.utilization)}: "
            f"{journal.said} before any spike, where at least {percent(least)} must be"
        )
    return share
