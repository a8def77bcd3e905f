"""Scenario files: what is taken, what is refused and in which words."""

from __future__ import annotations

import json
import math
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from domain.backoff import ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff
from domain.errors import ConfigurationError, ExitCode
from domain.experiment import RunSettings
from domain.experiment_json import from_json, to_json
from tipover.scenario import load_scenario, parse_scenario, scenario_json_schema

Raw = dict[str, Any]
REMOVE = object()

GOOD: Raw = {
    "title": "a spike",
    "service": {"pods": 4, "rate_per_pod": 40.0},
    "client": {"timeout_s": 10.0, "max_attempts": 3},
    "demand": {
        "utilization": 0.4,
        "phases": [
            {"name": "baseline", "duration_s": 100},
            {"name": "spike", "duration_s": 300, "factor": 5.0},
            {"name": "watch", "duration_s": 1200},
            {"name": "shed", "duration_s": 100, "factor": 0.1},
        ],
    },
    "expect": {"outcome": "trapped", "after_shed": "recovers"},
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


SPIKE = "demand.phases.1"
RULES: list[tuple[list[tuple[str, Any]], str, str, object]] = [
    # changes to GOOD, field, part of the rule, value
    ([("client.timeout_s", 0)], "client.timeout_s", "must be greater than 0", 0),
    ([("client.timeout_s", -1.5)], "client.timeout_s", "must be greater than 0", -1.5),
    ([("client.timeout_s", True)], "client.timeout_s", "must be a number of seconds", True),
    ([("client.timeout_s", "10s")], "client.timeout_s", "must be a number of seconds", "10s"),
    ([("client.timeout_s", math.inf)], "client.timeout_s", "must be a finite number", math.inf),
    ([("client.timeout_s", 10**400)], "client.timeout_s", "must be a", 10**400),
    ([("client.timeout_s", 1e300)], "client.timeout_s", "must be at most 1e+09", 1e300),
    ([("client.timeout_s", REMOVE)], "client.timeout_s", "is required", None),
    ([("client", REMOVE)], "client", "is required", None),
    ([("client", 3)], "client", "must be a table", 3),
    ([("client.timeout_ms", 5)], "client.timeout_ms", "did you mean timeout_s, in seconds?", 5),
    ([("client.timeout", 5)], "client.timeout", "did you mean timeout_s, in seconds?", 5),
    ([("client.max_attempt", 5)], "client.max_attempt", "did you mean max_attempts?", 5),
    ([("client.retries", 2)], "client.retries", "max_attempts (it counts the first attempt too)", 2),
    ([("client.speedup", 2)], "client.speedup", "belongs in [run]", 2),
    ([("client.zzz", 2)], "client.zzz", "known here: timeout_s, max_attempts, backoff", 2),
    ([("titel", "x")], "titel", "did you mean title?", "x"),
    ([("title", "")], "title", "must not be empty", ""),
    ([("client.max_attempts", 0)], "client.max_attempts", "at least 1, the first attempt included", 0),
    ([("client.max_attempts", 2.5)], "client.max_attempts", "whole number", 2.5),
    ([("client.max_attempts", True)], "client.max_attempts", "whole number", True),
    ([("client.max_attempts", -math.inf)], "client.max_attempts", "or inf", -math.inf),
    ([("client.max_attempts", 10**400)], "client.max_attempts", "or inf", 10**400),
    ([("client.max_attempts", "inf")], "client.max_attempts", "or inf", "inf"),
    ([("client.backoff", "none")], "client.backoff", "must be a table, such as", "none"),
    ([("client.backoff", {})], "client.backoff.kind", "is required; one of 'none', 'fixed'", None),
    ([("client.backoff.kind", "fixd")], "client.backoff.kind", "must be one of 'none', 'fixed'", "fixd"),
    (
        [("client.backoff", {"kind": "none", "base_s": 1.0})],
        "client.backoff.base_s",
        "is not a known key; known here: kind",
        1.0,
    ),
    (
        [("client.backoff", {"kind": "fixed", "fixed_s": -1})],
        "client.backoff.fixed_s",
        "must be at least 0",
        -1,
    ),
    (
        [("client.backoff", {"kind": "exponential", "base_s": 3, "cap_s": 2})],
        "client.backoff.cap_s",
        "must be at least base_s, which is 3",
        2,
    ),
    (
        [("client.backoff", {"kind": "full-jitter", "base_s": 81})],
        "client.backoff.cap_s",
        "must be at least base_s, which is 81",
        80.0,
    ),
    ([("service.pods", 0)], "service.pods", "must be at least 1", 0),
    ([("service.pods", 2.0)], "service.pods", "must be a whole number", 2.0),
    ([("service.pods", True)], "service.pods", "must be a whole number", True),
    ([("service.rate_per_pod", 0.0)], "service.rate_per_pod", "must be greater than 0", 0.0),
    ([("service.discipline", "random")], "service.discipline", "must be 'fifo', 'lifo' or", "random"),
    (
        [("service.service_time", "weibull")],
        "service.service_time",
        "must be one of 'exponential'",
        "weibull",
    ),
    (
        [("service.service_time", {"kind": "pareto", "shape": 1})],
        "service.service_time",
        "must have a shape that is the tail index α, from 1.05",
        {"kind": "pareto", "shape": 1},
    ),
    (
        [("service.service_time", {"kind": "deterministic", "shape": 2})],
        "service.service_time",
        "takes no shape with kind 'deterministic'",
        {"kind": "deterministic", "shape": 2},
    ),
    (
        [("service.service_time", {"kind": "pareto", "alpha": 2})],
        "service.service_time",
        "or a table of kind and shape",
        {"kind": "pareto", "alpha": 2},
    ),
    ([("demand.phases", [])], "demand.phases", "must have at least one entry", []),
    ([("demand.phases", 3)], "demand.phases", "must be a list of tables", 3),
    ([("demand.phases", REMOVE)], "demand.phases", "is required", None),
    ([("demand.phases.0", 7)], "demand.phases[0]", "must be a table", 7),
    ([("demand.arrivals", "bursty")], "demand.arrivals", "must be 'poisson' or 'uniform'", "bursty"),
    ([(f"{SPIKE}.duration_s", 0)], "demand.phases[1].duration_s", "must be greater than 0", 0),
    ([(f"{SPIKE}.factor", -1)], "demand.phases[1].factor", "must be at least 0", -1),
    ([(f"{SPIKE}.factor", math.inf)], "demand.phases[1].factor", "must be a finite number", math.inf),
    ([(f"{SPIKE}.factor", 10**400)], "demand.phases[1].factor", "must be a", 10**400),
    ([(f"{SPIKE}.capacity_factor", 1.1)], "demand.phases[1].capacity_factor", "must be at most 1", 1.1),
    ([(f"{SPIKE}.capacity_factor", -0.1)], "demand.phases[1].capacity_factor", "must be at least 0", -0.1),
    ([(f"{SPIKE}.name", "baseline")], "demand.phases[1].name", "already the name of phases[0]", "baseline"),
    (
        [(f"{SPIKE}.factor", REMOVE)],
        "demand.phases[1].factor",
        "is required (factor or capacity_factor) by a phase called 'spike'",
        None,
    ),
    (
        [("demand.phases.0.name", "Big-Spike 2")],
        "demand.phases[0].factor",
        "by a phase called 'Big-Spike 2'",
        None,
    ),
    (
        [(f"{SPIKE}.name", "outage")],
        "demand.phases[1].capacity_factor",
        "is required (capacity_factor) by a phase called 'outage'",
        None,
    ),
    ([(f"{SPIKE}.name", "capacity-cut")], "demand.phases[1].capacity_factor", "is required", None),
    ([("demand.phases.3.factor", REMOVE)], "demand.phases[3].factor", "by a phase called 'shed'", None),
    (
        [("demand.arrival_rate_per_s", 64.0)],
        "demand",
        "utilization or arrival_rate_per_s, not both",
        {"utilization": 0.4, "arrival_rate_per_s": 64.0},
    ),
    ([("demand.utilization", REMOVE)], "demand", "needs utilization or arrival_rate_per_s", None),
    ([("demand.utilization", math.nan)], "demand.utilization", "must be a finite number", math.nan),
    ([("demand.utilization", 0.0)], "demand.utilization", "must be greater than 0", 0.0),
    ([("demand.utilization", 45.0)], "demand.utilization", "must be less than 1", 45.0),
    ([("service", REMOVE)], "demand.utilization", "needs a [service]", 0.4),
    (
        [("service", REMOVE), (f"{SPIKE}.capacity_factor", 0.5)],
        "demand.phases[1].capacity_factor",
        "needs a [service]: only its capacity can be cut",
        0.5,
    ),
    ([("run.speedup", 0)], "run.speedup", "must be greater than 0", 0),
    ([("run.speedup", False)], "run.speedup", "must be a number", False),
    ([("run.seed", -1)], "run.seed", "must be at least 0", -1),
    ([("run.seed", 1.0)], "run.seed", "must be a whole number", 1.0),
    ([("expect.outcome", "trapd")], "expect.outcome", "'healthy', 'recovers' or 'trapped'", "trapd"),
    ([("expect.outcome", REMOVE)], "expect.outcome", "is required", None),
    ([("expect.recover_s", 100.0)], "expect.recover_s", 'goes with outcome = "recovers"', 100.0),
    ([("expect.tolerance", 0)], "expect.tolerance", "must be greater than 0", 0),
    ([("expect.outcome", "recovers")], "expect.after_shed", 'goes with outcome = "trapped"', "recovers"),
    ([("demand.phases.3", REMOVE)], "expect.after_shed", "needs a phase with factor below 1", "recovers"),
    ([(f"{SPIKE}.factor", 1.0)], "expect.outcome", "needs a trigger", "trapped"),
    ([("demand.phases.2", REMOVE)], "expect.outcome", "needs a phase at factor 1 to judge", "trapped"),
]


@pytest.mark.parametrize(
    ("changes", "field", "rule", "value"), RULES, ids=[f"{r[1]}: {r[2][:40]}" for r in RULES]
)
def test_rule(changes: list[tuple[str, Any]], field: str, rule: str, value: object) -> None:
    """Each rule is told with its field, in words, and with the value that breaks it."""
    faults = faults_of(changed(*changes))
    same = [f for f in faults if f[0] == field and rule in f[1]]
    assert same, faults
    assert repr(same[0][2]) == repr(value)  # NaN is not equal to itself


@pytest.mark.parametrize("row", RULES, ids=[f"{r[1]}: {r[2][:40]}" for r in RULES])
def test_one_mistake_makes_few_faults(row: tuple[list[tuple[str, Any]], str, str, object]) -> None:
    """One mistake is told as one fault, or two where it breaks two rules."""
    assert len(faults_of(changed(*row[0]))) <= 2


def test_all_faults_are_reported_together() -> None:
    """Faults of single values, between values, and of the command line come in one error."""
    raw = changed(
        ("client.timeout_s", -1),
        ("client.colour", "red"),
        ("demand.arrival_rate_per_s", 3.0),
        ("demand.phases.1.factor", REMOVE),
        ("demand.phases.2.name", "baseline"),
    )
    with pytest.raises(ConfigurationError) as caught:
        parse_scenario(raw, name="bad", speedup=0.0, seed=-2, need_service=True)
    assert [f.field for f in caught.value.faults] == [
        "client.timeout_s",
        "client.colour",
        "demand",
        "demand.phases[1].factor",
        "demand.phases[2].name",
        "expect.outcome",
        "--speedup",
        "--seed",
    ]
    assert str(caught.value).startswith("scenario 'bad' has 8 faults\n  - client.timeout_s: must be")
    assert caught.value.exit_code is ExitCode.CONFIGURATION


@pytest.mark.parametrize("speedup", [0.0, -1.0, math.nan, math.inf])
def test_a_bad_speedup_is_refused(speedup: float) -> None:
    """The command line's speed-up obeys the file's rule and is named as the option it is."""
    [(field, rule, _)] = faults_of(GOOD, speedup=speedup)
    assert field == "--speedup"
    assert rule in ("must be greater than 0", "must be a finite number")


def test_overrides_replace_the_files_values() -> None:
    """``speedup`` and ``seed`` given by the caller win; what is not given stays."""
    raw = changed(("run.speedup", 10.0), ("run.seed", 7))
    assert parse_scenario(raw, name="x").run == RunSettings(10.0, 7)
    assert parse_scenario(raw, name="x", speedup=2.0).run == RunSettings(2.0, 7)
    assert parse_scenario(raw, name="x", seed=0).run == RunSettings(10.0, 0)


def test_defaults() -> None:
    """What the file leaves out is the domain's default."""
    raw: Raw = {
        "client": {"timeout_s": 2},
        "demand": {"arrival_rate_per_s": 5, "phases": [{"name": "a", "duration_s": 1}]},
    }
    experiment = parse_scenario(raw, name="small")
    assert experiment.title == "small"
    assert experiment.service is None
    assert experiment.expect is None
    assert experiment.run == RunSettings()
    assert experiment.client.max_attempts == 3
    assert experiment.client.backoff == NoBackoff()
    assert experiment.demand.arrivals == "poisson"
    assert experiment.demand.phases[0].factor == experiment.demand.phases[0].capacity_factor == 1.0


def test_a_command_can_insist_on_a_service() -> None:
    """``need_service`` refuses a scenario for somebody else's target."""
    raw = changed(("service", REMOVE), ("demand.utilization", REMOVE), ("demand.arrival_rate_per_s", 3.0))
    parse_scenario(raw, name="theirs")
    ((field, rule, _),) = faults_of(raw, need_service=True)
    assert field == "service"
    assert "--target URL" in rule
    ((_, rule, _),) = faults_of(raw, need_service=True, service_for="simulation")
    assert "is required to simulate it" in rule


@pytest.mark.parametrize(
    ("table", "backoff"),
    [
        ({"kind": "none"}, NoBackoff()),
        ({"kind": "fixed"}, FixedBackoff(5.0)),
        ({"kind": "fixed", "fixed_s": 0}, FixedBackoff(0.0)),
        ({"kind": "exponential"}, ExponentialBackoff(10.0, 80.0)),
        ({"kind": "exponential", "base_s": 1, "cap_s": 4}, ExponentialBackoff(1.0, 4.0)),
        ({"kind": "full-jitter"}, FullJitterBackoff(10.0, 80.0)),
        ({"kind": "full-jitter", "cap_s": 20}, FullJitterBackoff(10.0, 20.0)),
    ],
)
def test_backoff_defaults_are_in_timeouts(table: Raw, backoff: object) -> None:
    """Fixed waits T/2; the growing ones start from T and stop at 8T."""
    assert parse_scenario(changed(("client.backoff", table)), name="x").client.backoff == backoff


def test_toml_to_experiment_to_json_and_back(tmp_path: Path) -> None:
    """A file's experiment survives the run directory's JSON, endless clients included."""
    file = tmp_path / "mine.toml"
    file.write_text(
        'title = "äöü"\n[client]\ntimeout_s = 1\nmax_attempts = inf\nbackoff = { kind = "full-jitter" }\n'
        '[demand]\narrival_rate_per_s = 3\narrivals = "uniform"\nphases = [{ name = "a", duration_s = 1 }]\n'
    )
    experiment = load_scenario(str(file))
    assert experiment.name == "mine"
    assert experiment.client.max_attempts == math.inf
    assert from_json(json.loads(json.dumps(to_json(experiment)))) == experiment


def test_bad_toml_is_told_with_its_line(tmp_path: Path) -> None:
    """The message has the parser's words and the offending line."""
    file = tmp_path / "bad.toml"
    file.write_text("[client]\ntimeout_s 10\n")
    with pytest.raises(ConfigurationError, match=r"must be TOML: .*line 2.*got 'timeout_s 10'"):
        load_scenario(str(file))


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("utilization = .7", "; write 0.7 ("),
        ("utilization = -.5  # half", "; write -0.5 ("),
        ("utilization = 5.", "; write 5.0 ("),
        ("utilization = 0.7.1", None),
        ("utilization = yes", None),
    ],
)
def test_a_bare_point_is_answered_with_the_number_to_write(
    tmp_path: Path, line: str, hint: str | None
) -> None:
    """TOML wants a digit on either side of it."""
    file = tmp_path / "bad.toml"
    file.write_text(f"[demand]\n{line}\n")
    with pytest.raises(ConfigurationError, match="must be TOML") as caught:
        load_scenario(str(file))
    assert ("; write" in str(caught.value)) is (hint is not None)
    assert hint is None or hint in str(caught.value)


@pytest.mark.parametrize("content", [None, b"\xff\xfe"])
def test_an_unreadable_file_is_told(tmp_path: Path, content: bytes | None) -> None:
    """A missing file, or one that is no text, is a configuration error."""
    file = tmp_path / "x.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"cannot be read: No such file|must be UTF-8 text"):
        load_scenario(str(file))


def test_a_directory_is_no_scenario(tmp_path: Path) -> None:
    """A directory is refused like any unreadable file."""
    with pytest.raises(ConfigurationError, match="cannot be read: Is a directory"):
        load_scenario(str(tmp_path))


def test_an_unknown_name_lists_the_known_ones_nearest_first() -> None:
    """The likely meant scenario comes first."""
    with pytest.raises(
        ConfigurationError, match=r"built-in scenario; closest first: f2-40, f2-30, .*got 'f2-4'"
    ):
        load_scenario("f2-4")


def test_the_schema_names_every_key() -> None:
    """The JSON schema refuses unknown keys and tells required ones."""
    schema = scenario_json_schema()
    json.dumps(schema, allow_nan=False)
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"title", "service", "fleet", "client", "demand", "run", "expect"}
    assert set(schema["required"]) == {"client", "demand"}
    phase = schema["$defs"]["PhaseTable"]["properties"]
    assert set(phase) == {"name", "duration_s", "factor", "capacity_factor"}
    assert phase["factor"]["default"] == 1.0
