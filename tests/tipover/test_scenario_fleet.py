"""``[fleet]`` and ``service.routing``: what is taken, what is refused and in which words."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from typing import Any

import pytest

from domain.autoscaler import Autoscaler, Doubling, Policies, Policy, Unlimited
from domain.errors import ConfigurationError
from domain.experiment_json import from_json, to_json
from domain.fleet import Fleet
from tipover.scenario import parse_scenario, scenario_json_schema

Raw = dict[str, Any]
REMOVE = object()

GOOD: Raw = {
    "service": {"pods": 4, "rate_per_pod": 40.0},
    "fleet": {"signals": ["first", "ingress"]},
    "client": {"timeout_s": 10.0},
    "demand": {
        "utilization": 0.5,
        "phases": [
            {"name": "baseline", "duration_s": 100},
            {"name": "step", "duration_s": 500, "factor": 5.0},
        ],
    },
    "run": {"speedup": 10.0},
    "expect": {"outcome": "recovers"},
}


def changed(*changes: tuple[str, Any]) -> Raw:
    """``GOOD`` with values set (or removed) at places such as ``demand.phases.1.factor``."""
    raw = deepcopy(GOOD)
    for place, value in changes:
        at: Any = raw
        *path, last = place.split(".")
        for part in path:
            at = at[int(part)] if part.isdigit() else at.setdefault(part, {})
        key = int(last) if last.isdigit() else last
        if value is REMOVE:
            del at[key]
        else:
            at[key] = value
    return raw


def faults_of(raw: Raw, **options: Any) -> list[tuple[str, str, object]]:
    """Field, rule and value of every fault."""
    with pytest.raises(ConfigurationError) as caught:
        parse_scenario(raw, name="test", **options)
    return [(f.field, f.rule, f.value) for f in caught.value.faults]


CUT = ("demand.phases.1", {"name": "step", "duration_s": 500, "factor": 5.0, "capacity_factor": 0.5})
SYNC = "fleet.sync_period_s"
OWN_QUEUES = [
    ("fleet", REMOVE),
    ("service.routing", "random"),
    ("demand.phases.1", {"name": "watch", "duration_s": 500}),
    ("expect.outcome", "healthy"),
]
RULES: list[tuple[list[tuple[str, Any]], str, str, object]] = [
    # changes to GOOD, field, part of the rule, value
    ([("fleet", 3)], "fleet", "must be a table", 3),
    ([("fleet.signals", REMOVE)], "fleet.signals", "is required", None),
    ([("fleet.signals", "first")], "fleet.signals", 'must be a list, such as ["first"]', "first"),
    ([("fleet.signals", [])], "fleet.signals", "must name at least one", []),
    ([("fleet.signals", ["cpu", "cpu"])], "fleet.signals", "must differ from each other", ["cpu", "cpu"]),
    ([("fleet.signals", ["memory"])], "fleet.signals[0]", "must be 'cpu', 'ingress' or 'first'", "memory"),
    ([("fleet.target_utilization", 50)], "fleet.target_utilization", "must be at most 1", 50),
    ([("fleet.target_utilization", 0.0)], "fleet.target_utilization", "must be greater than 0", 0.0),
    ([("fleet.target", 0.5)], "fleet.target", "did you mean target_utilization?", 0.5),
    ([("fleet.dead_time", 9)], "fleet.dead_time", "did you mean dead_time_s, in seconds?", 9),
    ([("fleet.dead_time_s", -1)], "fleet.dead_time_s", "must be at least 0", -1),
    ([("fleet.dead_time_s", math.nan)], "fleet.dead_time_s", "must be a finite number", math.nan),
    ([("fleet.cpu_window_s", 0)], "fleet.cpu_window_s", "must be greater than 0", 0),
    ([("fleet.max_replicas", 9)], "fleet.max_replicas", "did you mean max_pods?", 9),
    ([("fleet.max_pods", 9.5)], "fleet.max_pods", "must be a whole number", 9.5),
    ([("fleet.max_pods", 10**6)], "fleet.max_pods", "must be at most 10000", 10**6),
    ([("fleet.max_pods", 3)], "fleet.max_pods", "must be at least service.pods, which is 4", 3),
    ([("fleet.min_pods", 5)], "fleet.min_pods", "must be at most service.pods, which is 4", 5),
    (
        [("fleet.min_pods", 8), ("fleet.max_pods", 6)],
        "fleet.min_pods",
        "must be from 1 to max_pods",
        8,
    ),
    ([("fleet.scale_up", "doubling")], "fleet.scale_up", "must be a table, such as", "doubling"),
    ([("fleet.scale_up", {})], "fleet.scale_up.kind", "one of 'unlimited', 'doubling', 'policies'", None),
    ([("fleet.scale_up.kind", "triple")], "fleet.scale_up.kind", "must be one of", "triple"),
    (
        [("fleet.scale_up", {"kind": "doubling", "factor": 0.5})],
        "fleet.scale_up.factor",
        "must be at least 1",
        0.5,
    ),
    (
        [("fleet.scale_up", {"kind": "policies", "policies": [{"kind": "pods", "value": 0, "period_s": 5}]})],
        "fleet.scale_up.policies[0].value",
        "must be at least 1",
        0,
    ),
    (
        [("fleet.scale_up", {"kind": "policies", "policies": [{"kind": "pods", "value": 2, "period": 5}]})],
        "fleet.scale_up.policies[0].period",
        "did you mean period_s, in seconds?",
        5,
    ),
    (
        [("fleet.scale_up", {"kind": "policies", "policies": []})],
        "fleet.scale_up.policies",
        "must name at least one",
        [],
    ),
    ([("service", REMOVE), ("demand.utilization", REMOVE), ("demand.arrival_rate_per_s", 80.0)],
     "fleet", "needs a [service]", None),
    ([CUT], "demand.phases[1].capacity_factor", "does not go with a [fleet]", 0.5),
    ([(SYNC, 4)], SYNC, "4 s at a speed-up of 10 are 0.4 s: --speedup 8 is the most", 4),
    ([("run.speedup", 24.9)], "", "", None),
    ([("run.speedup", 26)], "demand.phases[1]", "100 s at a speed-up of 26 are 3.85 s", 100.0),
    ([("demand.phases.0.name", "step-0")], "demand.phases[0].factor", "by a phase called 'step-0'", None),
    ([("service.routing", "nearest")], "service.routing", "must be 'shared', 'round-robin'", "nearest"),
    ([("service.routing", "random")], "service.routing", 'must be "shared" with a [fleet]', "random"),
    (
        [*OWN_QUEUES, ("service.queue_cap", 9)],
        "service.queue_cap",
        'must be left out beside service.routing = "random"',
        [9],
    ),
    ([("service.queue_cap", 9)], "service.queue_cap", "must be left out beside a [fleet]", [9]),
    ([("client.preset", "grpc")], "client.budget", "the preset 'grpc' brings budget", ["grpc-throttle"]),
    (
        [
            ("client.budget", {"kind": "envoy"}),
            ("client.breaker", {"kind": "adaptive-throttle"}),
            ("client.deadline_s", 30.0),
            ("client.backoff", {"kind": "decorrelated-jitter"}),
            ("service.discipline", "lifo"),
            ("service.drop_expired", True),
        ],
        "client.budget, client.breaker, client.deadline_s, client.backoff, service.discipline, "
        "service.drop_expired",
        "must be left out beside a [fleet]: no model knows both",
        ["envoy", "adaptive-throttle", 30.0, "decorrelated-jitter", "lifo", True],
    ),
    (
        [("expect.after_shed", "recovers"), ("expect.outcome", "trapped")],
        "expect.after_shed",
        "needs a phase with factor below 1",
        "recovers",
    ),
    ([("fleet", REMOVE)], "expect.outcome", "needs a phase at factor 1 to judge", "recovers"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field", "rule", "value"), RULES, ids=[f"{r[1]}: {r[2][:40]}" for r in RULES]
)
def test_rule(changes: list[tuple[str, Any]], field: str, rule: str, value: object) -> None:
    """Each rule is told with its field, in words, and with the value that breaks it."""
    if not field:
        parse_scenario(changed(*changes), name="good")
        return
    faults = faults_of(changed(*changes))
    assert [f for f in faults if f[0] == field and rule in f[1]], faults
    assert len(faults) == (2 if "did you mean period_s" in rule else 1)  # what is misspelt is missing, too
    assert repr(faults[-1][2]) == repr(value)  # NaN is not equal to itself


def test_all_faults_are_reported_together() -> None:
    """Faults of single values and between values come in one error."""
    raw = changed(
        ("fleet.signals", ["first", "wrong"]),
        ("fleet.max_pods", 2),
        (SYNC, 1),
        CUT,
        ("client.hedging", {"copies": 2}),
    )
    assert [field for field, _, _ in faults_of(raw)] == [
        "fleet.signals[1]",
        "fleet.max_pods",
        SYNC,
        "demand.phases[1].capacity_factor",
        "client.hedging",
    ]


def test_defaults_are_the_domains() -> None:
    """What the file leaves out is the default of the fleet and of its autoscaler."""
    assert parse_scenario(GOOD, name="x").fleet == Fleet(("first", "ingress"))
    assert parse_scenario(changed(("fleet", REMOVE), *OWN_QUEUES[1:]), name="x").fleet is None


@pytest.mark.parametrize(
    ("table", "rule"),
    [
        ({"kind": "unlimited"}, Unlimited()),
        ({"kind": "doubling"}, Doubling()),
        ({"kind": "doubling", "factor": 3.0, "minimum": 2}, Doubling(3.0, 2)),
        ({"kind": "policies"}, Policies()),
        ({"kind": "policies", "policies": [], "select": "disabled"}, Policies((), "disabled")),
        (
            {
                "kind": "policies",
                "policies": [{"kind": "percent", "value": 50, "period_s": 60}],
                "select": "min",
            },
            Policies((Policy("percent", 50, 60.0),), "min"),
        ),
    ],
)
def test_every_key_arrives(table: Raw, rule: Any) -> None:
    """In the fleet, in its live seconds, and through the run directory's JSON."""
    keys = {
        "signals": ["cpu"],
        "target_utilization": 0.6,
        "dead_time_s": 60,
        "sync_period_s": 20,
        "metric_lag_s": 10,
        "cpu_window_s": 40,
        "rate_window_s": 80,
        "limit_over_request": 2,
        "tolerance": 0.2,
        "min_pods": 2,
        "max_pods": 30,
        "stabilization_s": 120,
        "scale_up": table,
    }
    experiment = parse_scenario(changed(("fleet", keys)), name="x")
    autoscaler = Autoscaler(2, 30, 120.0, rule)
    assert experiment.fleet == Fleet(("cpu",), 0.6, 60.0, 20.0, 10.0, 40.0, 80.0, 2.0, 0.2, autoscaler)
    assert experiment.live().fleet == experiment.fleet.scaled(0.1)
    assert from_json(json.loads(json.dumps(to_json(experiment)))) == experiment


def test_a_step_that_stays_is_judged_with_a_fleet() -> None:
    """The watch begins with the step; any outcome may be expected of it."""
    for outcome in ("healthy", "recovers", "trapped"):
        experiment = parse_scenario(changed(("expect.outcome", outcome)), name="x")
        assert experiment.trigger == (100.0, 100.0)
        assert experiment.watch == (100.0, 600.0)


def test_what_a_fleet_can_be_predicted_with_is_taken() -> None:
    """Backoff, attempts without end, one ratio budget for all clients, and a spike that ends."""
    raw = changed(
        ("client.max_attempts", math.inf),
        ("client.backoff", {"kind": "full-jitter"}),
        ("client.budget", {"kind": "ratio"}),
        ("fleet.max_pods", 4),
        ("fleet.min_pods", 4),
        ("demand.phases.1", {"name": "spike", "duration_s": 50, "factor": 5.0}),
    )
    raw["demand"]["phases"].append({"name": "watch", "duration_s": 300})
    assert parse_scenario(raw, name="x").watch == (150.0, 450.0)


@pytest.mark.parametrize("routing", ["round-robin", "random", "shortest-queue"])
def test_pods_with_queues_of_their_own_can_be_run_but_not_simulated(routing: str) -> None:
    """The fluid model is about means and takes them; a simulation of one queue would be of something else."""
    raw = changed(*OWN_QUEUES, ("service.routing", routing))
    service = parse_scenario(raw, name="x", need_service=True).service
    assert service is not None
    assert service.routing == routing
    for purpose in ("simulation", "matrix"):
        ((field, rule, value),) = faults_of(raw, need_service=True, service_for=purpose)
        assert (field, value) == ("service.routing", routing)
        assert "cannot be simulated" in rule


def test_no_matrix_is_made_of_a_fleet() -> None:
    """Its mitigations are compared at a fixed number of pods."""
    parse_scenario(GOOD, name="x", need_service=True, service_for="simulation")
    ((field, rule, _),) = faults_of(GOOD, need_service=True, service_for="matrix")
    assert field == "fleet"
    assert "matrix" in rule


def test_the_schema_names_every_key_of_a_fleet() -> None:
    """With what it means, for editors."""
    table = scenario_json_schema()["$defs"]["FleetTable"]
    assert set(table["required"]) == {"signals"}
    assert all("description" in entry for key, entry in table["properties"].items() if key != "scale_up")
    assert "routing" in scenario_json_schema()["$defs"]["ServiceTable"]["properties"]
