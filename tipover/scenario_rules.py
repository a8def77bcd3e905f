"""Rules that tie several values of a scenario together.

They read the file's own tables, not the validated models, so that they can speak even when a single
value elsewhere is wrong: the user sees all faults at once. A value that is itself at fault is passed over
here, because it has its own fault already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from domain.errors import Fault
from domain.experiment import Phase
from tipover.scenario_client_rules import client_faults
from tipover.scenario_fleet_rules import fleet_faults, matrix_faults, simulation_faults
from tipover.scenario_raw import Raw, is_number, phases, table
from tipover.scenario_service_rules import service_faults

Role = Literal["trigger", "normal", "shed"]

_NAMED: tuple[tuple[re.Pattern[str], tuple[str, ...]], ...] = (
    (re.compile(r"(?<![a-z])spike"), ("factor", "capacity_factor")),
    (re.compile(r"(?<![a-z])(outage|cut(?![a-z]))"), ("capacity_factor",)),
    (re.compile(r"(?<![a-z])shed"), ("factor",)),
    (re.compile(r"(?<![a-z])step(?![a-z])"), ("factor", "capacity_factor")),
)
"""Phases whose name promises something, and the keys of which one must keep the promise."""


Need = Literal["run", "simulation", "matrix"]
"""What a scenario's [service] is needed for."""

_SERVICE_RULES: dict[Need, str] = {
    "run": "is required to start our own; or give --target URL to test a service of yours",
    "simulation": "is required to simulate it: how many pods there are, and how fast each of them is",
    "matrix": "is required to simulate it: how many pods there are, and how fast each of them is",
}


def cross_faults(
    raw: Raw, *, need_service: bool, service_for: Need = "run", speedup: float | None = None
) -> list[Fault]:
    """Every fault that takes more than one value to see; ``speedup`` replaces the file's."""
    faults = []
    if need_service and "service" not in raw:
        faults.append(Fault("service", _SERVICE_RULES[service_for], None))
    faults += _demand_faults(raw)
    faults += _phase_faults(raw)
    faults += client_faults(raw)
    faults += service_faults(raw)
    faults += fleet_faults(raw, speedup)
    if need_service and service_for != "run":
        faults += simulation_faults(raw)
    if service_for == "matrix":
        faults += matrix_faults(raw)
    faults += _expectation_faults(raw)
    return faults


def _demand_faults(raw: Raw) -> Iterator[Fault]:
    demand = raw.get("demand")
    if not isinstance(demand, dict):
        return
    given = {key: demand[key] for key in ("utilization", "arrival_rate_per_s") if key in demand}
    if len(given) == 2:
        yield Fault("demand", "takes utilization or arrival_rate_per_s, not both", given)
    elif not given:
        yield Fault("demand", "needs utilization or arrival_rate_per_s", None)
    if "utilization" in given and "service" not in raw:
        rule = "needs a [service], whose capacity it is a part of; without one give arrival_rate_per_s"
        yield Fault("demand.utilization", rule, given["utilization"])


def _phase_faults(raw: Raw) -> Iterator[Fault]:
    first_with: dict[str, int] = {}
    for index, phase in phases(raw):
        field = f"demand.phases[{index}]"
        cut = phase.get("capacity_factor")
        if is_number(cut) and cut < 1 and "service" not in raw:
            yield Fault(f"{field}.capacity_factor", "needs a [service]: only its capacity can be cut", cut)
        name = phase.get("name")
        if not isinstance(name, str):
            continue
        if name in first_with:
            yield Fault(f"{field}.name", f"is already the name of phases[{first_with[name]}]", name)
        first_with.setdefault(name, index)
        for pattern, keys in _NAMED:
            if pattern.search(name.lower()) and not any(key in phase for key in keys):
                rule = f"is required ({' or '.join(keys)}) by a phase called {name!r}"
                yield Fault(f"{field}.{keys[0]}", rule, None)


def _roles(raw: Raw) -> list[Role] | None:
    """The role of each phase; None when one of them is not known because a value is at fault."""
    listed = table(raw, "demand").get("phases")
    roles: list[Role] = []
    for _, phase in phases(raw):
        factor, capacity = phase.get("factor", 1.0), phase.get("capacity_factor", 1.0)
        if not (is_number(factor) and is_number(capacity)):
            return None
        roles.append(Phase("", 1.0, factor, capacity).role)
    return roles if roles and isinstance(listed, list) and len(roles) == len(listed) else None


def _expectation_faults(raw: Raw) -> Iterator[Fault]:
    expect = table(raw, "expect")
    outcome = expect.get("outcome")
    if outcome not in ("healthy", "recovers", "trapped"):
        return
    if "recover_s" in expect and outcome != "recovers":
        rule = f'goes with outcome = "recovers", not with "{outcome}"'
        yield Fault("expect.recover_s", rule, expect["recover_s"])
    if "after_shed" in expect and outcome != "trapped":
        rule = f'goes with outcome = "trapped", not with "{outcome}"'
        yield Fault("expect.after_shed", rule, expect["after_shed"])
    roles = _roles(raw)
    if roles is None:
        return
    triggers = [index for index, role in enumerate(roles) if role == "trigger"]
    after = roles[triggers[-1] + 1 :] if triggers else roles
    if outcome != "healthy" and not triggers:
        rule = "needs a trigger: a phase with factor above 1 or capacity_factor below 1"
        yield Fault("expect.outcome", rule, outcome)
    steps_up = roles[-1] == "trigger" and "fleet" in raw
    if after[:1] != ["normal"] and not steps_up:
        rule = "needs a phase at factor 1 to judge, after the last trigger (or first, if there is none)"
        yield Fault("expect.outcome", rule, outcome)
    if "after_shed" in expect and "shed" not in after:
        rule = "needs a phase with factor below 1 after the last trigger"
        yield Fault("expect.after_shed", rule, expect["after_shed"])
