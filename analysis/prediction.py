"""What the laws and the fluid model say an experiment will do, in scenario time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from analysis import laws
from analysis.fleets.figures import fleet_values
from analysis.fleets.pod_path import PodPath
from analysis.fluid import first_late_s, fluid_trace, last_late_s
from analysis.result import QUANTITIES, FluidTrace, Outcome, Prediction, Values
from analysis.seeds import can_be_simulated
from analysis.spread import passage_sd_s
from domain.errors import ConfigurationError
from domain.experiment import Demand, Experiment, Service

SETTLED_TIMEOUTS = 2.0
"""Timeouts without a failing attempt that a window must end with to count as recovered."""
LAST_SHARE = 0.2
"""Share of the watch, at its end, over which goodput is judged."""
SLACK_FLOOR = 20.0
FOREIGN_NOTE = (
    "The service is not ours, so its capacity is not known: there is no prediction, only measurement."
)
DEFENDED_FLEET_NOTE = (
    "Budgets, breakers, deadlines or the service's own defences under an autoscaler are beyond the fluid "
    "model and the simulation of fleets: there is no prediction, only measurement."
)
ROUTED_NOTE = (
    "The fluid model is that of one queue for all pods. With a queue for each ({routing}) some pods "
    "stand idle "
    "while others have work, so the service is somewhat slower than predicted, and no seeds are simulated."
)
LONGEST_LOOK_AHEAD = 200.0
"""How many times its own length a run is extended to find a recovery that comes after its end."""
FLEET_TURNS = 10.0
"""A fleet is looked at for so many of its delays beyond the watch, to see whether it comes to rest well."""
FLEET_DOUBLINGS = 4
"""How often that is doubled for a fleet that still grows (CPU near its target adds a pod at a time), or
drains."""


def watch_capacity_per_s(experiment: Experiment, service: Service) -> float:
    """C of the service's own pods in the last phase of the watch, attempts/s."""
    start, end = experiment.watch
    factors = [
        p.phase.capacity_factor for p in experiment.placed_phases if start <= p.start_s and p.end_s <= end
    ]
    return service.capacity_per_s * (factors[-1] if factors else 1.0)


def predict(experiment: Experiment) -> Prediction:
    """Every key of ``QUANTITIES`` from the laws and a fluid run; outcome None for a foreign service.

    Of a defended experiment only what is known beforehand: it is ``simulated``, by ``chance.with_bands``.

    Raises ``ConfigurationError`` if the run is too large for the fluid model.
    """
    service = experiment.service
    if service is None:
        return _foreign(experiment)
    if experiment.is_defended:
        return _defended(experiment, service)
    trace = fluid_trace(experiment)
    story = _Story.of(experiment, service, trace)
    values = _values(story)
    sd = None
    at_s = story.recovered_at_s if experiment.fleet is None else None  # the diffusion's capacity is constant
    if at_s is not None and story.first_late_s is not None:
        sd = passage_sd_s(experiment, first_late_s=story.first_late_s, passage_s=at_s)
    return Prediction(story.outcome, values, trace, sd, tuple(_notes(story)))


def _defended(experiment: Experiment, service: Service) -> Prediction:
    """What is known beforehand; the outcome and the rest come from seeds (``chance.with_bands``), if any."""
    rate = experiment.watched_rate_per_s
    if experiment.fleet is not None:
        unknown: Values = {**dict.fromkeys(QUANTITIES), "demand_per_s": rate}
        if can_be_simulated(experiment):
            return Prediction(None, unknown, None, None, tuple(_warnings(experiment)), simulated=True)
        return Prediction(None, unknown, None, None, (DEFENDED_FLEET_NOTE, *_warnings(experiment)))
    capacity = watch_capacity_per_s(experiment, service)
    known = {"utilization": rate / capacity, "capacity_per_s": capacity, "demand_per_s": rate}
    values = {key: known.get(key) for key in QUANTITIES}
    return Prediction(None, values, None, None, tuple(_warnings(experiment)), simulated=True)


def _foreign(experiment: Experiment) -> Prediction:
    client, rate = experiment.client, experiment.watched_rate_per_s
    known = {"amplification": None if experiment.is_defended else client.amplification, "demand_per_s": rate}
    return Prediction(None, {key: known.get(key) for key in QUANTITIES}, None, None, (FOREIGN_NOTE,))


@dataclass(frozen=True, slots=True)
class _Story:
    """An experiment with its fluid trace and the few facts everything else follows from."""

    experiment: Experiment
    trace: FluidTrace
    capacity_per_s: float
    outcome: Outcome
    first_late_s: float | None
    recovered_at_s: float | None
    """When the last late attempt is sent; found by a longer run if it comes after the watch."""

    @classmethod
    def of(cls, experiment: Experiment, service: Service, trace: FluidTrace) -> _Story:
        start, end = experiment.watch
        capacity = _capacity_at_end(experiment, service, trace)
        utilization = experiment.watched_rate_per_s / capacity
        trap = laws.is_trap(experiment.client.amplification, utilization)
        first, last = first_late_s(trace, 0.0, end), last_late_s(trace, 0.0, end)
        quiet = min(SETTLED_TIMEOUTS * experiment.client.timeout_s, (end - start) / 2)
        outcome: Outcome
        if last is None:
            outcome = "healthy"
        elif last < end - quiet:
            outcome = "recovered"
        else:
            outcome = "trapped" if trap else "undecided"
        at = last if outcome == "recovered" else None
        if experiment.fleet is not None and outcome in ("trapped", "undecided"):
            # A fleet that is still growing may yet get out, whatever its pods at the end can do.
            at = _fleets_recovery_s(experiment)
            outcome = outcome if at is None else "undecided"
        elif outcome == "undecided":
            at = _later_recovery_s(experiment, trace, capacity)
        return cls(experiment, trace, capacity, outcome, first, at)

    @property
    def utilization(self) -> float:
        return self.experiment.watched_rate_per_s / self.capacity_per_s

    @property
    def amplified_utilization(self) -> float:
        return self.experiment.client.amplification * self.utilization

    @property
    def trigger(self) -> tuple[float, float]:
        """The trigger, or nothing at the start of the run."""
        return self.experiment.trigger or (0.0, 0.0)

    @property
    def recovery_s(self) -> float | None:
        if self.recovered_at_s is None:
            return None
        return max(0.0, self.recovered_at_s - self.trigger[1])


def _capacity_at_end(experiment: Experiment, service: Service, trace: FluidTrace) -> float:
    """C at the end of the watch, of a fleet with the pods it has then."""
    capacity = watch_capacity_per_s(experiment, service)
    if experiment.fleet is None:
        return capacity
    return capacity * PodPath.of_fluid(trace).at(experiment.watch[1]) / service.pods


def _fleets_recovery_s(experiment: Experiment) -> float | None:
    """The last late attempt if the watch went on for some turns of the fleet; None if it fails still."""
    fleet, timeout_s = experiment.fleet, experiment.client.timeout_s
    assert fleet is not None
    turn_s = fleet.dead_time_s + fleet.sync_period_s + fleet.cpu_window_s + fleet.rate_window_s
    extra = FLEET_TURNS * turn_s + 10 * timeout_s
    amplified_per_s = experiment.client.amplification * experiment.watched_rate_per_s
    for _ in range(FLEET_DOUBLINGS + 1):
        trace = _longer_trace(experiment, extra)
        if trace is None:
            return None
        end_s = experiment.watch[1] + extra
        found, pods = _settled_recovery_s(experiment, trace, end_s), PodPath.of_fluid(trace)
        grows = pods.at(end_s) > pods.at(end_s - 2 * (turn_s + fleet.metric_lag_s))
        drains = amplified_per_s < trace.capacity_per_s[-1]
        if found is not None or not (grows or drains):
            return found
        extra *= 2
    return None


def _later_recovery_s(experiment: Experiment, trace: FluidTrace, capacity: float) -> float | None:
    """The last late attempt if the watch went on until the service is well; None if that is too far off."""
    end = experiment.watch[1]
    amplified = experiment.client.amplification * experiment.demand.arrival_rate_per_s
    at_end = float(np.interp(end, trace.t_s, trace.backlog))
    drain = laws.drain_time_s(
        depth=at_end,
        capacity_per_s=capacity,
        arrival_rate_per_s=experiment.demand.arrival_rate_per_s,
        amplification=experiment.client.amplification,
    )
    # Retries of the trigger may still be to come, so leave room beyond the drain of what is queued.
    in_flight = amplified * experiment.client.timeout_s / (capacity - amplified)
    extra = 1.2 * drain + 3 * in_flight * experiment.client.amplification + 10 * experiment.client.timeout_s
    if extra > LONGEST_LOOK_AHEAD * experiment.duration_s:
        return None
    return _recovery_after_s(experiment, extra)


def _recovery_after_s(experiment: Experiment, extra: float) -> float | None:
    """The last late attempt if the last phase of the watch went on for ``extra`` seconds; None if it fails
    still."""
    trace = _longer_trace(experiment, extra)
    return None if trace is None else _settled_recovery_s(experiment, trace, experiment.watch[1] + extra)


def _settled_recovery_s(experiment: Experiment, trace: FluidTrace, end_s: float) -> float | None:
    """The last late attempt of a trace that ends then; None if it fails still."""
    last = last_late_s(trace)
    well = last is not None and last < end_s - SETTLED_TIMEOUTS * experiment.client.timeout_s
    return last if well else None


def _longer_trace(experiment: Experiment, extra: float) -> FluidTrace | None:
    """The watch with ``extra`` seconds more of its last phase; None if that is too large to compute."""
    end = experiment.watch[1]
    kept = [p.phase for p in experiment.placed_phases if p.end_s <= end]
    if not kept:
        return None
    kept[-1] = replace(kept[-1], duration_s=kept[-1].duration_s + extra)
    demand = experiment.demand
    longer = replace(experiment, demand=Demand(demand.arrival_rate_per_s, tuple(kept), demand.arrivals))
    try:
        return fluid_trace(longer)
    except ConfigurationError:
        return None


def _values(story: _Story) -> Values:
    experiment = story.experiment
    start, end = experiment.watch
    rate = experiment.watched_rate_per_s
    trapped = story.outcome in ("trapped", "undecided")
    amplification = experiment.client.amplification
    ingress = laws.trapped_ingress_per_s(amplification, rate) if trapped else rate
    failed_after = None if story.first_late_s is None else story.first_late_s - story.trigger[0]
    return {
        "utilization": story.utilization,
        "amplification": amplification,
        "amplified_utilization": story.amplified_utilization,
        "capacity_per_s": story.capacity_per_s,
        "demand_per_s": rate,
        "ingress_per_s": ingress if math.isfinite(ingress) else None,
        "failed_after_s": failed_after,
        "recovery_s": story.recovery_s,
        "goodput_ratio": _goodput_ratio(story.trace, end - LAST_SHARE * (end - start), end),
        "shed_recovery_s": _shed_recovery_s(experiment, story.trace),
        **_fleet_values(experiment, story.trace),
    }


def _fleet_values(experiment: Experiment, trace: FluidTrace) -> Values:
    if experiment.fleet is None:
        return fleet_values(experiment, None, None)
    start, end = experiment.watch
    inside = (trace.t_s >= start) & (trace.t_s < end)
    step_s = float(trace.t_s[1] - trace.t_s[0])
    lost = float((trace.demand_per_s[inside] - trace.goodput_per_s[inside]).sum()) * step_s
    return fleet_values(experiment, PodPath.of_fluid(trace), lost)


def _goodput_ratio(trace: FluidTrace, start_s: float, end_s: float) -> float | None:
    inside = (trace.t_s >= start_s) & (trace.t_s < end_s)
    wanted = float(trace.demand_per_s[inside].sum())
    return min(1.0, float(trace.goodput_per_s[inside].sum()) / wanted) if wanted > 0 else None


def _shed_recovery_s(experiment: Experiment, trace: FluidTrace) -> float | None:
    """From the start of shedding to the last late attempt; None if nothing fails then or it never ends."""
    shed = experiment.shed
    if shed is None:
        return None
    quiet = SETTLED_TIMEOUTS * experiment.client.timeout_s
    last = last_late_s(trace, *shed)
    if last is None or last >= shed[1] - min(quiet, (shed[1] - shed[0]) / 2):
        return None
    return last - shed[0]


def _notes(story: _Story) -> Iterable[str]:
    yield from _warnings(story.experiment)
    if story.outcome == "undecided":
        cause = "trigger" if story.experiment.step_s is None else "step"
        after = "" if story.recovery_s is None else f" about {story.recovery_s:.0f} s after the {cause}"
        yield f"Recovery is predicted{after}, after the watch has ended: watch longer to see it."


def _warnings(experiment: Experiment) -> Iterable[str]:
    live = experiment.live()
    if experiment.service is not None and experiment.service.routing != "shared":
        yield ROUTED_NOTE.format(routing=experiment.service.routing)
    slack = live.timeout_slack
    if slack is not None and slack < SLACK_FLOOR:
        yield (
            f"The timeout is only {slack:.3g} mean services of the whole fleet at this speed-up, below "
            f"{SLACK_FLOOR:g}: chance may decide what the fluid model calls certain. {_remedy(experiment)}"
        )
    service = live.service
    if service is not None:
        jobs = live.arrival_plan.expected_jobs
        touched = jobs * service.service_time.exceeds(service.rate_per_pod * live.client.timeout_s)
        if touched > 1:
            yield (
                f"One service alone outlasts the timeout with probability "
                f"{touched / jobs:.2g} (P(S > T) at this speed-up), so about {touched:,.0f} of {jobs:,.0f} "
                "jobs see a timeout even when nothing is wrong."
            )


def _remedy(experiment: Experiment) -> str:
    if experiment.run.speedup > 1:
        return "Lower the speed-up."
    return "Only a longer timeout or more capacity makes it less so."
