"""What room the ceilings leave: for a push, for watching it, and for getting the service back."""

from __future__ import annotations

from dataclasses import replace

from analysis.trigger.course import Halted, Journal, attempts_sent
from analysis.trigger.result import Interval
from analysis.wording import number, seconds
from domain.sockets import SocketLimits
from domain.trigger.fit import faults_in_fit
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import Spike

LEAST_WATCH_TIMEOUTS = 5.0
"""There is no push without time to watch it for so long."""
RESERVE = 0.3
"""The share of the ceiling's duration at most that is kept for the rescue."""
ENDS_BEFORE_S = 0.5
"""The last look ends so long before the ceiling's duration, at which the generator stops by itself."""


def watched_until_s(plan: TriggerPlan, spike_end_s: float) -> float:
    """When the watch is over at the latest: in time for a rescue under the ceiling."""
    kept_s = min(plan.rescue_s, RESERVE * plan.ceiling.duration_s)
    watched_s = spike_end_s + plan.watch_timeouts * plan.client.timeout_s
    return min(watched_s, plan.ceiling.duration_s - kept_s)


def rescue_until_s(journal: Journal, plan: TriggerPlan) -> float:
    """When a rescue that begins now ends: in time for a last look before the ceiling's duration is over."""
    last_look_s = min(5.0 * plan.client.timeout_s + 1.0, 0.05 * plan.ceiling.duration_s)
    return min(journal.now_s + plan.rescue_s, plan.ceiling.duration_s - last_look_s)


def looked_until_s(journal: Journal, plan: TriggerPlan, at_most_s: float) -> float:
    """When a last look that begins now ends."""
    return min(journal.now_s + at_most_s, plan.ceiling.duration_s - ENDS_BEFORE_S)


def refuse_without_time(journal: Journal, plan: TriggerPlan, spike: Spike) -> None:
    """Raises ``Halted`` if a push now left no time to watch it, and to get the service back."""
    if _has_time(journal, plan, spike):
        return
    raise Halted(
        f"{seconds(journal.now_s)} of the {seconds(plan.ceiling.duration_s)} of the ceiling are over: too "
        f"little is left to push the service, to watch it for {number(LEAST_WATCH_TIMEOUTS)} timeouts and to "
        "get it back (raise --max-duration, or give the capacity: --capacity)"
    )


def affords(
    journal: Journal, plan: TriggerPlan, spike: Spike, capacity: Interval, limits: SocketLimits
) -> bool:
    """Whether another push, of this plan's dose, keeps at worst under the ceilings and the machine's
    limits."""
    left = plan.ceiling.attempts - attempts_sent(journal.seen)
    if left <= 0 or not _has_time(journal, plan, spike):
        return False
    push = replace(plan, spike_s=spike.duration_s, ceiling=replace(plan.ceiling, attempts=left))
    faults = faults_in_fit(push, capacity.value, limits)
    # The watch is as long as the time that is left allows.
    return all(fault.field == "limits.duration_s" for fault in faults)


def _has_time(journal: Journal, plan: TriggerPlan, spike: Spike) -> bool:
    end_s = journal.now_s + spike.duration_s
    # A plan that asks for a shorter watch gets it.
    least_s = min(LEAST_WATCH_TIMEOUTS, plan.watch_timeouts) * plan.client.timeout_s
    return watched_until_s(plan, end_s) >= end_s + least_s - 1e-9
