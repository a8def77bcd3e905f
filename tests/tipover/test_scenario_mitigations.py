"""Scenario files: what a client and a service defend themselves with, and what does not go together."""

from __future__ import annotations

import json
import math
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from domain.admission import Admission
from domain.backoff import (
    DecorrelatedJitterBackoff,
    EnvoyBackoff,
    EqualJitterBackoff,
    FinagleJitterBackoff,
    GrpcBackoff,
)
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.experiment import Client
from domain.experiment_json import BACKOFFS, BREAKERS, BUDGETS, LIMITS
from domain.hedging import Hedging
from domain.limits.aimd import AimdLimit
from domain.limits.envoy_gradient import EnvoyGradientLimit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit
from domain.presets import PRESETS
from domain.value_json import SCALE_UPS
from tests.tipover.test_scenario import REMOVE, changed, faults_of
from tipover.cli import main
from tipover.scenario import parse_scenario, scenario_json_schema
from tipover.scenario_faults import EXAMPLES
from tipover.scenario_schema import TABLES, UNIONS

Change = tuple[str, Any]


def client(*changes: Change) -> Client:
    """The client of the good scenario with these keys."""
    return parse_scenario(changed(*changes), name="x").client


def admission(*changes: Change) -> Admission:
    """The defences of the good scenario with these keys."""
    service = parse_scenario(changed(*changes), name="x").service
    assert service is not None
    return service.admission


@pytest.mark.parametrize(
    ("table", "backoff"),
    [
        ({"kind": "equal-jitter"}, EqualJitterBackoff(10.0, 80.0)),
        ({"kind": "finagle-jitter", "base_s": 0.005, "cap_s": 0.2}, FinagleJitterBackoff(0.005, 0.2)),
        ({"kind": "decorrelated-jitter"}, DecorrelatedJitterBackoff()),
        ({"kind": "decorrelated-jitter", "cap_s": 5}, DecorrelatedJitterBackoff(cap_s=5.0)),
        ({"kind": "grpc", "base_s": 0.1, "cap_s": 1, "multiplier": 2}, GrpcBackoff(0.1, 1.0, 2.0)),
        ({"kind": "envoy"}, EnvoyBackoff()),
    ],
)
def test_backoffs(table: dict[str, Any], backoff: object) -> None:
    """Defaults are in timeouts, or the deployed system's own."""
    assert client(("client.backoff", table)).backoff == backoff


@pytest.mark.parametrize(
    ("table", "budget"),
    [
        ({"kind": "none"}, NoBudget()),
        ({"kind": "ratio"}, RatioBudget()),
        ({"kind": "ratio", "ratio": 0.2, "reserve": 5}, RatioBudget(0.2, 5.0)),
        ({"kind": "window-ratio", "window_s": 30}, WindowRatioBudget(window_s=30.0)),
        ({"kind": "aws-token-bucket", "timeout_cost": 14}, AwsTokenBucket(timeout_cost=14)),
        ({"kind": "grpc-throttle"}, GrpcThrottle()),
        ({"kind": "finagle", "percent": 0.1}, FinagleBudget(percent=0.1)),
        ({"kind": "envoy", "min_concurrent": 1}, EnvoyBudget(min_concurrent=1)),
    ],
)
def test_budgets(table: dict[str, Any], budget: object) -> None:
    """What is left out is the domain's default."""
    assert client(("client.budget", table)).budget == budget


@pytest.mark.parametrize(
    ("table", "breaker"),
    [
        ({"kind": "adaptive-throttle", "k": 1.1}, AdaptiveThrottle(k=1.1)),
        ({"kind": "circuit-breaker", "window_s": 30}, CircuitBreaker(window_s=30.0)),
    ],
)
def test_breakers(table: dict[str, Any], breaker: object) -> None:
    """What is left out is the domain's default."""
    assert client(("client.breaker", table)).breaker == breaker


@pytest.mark.parametrize(
    ("table", "limit"),
    [
        ({"kind": "aimd", "timeout_s": 1}, AimdLimit(timeout_s=1.0)),
        ({"kind": "vegas", "initial": 30}, VegasLimit(initial=30)),
        ({"kind": "gradient2", "queue": 8}, Gradient2Limit(queue=8.0)),
        ({"kind": "envoy-gradient"}, EnvoyGradientLimit()),
        ({"kind": "vegas", "most": 8}, VegasLimit(initial=8, most=8)),
        ({"kind": "aimd", "most": 8}, AimdLimit(initial=8, least=8, most=8)),
        ({"kind": "aimd", "least": 30}, AimdLimit(initial=30, least=30)),
        ({"kind": "gradient2", "least": 5}, Gradient2Limit(least=5)),
    ],
)
def test_limits(table: dict[str, Any], limit: object) -> None:
    """What is left out is the domain's default, or as near to it as what is given allows."""
    assert admission(("service.limit", table)).limit == limit


def test_the_rest_of_a_client() -> None:
    """The keys of the file, under the names of the domain."""
    made = parse_scenario(
        tomllib.loads(
            """
            [client]
            timeout_s = 2
            clients = 50
            deadline_s = 5
            propagate = "grpc-timeout"
            hedging = { copies = 3, delay_s = 0.2 }
            on_rejection = "after-timeout"
            on_refusal = "retry"
            honour_retry_after = true
            budget = { kind = "ratio" }
            [demand]
            arrival_rate_per_s = 3
            phases = [{ name = "a", duration_s = 1 }]
            """
        ),
        name="x",
    ).client
    assert made == Client(
        timeout_s=2.0,
        clients=50,
        deadline_s=5.0,
        propagate="grpc-timeout",
        hedging=Hedging(3, 0.2),
        on_rejection="after-timeout",
        on_refusal="retry",
        honours_retry_after=True,
        budget=RatioBudget(),
    )
    assert client() == Client(10.0, 3)


def test_the_rest_of_a_service() -> None:
    """The keys of the file are the fields of the admission."""
    assert admission(
        ("service.discipline", "adaptive-lifo"),
        ("service.standing", 8),
        ("service.queue_cap", 100),
        ("service.drop_expired", True),
        ("service.least_s", 0.5),
        ("service.cancel_on_disconnect", True),
        ("service.first_before_retry", True),
        ("service.codel", {"target_s": 0.05}),
        ("service.degradation", {"half_queue": 100}),
        ("service.retry_after_s", 3),
        ("service.error_rate", 0.01),
    ) == Admission(
        discipline="adaptive-lifo",
        standing=8,
        queue_cap=100,
        drop_expired=True,
        least_s=0.5,
        cancel_on_disconnect=True,
        first_before_retry=True,
        codel=CoDel(0.05),
        degradation=Degradation(100.0),
        retry_after_s=3.0,
        error_rate=0.01,
    )
    assert admission() == Admission()
    assert admission(("service.codel", {})).codel == CoDel()


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_its_settings(name: str) -> None:
    """The file names it, and gives the timeout."""
    assert client(("client.max_attempts", REMOVE), ("client.preset", name)) == Client(
        10.0, **PRESETS[name].settings
    )


def test_the_files_own_keys_win_over_the_presets() -> None:
    """Even one that repeats the domain's default."""
    made = client(
        ("client.max_attempts", 3),
        ("client.preset", "grpc"),
        ("client.budget", {"kind": "none"}),
        ("client.propagate", "none"),
    )
    assert made.max_attempts == 3
    assert made.budget == NoBudget()
    assert made.propagate == "none"
    assert made.backoff == GrpcBackoff(0.1, 1.0, 2.0)
    assert made.preset == "grpc"


def test_hedging_takes_the_place_of_a_presets_attempts_and_backoff() -> None:
    """Its budget stays: copies ask it too."""
    made = client(
        ("client.max_attempts", REMOVE), ("client.preset", "grpc"), ("client.hedging", {"delay_s": 0.5})
    )
    assert made == Client(
        10.0, hedging=Hedging(), budget=GrpcThrottle(), propagate="grpc-timeout", preset="grpc"
    )


ENDLESS = ("client.max_attempts", math.inf)
RULES: list[tuple[list[Change], str, str, object]] = [
    # changes to the good scenario, field, part of the rule, value
    ([("client.preset", "aws")], "client.preset", "must be one of aws-standard, aws-2026, grpc", "aws"),
    ([("client.preset", "grpc"), ("client.timeout_s", REMOVE)], "client.timeout_s", "is required", None),
    ([("client.clients", 0)], "client.clients", "must be at least 1", 0),
    ([("client.clients", 1e9)], "client.clients", "must be a whole number", 1e9),
    ([("client.propagate", "header")], "client.propagate", "must be 'x-deadline', 'grpc-timeout'", "header"),
    ([("client.on_rejection", "panic")], "client.on_rejection", "must be 'retry', 'after-timeout'", "panic"),
    ([("client.honour_retry_after", 1)], "client.honour_retry_after", "must be true or false", 1),
    (
        [("client.honor_retry_after", True)],
        "client.honor_retry_after",
        "did you mean honour_retry_after",
        True,
    ),
    (
        [("client.budget", {"kind": "ration"})],
        "client.budget.kind",
        "must be one of 'none', 'ratio'",
        "ration",
    ),
    ([("client.budget", {"kind": "ratio", "ratio": 10})], "client.budget.ratio", "must be at most 1", 10),
    (
        [("client.budget", {"kind": "ratio", "window_s": 10})],
        "client.budget.window_s",
        "is not a known key; known here: kind, ratio, reserve",
        10,
    ),
    ([("client.budget", 0.1)], "client.budget", "must be a table, such as", 0.1),
    ([("client.budget", {})], "client.budget.kind", "is required; one of 'none', 'ratio', 'window", None),
    ([("client.breaker", {"k": 2})], "client.breaker.kind", "is required; one of 'none', 'adaptive", None),
    (
        [("client.budget", {"kind": "aws-token-bucket", "capacity": 8, "timeout_cost": 10})],
        "client.budget.timeout_cost",
        "must be at most capacity, which is 8",
        10,
    ),
    (
        [("client.budget", {"kind": "aws-token-bucket", "capacity": 8})],
        "client.budget.capacity",
        "must be at least timeout_cost, which is 10",
        8,
    ),
    (
        [("client.budget", {"kind": "aws-token-bucket", "error_cost": 501})],
        "client.budget.error_cost",
        "must be at most capacity, which is 500",
        501,
    ),
    (
        [
            ("client.breaker", {"kind": "circuit-breaker", "window_calls": 1001}),
            ("client.clients", 10_000),
        ],
        "client.breaker.window_calls",
        "must be at most 1000 with 10000 clients",
        1001,
    ),
    (
        [("client.breaker", {"kind": "adaptive-throttle", "k": 0.5})],
        "client.breaker.k",
        "must be at least 1",
        0.5,
    ),
    (
        [("client.breaker", {"kind": "circuit-breaker", "failure_ratio": 50})],
        "client.breaker.failure_ratio",
        "must be at most 1",
        50,
    ),
    (
        [("client.backoff", {"kind": "grpc", "base_s": 1, "cap_s": 2})],
        "client.backoff.multiplier",
        "is required",
        None,
    ),
    (
        [("client.backoff", {"kind": "envoy", "base_s": 0.1, "cap_s": 0.05})],
        "client.backoff.cap_s",
        "must be at least base_s, which is 0.1",
        0.05,
    ),
    (
        [("client.backoff", {"kind": "envoy", "base_s": 1})],
        "client.backoff.cap_s",
        "must be at least base_s, which is 1",
        0.25,
    ),
    (
        [("client.backoff", {"kind": "decorrelated-jitter", "cap_s": 0.5})],
        "client.backoff.cap_s",
        "must be at least base_s, which is 1",
        0.5,
    ),
    (
        [("client.hedging", {"copies": 1}), ("client.max_attempts", REMOVE)],
        "client.hedging.copies",
        "at least 2",
        1,
    ),
    ([("client.hedging", {})], "client.max_attempts", "does not go with hedging", 3),
    (
        [("client.hedging", {}), ("client.max_attempts", REMOVE), ("client.backoff", {"kind": "none"})],
        "client.backoff",
        "does not go with hedging",
        {"kind": "none"},
    ),
    (
        [("client.hedging", {"delay_s": 10}), ("client.max_attempts", REMOVE)],
        "client.hedging.delay_s",
        "must be below timeout_s, which is 10",
        10,
    ),
    (
        [("client.hedging", {}), ("client.max_attempts", REMOVE), ("client.timeout_s", 0.5)],
        "client.hedging.delay_s",
        "must be below timeout_s, which is 0.5",
        0.5,
    ),
    ([("client.deadline_s", 9)], "client.deadline_s", "must be at least timeout_s, which is 10", 9),
    (
        [("client.deadline_s", 20), ("client.backoff", {"kind": "fixed", "fixed_s": 20})],
        "client.backoff.fixed_s",
        "must be below deadline_s, which is 20, or no retry",
        20,
    ),
    ([("client.on_refusal", "retry")], "client.on_refusal", "needs a budget or a breaker", "retry"),
    (
        [("client.max_attempts", 1), ("client.budget", {"kind": "ratio"})],
        "client.budget",
        "nothing to do with max_attempts = 1",
        {"kind": "ratio"},
    ),
    (
        [("client.honour_retry_after", True), ("service.queue_cap", 9)],
        "client.honour_retry_after",
        "needs service.retry_after_s",
        True,
    ),
    ([ENDLESS, ("service.queue_cap", 0)], "client.max_attempts", "with service.queue_cap", math.inf),
    (
        [("client.max_attempts", 1001), ("service.queue_cap", 9)],
        "client.max_attempts",
        "must be at most 1000",
        1001,
    ),
    ([ENDLESS, ("service.error_rate", 0.1)], "client.max_attempts", "with service.error_rate", math.inf),
    ([ENDLESS, ("service.limit", {"kind": "vegas"})], "client.max_attempts", "with service.limit", math.inf),
    (
        [ENDLESS, ("service.codel", {}), ("client.backoff", {"kind": "fixed", "fixed_s": 0})],
        "client.max_attempts",
        "with service.codel",
        math.inf,
    ),
    (
        [ENDLESS, ("client.budget", {"kind": "ratio"}), ("client.on_refusal", "retry")],
        "client.max_attempts",
        'at most 1000 with on_refusal = "retry"',
        math.inf,
    ),
    (
        [ENDLESS, ("service.drop_expired", True), ("service.least_s", 1)],
        "client.max_attempts",
        "with service.least_s",
        math.inf,
    ),
    (
        [ENDLESS, ("service.queue_cap", 9), ("client.budget", {"kind": "envoy"})],
        "client.max_attempts",
        "a budget that runs out, with service.queue_cap",
        math.inf,
    ),
    (
        [
            ENDLESS,
            ("service.queue_cap", 9),
            ("client.budget", {"kind": "aws-token-bucket", "throttle_cost": 0}),
        ],
        "client.max_attempts",
        "a budget that runs out, with service.queue_cap",
        math.inf,
    ),
    (
        [ENDLESS, ("service.queue_cap", 9), ("client.budget", {"kind": "window-ratio", "ratio": 1})],
        "client.max_attempts",
        "a budget that runs out, with service.queue_cap",
        math.inf,
    ),
    ([("service.queue_cap", -1)], "service.queue_cap", "must be at least 0", -1),
    ([("service.queue_cap", math.inf)], "service.queue_cap", "must be a whole number", math.inf),
    ([("service.max_queue", 9)], "service.max_queue", "did you mean queue_cap", 9),
    ([("service.drop_expired", "yes")], "service.drop_expired", "must be true or false", "yes"),
    ([("service.error_rate", 1)], "service.error_rate", "must be less than 1", 1),
    ([("service.least_s", 1.0)], "service.least_s", "needs drop_expired = true", 1.0),
    (
        [("service.drop_expired", True), ("service.least_s", 10)],
        "service.least_s",
        "must be below client.timeout_s, which is 10",
        10,
    ),
    (
        [("service.drop_expired", True), ("client.propagate", "none")],
        "service.drop_expired",
        'client.propagate = "none" nothing would ever be dropped',
        True,
    ),
    (
        [("service.first_before_retry", True)],
        "service.first_before_retry",
        "needs a queue_cap or a limit",
        True,
    ),
    (
        [("service.first_before_retry", True), ("service.queue_cap", 0)],
        "service.first_before_retry",
        "needs a queue_cap of at least 1",
        True,
    ),
    ([("service.standing", 4)], "service.standing", 'goes with discipline = "adaptive-lifo"', 4),
    ([("service.retry_after_s", 4)], "service.retry_after_s", "needs something that turns attempts away", 4),
    (
        [("service.retry_after_s", 4), ("service.error_rate", 0.1), ("service.drop_expired", True)],
        "service.retry_after_s",
        "turns attempts away with a 503: queue_cap, limit, codel",
        4,
    ),
    ([("service.codel", {"target_s": 0})], "service.codel.target_s", "must be greater than 0", 0),
    ([("service.codel", {"target_s": 1})], "service.codel.interval_s", "must be above target_s", 0.1),
    (
        [("service.codel", True)],
        "service.codel",
        "table, such as { target_s = 0.005, interval_s = 0.1 }",
        True,
    ),
    ([("service.degradation", 2)], "service.degradation", "table, such as { half_queue = 100,", 2),
    ([("service.limit", 20)], "service.limit", 'must be a table, such as { kind = "aimd" }', 20),
    ([("service.limit", {"most": 9})], "service.limit.kind", "is required; one of 'aimd', 'vegas'", None),
    ([("service.target_s", 1)], "service.target_s", "it belongs in [service.codel]", 1),
    ([("service.degradation", {})], "service.degradation.half_queue", "is required", None),
    ([("service.degradation", {"half_queue": 5, "floor": 2})], "service.degradation.floor", "at most 1", 2),
    ([("service.limit", {"kind": "aimed"})], "service.limit.kind", "must be one of 'aimd', 'vegas'", "aimed"),
    (
        [("service.limit", {"kind": "aimd", "least": 30, "initial": 20})],
        "service.limit.initial",
        "must be from 30 to 200",
        20,
    ),
    (
        [("service.limit", {"kind": "aimd"}), ("service.pods", 300)],
        "service.limit.most",
        "must be at least service.pods, which is 300",
        200,
    ),
]
IDS = [f"{row[1]}: {row[2][:40]}" for row in RULES]


@pytest.mark.parametrize(("changes", "field", "rule", "value"), RULES, ids=IDS)
def test_rule(changes: list[Change], field: str, rule: str, value: object) -> None:
    """One mistake is one fault, with its field, its rule in words, and the value that breaks it."""
    [fault] = faults_of(changed(*changes))
    assert fault[0] == field
    assert rule in fault[1]
    assert repr(fault[2]) == repr(value)


@pytest.mark.parametrize(
    "changes",
    [
        [ENDLESS],
        [ENDLESS, ("service.queue_cap", 9), ("client.backoff", {"kind": "full-jitter"})],
        [ENDLESS, ("service.queue_cap", 9), ("client.budget", {"kind": "ratio"})],
        [ENDLESS, ("service.queue_cap", 9), ("client.on_rejection", "give-up")],
        [ENDLESS, ("service.queue_cap", 9), ("client.on_rejection", "after-timeout")],
        [("client.max_attempts", REMOVE), ("client.preset", "linkerd"), ("service.queue_cap", 9)],
        [("client.max_attempts", 1000), ("service.queue_cap", 9)],
        [("client.max_attempts", 1001)],
        [("client.budget", {"kind": "window-ratio", "ratio": 0.999}), ENDLESS, ("service.queue_cap", 9)],
        [("client.clients", 10_000), ("client.breaker", {"kind": "circuit-breaker", "window_calls": 1000})],
        [("client.clients", 10_000), ("client.breaker", {"kind": "circuit-breaker", "window_s": 5})],
        [("client.deadline_s", 10)],
        [("client.preset", "polly"), ("client.on_refusal", "give-up")],
        [("client.max_attempts", 1), ("client.preset", "finagle")],
        [("service.drop_expired", True), ("client.propagate", "grpc-timeout")],
        [("service.error_rate", 0), ENDLESS],
        [
            ("service", REMOVE),
            ("demand.utilization", REMOVE),
            ("demand.arrival_rate_per_s", 5.0),
            ("client.honour_retry_after", True),
        ],
    ],
)
def test_what_does_go_together(changes: list[Change]) -> None:
    """The rules refuse no more than they mean to."""
    parse_scenario(changed(*changes), name="x")


def test_faults_of_all_tables_come_together() -> None:
    """Of single values, of values of the domain, and between values, in client and service."""
    raw = changed(
        ("client.budget", {"kind": "ratio", "ratio": -1}),
        ("client.deadline_s", 1),
        ("client.propagate", "none"),
        ("service.limit", {"kind": "vegas", "initial": 2000}),
        ("service.drop_expired", True),
    )
    assert [field for field, _, _ in faults_of(raw)] == [
        "service.limit.initial",
        "client.budget.ratio",
        "client.deadline_s",
        "service.drop_expired",
    ]


def test_every_kind_of_the_domain_has_a_table_and_a_schema() -> None:
    """What can be run can be written, and an editor knows it."""
    families = {
        ("client", "backoff"): BACKOFFS,
        ("client", "budget"): BUDGETS,
        ("client", "breaker"): BREAKERS,
        ("service", "limit"): LIMITS,
        ("fleet", "scale_up"): SCALE_UPS,
    }
    assert set(families) == set(UNIONS)
    for place, kinds in families.items():
        assert {at[-1] for at in TABLES if at[:-1] == place} == set(kinds)
    schema = scenario_json_schema()
    text = json.dumps(schema, allow_nan=False)
    for kinds in families.values():
        assert all(f'"const": "{kind}"' in text for kind in kinds)
    assert schema["$defs"]["ClientTable"]["properties"]["preset"]["anyOf"][0]["enum"] == list(PRESETS)
    assert (
        schema["$defs"]["CircuitBreakerTable"]["properties"]["open_s"]["default"] == CircuitBreaker().open_s
    )


@pytest.mark.parametrize("place", EXAMPLES, ids=".".join)
def test_what_a_fault_gives_as_an_example_may_be_written(place: tuple[str, str]) -> None:
    """By itself, in place of what was there."""
    written = tomllib.loads(f"it = {EXAMPLES[place]}")["it"]
    replaced: list[Change] = [("client.max_attempts", REMOVE)] if "hedging" in place else []
    replaced += [("fleet.signals", ["cpu"])] if "fleet" in place else []
    parse_scenario(changed(*replaced, (".".join(place), written)), name="x")


DOCUMENT = (Path(__file__).parents[2] / "docs" / "scenarios.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("place", TABLES, ids=".".join)
def test_the_reference_has_every_key_and_preset(place: tuple[str, ...]) -> None:
    """A key that can be written can be looked up."""
    for key in TABLES[place].model_fields:
        assert re.search(rf"\b{key}\b", DOCUMENT), key
    for name in PRESETS:
        assert f"| `{name}` |" in DOCUMENT


@pytest.mark.parametrize("place", [place for place in TABLES if place[:-1] in UNIONS], ids=".".join)
def test_the_reference_states_the_defaults_there_are(place: tuple[str, ...]) -> None:
    """Each number in a kind's row is the model's default, and none of them is left out."""
    stated = [
        dict(re.findall(r"`(\w+)` = ([\d.]+)\b(?!T)", row))
        for row in DOCUMENT.splitlines()
        if row.startswith(f"| `{place[-1]}` |")
    ]
    defaults = {
        key: float(field.default)
        for key, field in TABLES[place].model_fields.items()
        if isinstance(field.default, int | float)
    }
    assert defaults in [{key: float(value) for key, value in row.items()} for row in stated]


@pytest.mark.parametrize("as_json", [False, True])
def test_the_presets_are_listed_with_their_sources(as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    """For people, and for programs."""
    assert main(["list", "--presets", *(["--json"] if as_json else [])]) == 0
    out = capsys.readouterr().out
    if as_json:
        rows = {row["name"]: row for row in json.loads(out)["presets"]}
        assert tuple(rows) == tuple(PRESETS)
        assert rows["linkerd"]["max_attempts"] == "inf"
        assert rows["grpc"]["backoff"] == {"kind": "grpc", "base_s": 0.1, "cap_s": 1.0, "multiplier": 2.0}
    words = " ".join(out.split())
    for preset in PRESETS.values():
        assert preset.name in words
        assert preset.source.split()[0] in words
