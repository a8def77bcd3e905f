"""Rules that tie ``[fleet]`` and ``service.routing`` to the rest of a scenario.

An autoscaled fleet can be predicted with a plain client and service: the fluid model and the simulation
share one queue over all ready pods, cut no capacity and know no defences.
"""

from __future__ import annotations

from collections.abc import Iterator

from domain.admission import Admission
from domain.budgets.ratio import RATIO_RESERVE
from domain.errors import Fault
from domain.experiment import RunSettings
from tipover.scenario_client_rules import effective, kind_of
from tipover.scenario_raw import Raw, is_number, phases, table
from tipover.scenario_schema import TABLES
from tipover.scenario_tables.base import default

LEAST_SYNC_S = 0.5
"""Seconds of the wall clock between decisions: closer together, one reading and one order take too large a
part of them."""

LEAST_BASELINE_S = 4.0
"""Seconds of the wall clock in which an autoscaler has started even on a busy machine."""

_OWN_QUEUES = ("round-robin", "random", "shortest-queue")
_REMEMBERING_BACKOFFS = ("decorrelated-jitter", "finagle-jitter")
_NO_DEFENCE = ("pods", "rate_per_pod", "service_time", "routing", "standing", "least_s")


def fleet_faults(raw: Raw, speedup: float | None = None) -> Iterator[Fault]:
    """Every fault that a fleet, or pods with queues of their own, make with another value.

    ``speedup`` is the command line's, which replaces the file's.
    """
    routing = table(raw, "service").get("routing", "shared")
    if not isinstance(raw.get("fleet"), dict):
        if routing in _OWN_QUEUES:
            yield from _defence_faults(raw, f'service.routing = "{routing}"')
        return
    if "service" not in raw:
        rule = "needs a [service]: the pods it begins with, and how fast one of them is"
        yield Fault("fleet", rule, None)
    yield from _size_faults(raw)
    yield from _sync_faults(raw, speedup)
    yield from _baseline_faults(raw, speedup)
    yield from _capacity_faults(raw)
    if routing in _OWN_QUEUES:
        rule = (
            'must be "shared" with a [fleet]: pods that come later would not take from the queues of the '
            "others, which no model knows"
        )
        yield Fault("service.routing", rule, routing)
    yield from _defence_faults(raw, "a [fleet]")


def simulation_faults(raw: Raw) -> Iterator[Fault]:
    """What cannot be simulated although it can be run."""
    routing = table(raw, "service").get("routing", "shared")
    if routing in _OWN_QUEUES:
        rule = "cannot be simulated: the simulation has one queue for all pods (tipover run can do it)"
        yield Fault("service.routing", rule, routing)


def matrix_faults(raw: Raw) -> Iterator[Fault]:
    """What a matrix of mitigations cannot be made of."""
    if "fleet" in raw:
        rule = "cannot be combined with the mitigations of a matrix, which are for a fixed number of pods"
        yield Fault("fleet", rule, None)


def _size_faults(raw: Raw) -> Iterator[Fault]:
    fleet, pods = table(raw, "fleet"), table(raw, "service").get("pods")
    if not is_number(pods):
        return
    least = fleet.get("min_pods", TABLES["fleet",].model_fields["min_pods"].default)
    most = fleet.get("max_pods")
    if is_number(least) and pods < least and (not is_number(most) or least <= most):
        yield Fault("fleet.min_pods", f"must be at most service.pods, which is {pods:g}", least)
    if is_number(most) and most < pods:
        yield Fault("fleet.max_pods", f"must be at least service.pods, which is {pods:g}", most)


def _sync_faults(raw: Raw, override: float | None) -> Iterator[Fault]:
    sync_s = table(raw, "fleet").get("sync_period_s", TABLES["fleet",].model_fields["sync_period_s"].default)
    speedup = _speedup(raw, override)
    if speedup is None or not is_number(sync_s) or sync_s <= 0:
        return
    if sync_s / speedup < LEAST_SYNC_S:
        rule = (
            f"must be at least {LEAST_SYNC_S:g} s of the wall clock, and {sync_s:g} s at a speed-up of "
            f"{speedup:g} are {sync_s / speedup:.3g} s: --speedup {sync_s / LEAST_SYNC_S:g} is the most"
        )
        yield Fault("fleet.sync_period_s", rule, sync_s)


def _baseline_faults(raw: Raw, override: float | None) -> Iterator[Fault]:
    speedup, before_s = _speedup(raw, override), 0.0
    for index, phase in phases(raw):
        duration_s, factor = phase.get("duration_s"), phase.get("factor", 1.0)
        if not (is_number(duration_s) and is_number(factor)) or speedup is None:
            return
        if factor > 1:
            if before_s / speedup < LEAST_BASELINE_S:
                rule = (
                    f"must begin at least {LEAST_BASELINE_S:g} s of the wall clock after the run, so that "
                    f"the autoscaler is there by then; {before_s:g} s at a speed-up of {speedup:g} are "
                    f"{before_s / speedup:.3g} s"
                )
                yield Fault(f"demand.phases[{index}]", rule, before_s)
            return
        before_s += duration_s


def _speedup(raw: Raw, override: float | None) -> float | None:
    """The speed-up of the run; None if it is at fault."""
    given = (
        table(raw, "run").get("speedup", default(RunSettings, "speedup")) if override is None else override
    )
    return given if is_number(given) and given > 0 else None


def _capacity_faults(raw: Raw) -> Iterator[Fault]:
    for index, phase in phases(raw):
        cut = phase.get("capacity_factor")
        if is_number(cut) and 0 <= cut < 1:
            rule = "does not go with a [fleet]: no model knows what its autoscaler would see"
            yield Fault(f"demand.phases[{index}].capacity_factor", rule, cut)


def _defence_faults(raw: Raw, beside: str) -> Iterator[Fault]:
    """One fault for all that would leave a fleet, or pods with queues of their own, without a prediction."""
    client = table(raw, "client")
    found = {f"client.{key}": effective(client, key) for key in _client_keys(client, raw)}
    found |= {f"service.{key}": value for key, value in _defences(table(raw, "service"))}
    if not found:
        return
    named = [
        key for key in ("budget", "breaker", "backoff") if f"client.{key}" in found and key not in client
    ]
    through = f" (the preset {client.get('preset')!r} brings {', '.join(named)})" if named else ""
    values = [kind_of(value) or value for value in found.values()]
    yield Fault(", ".join(found), f"must be left out beside {beside}: no model knows both{through}", values)


def _client_keys(client: Raw, raw: Raw) -> Iterator[str]:
    budget = effective(client, "budget")
    if kind_of(budget) != "none" and not ("fleet" in raw and _is_plain_ratio(client, budget)):
        yield "budget"
    if kind_of(effective(client, "breaker")) != "none":
        yield "breaker"
    if "deadline_s" in client:
        yield "deadline_s"
    if "hedging" in client:
        yield "hedging"
    elif kind_of(effective(client, "backoff")) in _REMEMBERING_BACKOFFS:
        yield "backoff"


def _is_plain_ratio(client: Raw, budget: object) -> bool:
    """One ratio of all clients together, with the usual reserve: that the simulation of a fleet has, too."""
    reserve = budget.get("reserve", RATIO_RESERVE) if isinstance(budget, dict) else None
    together = client.get("clients", 1) == 1 and effective(client, "on_refusal") == "give-up"
    return kind_of(budget) == "ratio" and reserve == RATIO_RESERVE and together


def _defences(service: Raw) -> Iterator[tuple[str, object]]:
    known = TABLES["service",].model_fields
    for key, value in service.items():
        if key in known and key not in _NO_DEFENCE and value != default(Admission, key):
            yield key, value
