"""The push of a trigger test: which spike fits under the ceiling, and the dose that was really given."""

from __future__ import annotations

from dataclasses import dataclass, replace

from analysis.trigger.course import Course, Journal, obeyed, waited
from analysis.trigger.observations import Observations
from analysis.wording import number
from domain.sockets import SocketLimits
from domain.trigger.fit import faults_in_fit
from domain.trigger.messages import Load
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import Spike, spike_for, worst_case

LENGTHENED = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0)
"""How much longer a spike of the same dose may be made, so that its peak fits."""


@dataclass(frozen=True, slots=True)
class Push:
    """A spike as it was: from ``start_s`` to ``end_s``, of ``dose`` timeouts."""

    spike: Spike
    start_s: float
    end_s: float
    dose: float


def spike_that_fits(plan: TriggerPlan, capacity_per_s: float) -> Spike | None:
    """The shortest spike of the plan's dose whose peak keeps under the ceiling; None if none does."""
    timeout_s = plan.client.timeout_s
    for longer in LENGTHENED:
        duration_s = longer * (timeout_s if plan.spike_s is None else plan.spike_s)
        worst = worst_case(replace(plan, spike_s=duration_s), capacity_per_s)
        if worst.peak_per_s <= plan.ceiling.rate_per_s:
            return spike_for(plan.utilization, plan.dose, timeout_s, duration_s)
    return None


def faults_in_size(
    plan: TriggerPlan, capacity_per_s: float, already_sent: int, limits: SocketLimits
) -> tuple[str, ...]:
    """Why the test cannot be done at this capacity under its ceilings, of which ``already_sent`` attempts are
    used up, and the machine's limits; a spike that must be stretched to fit is stretched."""
    spike = spike_that_fits(plan, capacity_per_s)
    stretched = plan if spike is None else replace(plan, spike_s=spike.duration_s)
    left = replace(stretched.ceiling, attempts=max(1, plan.ceiling.attempts - already_sent))
    faults = faults_in_fit(replace(stretched, ceiling=left), capacity_per_s, limits)
    return tuple(str(fault) for fault in faults)


def pushed(
    journal: Journal, spike: Spike, rate_per_s: float, capacity_per_s: float, timeout_s: float
) -> Course[Push]:
    """The course of one spike: ``factor`` times ``rate_per_s`` for its duration, then that rate again."""
    start_s = yield from obeyed(journal, Load(spike.factor * rate_per_s, "spike"))
    journal.enter("spike", start_s, spike.factor * rate_per_s)
    yield from waited(journal, start_s + spike.duration_s)
    end_s = yield from obeyed(journal, Load(rate_per_s, "watch"))
    while journal.now_s < end_s:
        yield ()
    dose = dose_given(journal.seen, start_s, end_s, rate_per_s, capacity_per_s, timeout_s)
    journal.said = f"{number(dose)} timeouts of work more than the service can do"
    journal.enter("watch", end_s, rate_per_s)
    return Push(spike, start_s, end_s, dose)


def dose_given(
    seen: Observations,
    start_s: float,
    end_s: float,
    rate_per_s: float,
    capacity_per_s: float,
    timeout_s: float,
) -> float:
    """The dose really given, in timeouts: (N/C − Δ)/T, with N first attempts and probes sent in the spike.

    The counters are known at ticks only: the stretches at normal load from the tick before the spike on, and
    up to the tick after it, are taken off.
    """

    def after(t_s: float) -> tuple[int, float]:
        tick = next((one for one in seen.ticks if one.t_s >= t_s), seen.ticks[-1])
        return tick.first + tick.probes_sent, max(0.0, tick.t_s - t_s)

    before = seen.at(start_s)
    sent_before = before.first + before.probes_sent if before is not None else 0
    early_s = start_s - before.t_s if before is not None else 0.0
    sent_after, late_s = after(end_s)
    work_s = (sent_after - sent_before - rate_per_s * (early_s + late_s)) / capacity_per_s
    return (work_s - (end_s - start_s)) / timeout_s
