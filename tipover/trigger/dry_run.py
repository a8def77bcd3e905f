"""What a trigger test would do, worked out before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass, replace

from analysis.wording import number
from domain.errors import ConfigurationError
from domain.sockets import SocketLimits
from domain.trigger.fit import SocketUse, faults_in_fit, socket_use
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import Spike, WorstCase, attempts_at_most, spike_of, worst_case
from loadgen.limits import machine_limits
from tipover.trigger.forecast import NOMINAL_CAPACITY_PER_S, Forecast, forecast, tls_warning
from tipover.trigger.guards.allow_list import load_allow_list
from tipover.trigger.guards.resolution import Resolved, resolve

_SEARCHES = 60
"""Halvings of the interval in which the largest capacity that fits is looked for."""
_NO_CAPACITY_PER_S = 1e9


def placed(plan: TriggerPlan, *, connect: bool = True) -> tuple[TriggerPlan, Resolved]:
    """The plan with the addresses that its URLs have now, which is what is connected to, and the ceiling that
    an allow-list's entry sets; raises ``ConfigurationError`` if one must not be loaded.

    ``connect`` False sends not even a connection request, of which ``localhost`` may need one.
    """
    allowed = load_allow_list(plan.guards.allow_file)
    where = resolve(plan.target.url, allowed, connect=connect)
    most_per_s = where.most_rate_per_s(plan.ceiling.rate_per_s)
    target = replace(plan.target, address=where.address)
    if target.probe_url is not None:
        past = resolve(target.probe_url, allowed, connect=connect)
        most_per_s = past.most_rate_per_s(most_per_s)
        target = replace(target, probe_address=past.address)
    return replace(plan, target=target, ceiling=replace(plan.ceiling, rate_per_s=most_per_s)), where


def check_plan(plan: TriggerPlan, capacity_per_s: float, address: str | None = None) -> None:
    """Raise ``ConfigurationError`` with the arithmetic of all that does not fit under the plan's ceilings or
    into this machine at this capacity. ``address`` is the target's, the plan's own by default."""
    faults = faults_in_fit(
        plan, capacity_per_s, machine_limits(address or plan.target.address or "127.0.0.1")
    )
    if faults:
        raise ConfigurationError(
            f"this test does not fit at a capacity of {number(capacity_per_s)}/s and is not made",
            faults,
        )


@dataclass(frozen=True, slots=True)
class PlannedPhase:
    """A stretch of the test; rates in the unit of its dry run, None where the phase finds its own."""

    name: str
    duration_s: float | None
    first_per_s: float | None
    attempts_per_s: float | None
    said: str


@dataclass(frozen=True, slots=True)
class DryRun:
    """All that is shown. Without a capacity rates and counts are in units of it."""

    plan: TriggerPlan
    capacity_per_s: float | None
    spike: Spike
    phases: tuple[PlannedPhase, ...]
    worst: WorstCase
    sockets: SocketUse
    limits: SocketLimits
    fits_up_to_per_s: float
    forecast: Forecast
    warnings: tuple[str, ...] = ()


def dry_run(plan: TriggerPlan, warnings: tuple[str, ...] = ()) -> DryRun:
    """Work out a plan whose target is ``placed``; raises ``ConfigurationError`` if it does not fit."""
    capacity, limits = plan.capacity_per_s, machine_limits(plan.target.address or "127.0.0.1")
    if capacity is not None:
        check_plan(plan, capacity)
    known = capacity is not None
    worst = worst_case(plan, capacity or NOMINAL_CAPACITY_PER_S)
    sockets = socket_use(plan, capacity or NOMINAL_CAPACITY_PER_S, limits.port_rest_s)
    tls = tls_warning(plan, worst.peak_per_s) if known else None
    if not known:
        worst, sockets = _in_units_of_capacity(worst, sockets)
    return DryRun(
        plan,
        capacity,
        spike_of(plan),
        _phases(plan, capacity or 1.0, known=known),
        worst,
        sockets,
        limits,
        largest_capacity_per_s(plan, limits),
        forecast(plan, capacity),
        (*warnings, *([] if tls is None else [tls])),
    )


def _in_units_of_capacity(worst: WorstCase, sockets: SocketUse) -> tuple[WorstCase, SocketUse]:
    """What was worked out for the nominal capacity, per attempt/s of it."""
    unit = NOMINAL_CAPACITY_PER_S
    return (
        replace(
            worst,
            normal_per_s=worst.normal_per_s / unit,
            spike_first_per_s=worst.spike_first_per_s / unit,
            peak_per_s=worst.peak_per_s / unit,
            attempts=worst.attempts / unit,
        ),
        SocketUse(sockets.open_at_once / unit, sockets.ports / unit),
    )


def largest_capacity_per_s(plan: TriggerPlan, limits: SocketLimits) -> float:
    """The largest capacity at which the test fits (all that counts grows with it)."""
    fits, does_not = 0.0, _NO_CAPACITY_PER_S
    for _ in range(_SEARCHES):
        middle = (fits + does_not) / 2
        if faults_in_fit(plan, middle, limits):
            does_not = middle
        else:
            fits = middle
    return fits


def _phases(plan: TriggerPlan, capacity_per_s: float, *, known: bool) -> tuple[PlannedPhase, ...]:
    timeout_s, rate = plan.client.timeout_s, plan.utilization * capacity_per_s
    spike, m = spike_of(plan), attempts_at_most(plan)
    reach = PlannedPhase("reach", None, None, None, "one request at a time, until it answers well")
    capacity = PlannedPhase(
        "capacity",
        None,
        None,
        None,
        "1, 2, 4, … requests at a time without retries, until no more are answered",
    )
    return (
        reach,
        *(() if known else (capacity,)),
        PlannedPhase("baseline", plan.baseline_timeouts * timeout_s, rate, rate, "must be healthy"),
        PlannedPhase(
            "spike",
            spike.duration_s,
            rate * spike.factor,
            rate * spike.factor * m,
            f"{number(spike.factor)} times the baseline, leaves a queue of {number(plan.dose)} timeouts",
        ),
        PlannedPhase(
            "watch", plan.watch_timeouts * timeout_s, rate, rate * m, "at most; ends with the verdict"
        ),
        PlannedPhase("rescue", plan.rescue_s, rate, rate, "at most; less load, then none, only if trapped"),
        PlannedPhase("check", None, None, None, "one request at a time: is it left healthy?"),
    )
