"""Plan files: what is taken, what is refused and in which words, and what options do to them."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest

from domain.backoff import ExponentialBackoff, NoBackoff
from domain.errors import ConfigurationError, ExitCode
from domain.experiment import Client
from domain.presets import PRESETS
from domain.request_mix import RequestMix, RequestTemplate, Success
from domain.trigger.assertions import Assertions
from domain.trigger.guards_plan import Guards
from domain.trigger.plan import Ceiling, Probing, Target, TriggerPlan
from tipover.trigger.plan_faults import Setting
from tipover.trigger.plan_file import load_plan, parse_plan
from tipover.trigger.plan_tables import TABLES, plan_json_schema

URL = "http://127.0.0.1:8080"
LEAST: dict[str, Any] = {"target": {"url": URL}}

WHOLE = """
title = "checkout in staging"
[target]
url = "https://checkout.staging.example:8443/"
ca_file = "ca.pem"
probe_url = "http://10.0.0.7:8080"
[[request]]
method = "post"
path = "/orders?dry=1"
headers = { Authorization = "Bearer ${TOKEN}" }
json = { item = 1 }
weight = 2
[[request]]
path = "/orders/1"
[success]
statuses = ["2xx", 404]
body_match = "id"
[client]
timeout_s = 0.5
max_attempts = inf
backoff = { kind = "exponential", base_s = 0.1, cap_s = 1.0 }
[test]
utilization = 0.4
capacity_per_s = 100
dose = 3
spike_s = 0.25
baseline_timeouts = 8
watch_timeouts = 30
rescue_s = 60
confidence = 0.99
seed = 7
find_threshold = true
[probes]
rate_per_s = 5
patience_s = 30
most_open = 100
prometheus = "http://prometheus:9090"
received = "sum(received_total)"
[limits]
rate_per_s = 900
attempts = 50_000
duration_s = 300
[guards]
allow_file = "allow.toml"
health_url = "http://bystander/health"
health_for_s = 3
stop_query = "errors > 5"
stop_for_s = 4
stop_file = "HALT"
max_error_rate = 0.01
[assert]
min_threshold = 0.6
max_amplification = 3.5
max_recovery_s = 20
verdict = ["recovers", "not vulnerable"]
"""


def faults(raw: dict[str, Any], *settings: Setting) -> dict[str, str]:
    """What is wrong with it: field → rule."""
    with pytest.raises(ConfigurationError) as refused:
        parse_plan(raw, settings=settings)
    assert refused.value.exit_code is ExitCode.CONFIGURATION
    fields = [fault.field for fault in refused.value.faults]
    assert len(fields) == len(set(fields)), "each is told once"
    return {fault.field: fault.rule for fault in refused.value.faults}


def at(*place: str, value: Any) -> dict[str, Any]:
    """``LEAST`` with a value in one more place."""
    return {**LEAST, place[0]: {**LEAST.get(place[0], {}), place[1]: value}}


def test_every_key_is_taken(tmp_path: Path) -> None:
    """A file that says everything makes the plan that says the same; its files lie beside it."""
    for name in ("ca.pem", "allow.toml"):
        (tmp_path / name).touch()
    file = tmp_path / "checkout.toml"
    file.write_text(WHOLE)
    assert load_plan(file, yes=True) == TriggerPlan(
        name="checkout",
        title="checkout in staging",
        target=Target(
            "https://checkout.staging.example:8443",
            None,
            str(tmp_path / "ca.pem"),
            "http://10.0.0.7:8080",
        ),
        client=Client(0.5, math.inf, ExponentialBackoff(0.1, 1.0)),
        mix=RequestMix(
            (
                RequestTemplate(
                    "POST",
                    "/orders?dry=1",
                    (("Authorization", "Bearer ${TOKEN}"), ("Content-Type", "application/json")),
                    b'{"item": 1}',
                    2.0,
                ),
                RequestTemplate(path="/orders/1"),
            ),
            Success(((200, 299), (404, 404)), "id"),
        ),
        utilization=0.4,
        capacity_per_s=100,
        dose=3,
        spike_s=0.25,
        baseline_timeouts=8,
        watch_timeouts=30,
        rescue_s=60,
        confidence=0.99,
        probing=Probing(5, 30, 100),
        ceiling=Ceiling(900, 50_000, 300),
        seed=7,
        guards=Guards(
            str(tmp_path / "allow.toml"),
            "http://bystander/health",
            3,
            "http://prometheus:9090",
            "errors > 5",
            4,
            "sum(received_total)",
            "HALT",
            0.01,
            True,
        ),
        assertions=Assertions(0.6, 3.5, 20, ("recovers", "not vulnerable")),
        find_threshold=True,
    )


def test_the_whole_file_names_every_key() -> None:
    """So that a key nobody tests cannot come in unseen."""
    raw = tomllib.loads(WHOLE)
    for place, model in TABLES.items():
        if place in ((), ("client",), ("request",)):
            continue
        keys = {field.alias or name for name, field in model.model_fields.items()}
        left_out = {("test",): {"locustfile"}, ("guards",): {"prometheus"}}.get(place, set())
        assert set(raw[place[0]]) == keys - left_out, place


def test_a_url_is_enough() -> None:
    """A second, three attempts at once, half of the capacity, GET /."""
    plan = parse_plan(LEAST)
    assert plan == TriggerPlan(
        "127.0.0.1-8080", Target(URL), Client(1.0, 3), title="127.0.0.1-8080", mix=plan.mix
    )
    assert isinstance(plan.client.backoff, NoBackoff)
    assert plan.mix.requests == (RequestTemplate(),)


@pytest.mark.parametrize(("timeout_s", "patience_s"), [(1.0, 60.0), (5.0, 100.0)])
def test_probes_are_patient_for_many_timeouts(timeout_s: float, patience_s: float) -> None:
    """The default of their patience grows with the timeout."""
    assert parse_plan(at("client", "timeout_s", value=timeout_s)).probing.patience_s == patience_s


@pytest.mark.parametrize(
    ("raw", "field", "rule"),
    [
        ({}, "target", "is required"),
        ({"target": {}}, "target.url", "is required"),
        ({"target": 3}, "target", "must be a table"),
        (
            at("target", "url", value="127.0.0.1:80"),
            "target.url",
            "must be a URL such as http://127.0.0.1:8080",
        ),
        (at("target", "url", value="ftp://h"), "target.url", "must be a URL such as"),
        (
            at("target", "url", value="http://h/a"),
            "target.url",
            "must be a base URL, without a path: paths are those of [[request]]",
        ),
        (at("target", "url", value="http://u:p@h"), "target.url", "must not carry a name or password"),
        (at("target", "url", value="http://h:99999"), "target.url", "must be a URL: Port out of range"),
        (at("target", "ca_file", value="/no/such"), "target.ca_file", "must be a file"),
        (at("test", "utilization", value=1), "test.utilization", "must be less than 1"),
        (at("test", "utilization", value="half"), "test.utilization", "must be a number"),
        (at("test", "dose", value=1), "test.dose", "must be greater than 1"),
        (at("test", "confidence", value=0.9999), "test.confidence", "must be at most 0.999"),
        (at("test", "watch_timeouts", value=math.inf), "test.watch_timeouts", "must be a finite number"),
        (at("test", "seed", value=-1), "test.seed", "must be at least 0"),
        (
            at("probes", "patience_s", value=4.9),
            "probes.patience_s",
            "must be at least 5, which is the spike's dose",
        ),
        (at("probes", "received", value="up"), "probes.received", "needs the URL of a Prometheus"),
        (at("guards", "stop_query", value="up"), "guards.stop_query", "needs the URL of a Prometheus"),
        (at("guards", "prometheus", value="http://p"), "guards.prometheus", "is asked nothing"),
        (at("guards", "health_for_s", value=1), "guards.health_for_s", "needs guards.health_url"),
        (at("guards", "max_error_rate", value=2), "guards.max_error_rate", "must be at most 1"),
        (at("limits", "attempts", value=1.5), "limits.attempts", "must be a whole number"),
        (at("limits", "duration_s", value=166), "limits.duration_s", "are 167 s at worst, over the ceiling"),
        (at("limits", "duration_s", value=166), "limits.duration_s", "test.rescue_s in a plan file"),
        (at("client", "timeout_s", value="1"), "client.timeout_s", "number (of seconds, such as 0.5)"),
        (at("assert", "verdict", value="trapped"), "assert.verdict", "must be a list of verdicts"),
        ({**LEAST, "request": [{}] * 1001}, "request", "must have at most 1000 entries"),
        (at("assert", "min_threshold", value=60), "assert.min_threshold", "must be less than 1"),
        (at("assert", "verdict", value=["fine"]), "assert.verdict[0]", "must be 'not vulnerable'"),
        (at("client", "timeout_ms", value=5), "client.timeout_ms", "did you mean timeout_s, in seconds?"),
        (at("client", "retries", value=5), "client.retries", "did you mean max_attempts"),
        (at("client", "utilization", value=5), "client.utilization", "it belongs in [test]"),
        (
            at("client", "max_attempts", value=0),
            "client.max_attempts",
            "must be a whole number of at least 1",
        ),
        (
            at("client", "deadline_s", value=0.5),
            "client.deadline_s",
            "must be at least timeout_s, which is 1",
        ),
        (
            at("success", "statuses", value=["ok"]),
            "success.statuses",
            "must be a list; each must be HTTP statuses",
        ),
        ({**LEAST, "service": {}}, "service", "is not a known key; known here: title, target, request"),
        ({**LEAST, "request": {}}, "request", "must be a list of tables"),
        ({**LEAST, "request": [{"pfad": "/"}]}, "request[0].pfad", "is not a known key"),
    ],
)
def test_a_fault_has_its_place_and_rule(raw: dict[str, Any], field: str, rule: str) -> None:
    """Each is found alone, where it stands, in words that say what to write."""
    found = faults(raw)
    assert list(found) == [field]
    assert rule in found[field]


def test_one_prometheus_is_asked() -> None:
    """Two would leave open which one a query means."""
    raw = {
        **at("guards", "stop_query", value="up"),
        "probes": {"prometheus": "http://a:1", "received": "x"},
    }
    raw["guards"]["prometheus"] = "http://b:1"
    assert list(faults(raw)) == ["guards.prometheus"]
    raw["guards"]["prometheus"] = "http://a:1"
    assert parse_plan(raw).guards.prometheus == "http://a:1"


def test_all_faults_are_told_at_once() -> None:
    """Of every table, of requests too, and a literal credential is not repeated."""
    raw = {
        **at("test", "utilization", value=2),
        "probes": {"received": "x"},
        "request": [{"headers": {"Authorization": "Bearer abcdef"}}],
        "clinet": {},
    }
    found = faults(raw)
    assert set(found) == {"test.utilization", "probes.received", "request[0].headers.Authorization", "clinet"}
    assert "abcdef" not in str(found)


def test_options_win_over_the_file() -> None:
    """Each in its own place; the rest of its table stays."""
    raw = {**at("test", "utilization", value=0.3), "client": {"timeout_s": 2.0, "max_attempts": 5}}
    plan = parse_plan(
        raw,
        settings=[
            Setting("--utilization", ("test", "utilization"), 0.6),
            Setting("--attempts", ("client", "max_attempts"), 2),
            Setting("--max-utilization", ("assert", "min_threshold"), 0.2),
        ],
    )
    assert (plan.utilization, plan.client) == (0.6, Client(2.0, 2))
    assert plan.assertions.max_utilization == 0.2
    assert raw["test"] == {"utilization": 0.3}, "the file's own tables are left alone"


def test_faults_of_options_are_told_under_their_names() -> None:
    """Whoever typed an option looks for it, not for a place in a file."""
    found = faults(
        LEAST,
        Setting("--dose", ("test", "dose"), 1.0),
        Setting("--expect-verdict", ("assert", "verdict"), ["recovers", "no"]),
        Setting("--backoff-cap", ("client", "backoff"), {"kind": "exponential", "base_s": 2.0, "cap_s": 1.0}),
    )
    assert set(found) == {"--dose", "--expect-verdict", "client.backoff.cap_s"}
    assert set(faults(LEAST, Setting("--max-duration", ("limits", "duration_s"), 20.0))) == {"--max-duration"}


def test_a_preset_as_an_option_wins_over_the_files_client() -> None:
    """Its settings are not mixed with the file's; a preset in the file gives way to the keys beside it."""
    raw = {**LEAST, "client": {"timeout_s": 2.0, "max_attempts": 7}}
    chosen = parse_plan(raw, settings=[Setting("--preset", ("client", "preset"), "envoy")]).client
    assert chosen == Client(timeout_s=2.0, **PRESETS["envoy"].settings)
    raw["client"]["preset"] = "envoy"
    assert parse_plan(raw).client.max_attempts == 7


def test_requests_of_options_take_the_place_of_the_files() -> None:
    """What counts as success stays the file's."""
    raw = {**at("success", "statuses", value=[200]), "request": [{"path": "/file"}]}
    given = (RequestTemplate(path="/option"),)
    assert parse_plan(raw, requests=given).mix == RequestMix(given, Success(((200, 200),)))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"a = ", "must be TOML"),
        (b"\xff", "must be UTF-8 text"),
        (None, "cannot be read: No such file"),
        (b"a = " + b"[" * 20_000, "nested too deeply"),
        (b"#" * (2**24 + 1), "is longer than 16777216 bytes"),
        (
            b'title = "a\\u001b[31m"\n[target]\nurl = "http://127.0.0.1:9"\n',
            "title: must be one line without",
        ),
    ],
    ids=["no TOML", "no UTF-8", "no file", "deep", "long", "control characters"],
)
def test_an_unreadable_file_is_a_fault(content: bytes | None, said: str, tmp_path: Path) -> None:
    """Whatever it is that cannot be read."""
    file = tmp_path / "plan.toml"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigurationError, match=said):
        load_plan(file)


def test_line_ends_of_windows_are_line_ends(tmp_path: Path) -> None:
    """Whoever has written the file, wherever."""
    file = tmp_path / "plan.toml"
    file.write_bytes(WHOLE.encode())
    with pytest.raises(ConfigurationError) as caught:  # certificates and other files are not there
        load_plan(file)
    file.write_bytes(WHOLE.replace("\n", "\r\n").encode())
    with pytest.raises(ConfigurationError) as again:
        load_plan(file)
    assert again.value.faults == caught.value.faults
    file.write_bytes(f'[target]\r\nurl = "{URL}"\r\n[test]\r\nseed = 4\r\n'.encode())
    assert load_plan(file).seed == 4


def test_the_schema_knows_every_table() -> None:
    """It is for editors: JSON, with the file's own keys, strict like the file."""
    schema = json.loads(json.dumps(plan_json_schema()))
    assert set(schema["properties"]) == {place[0] for place in TABLES if place} | {"title"}
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["target"]


@pytest.mark.parametrize(
    "tables",
    [
        {"request": [{"token": "geheim"}]},
        {"request": {"token": "geheim"}},
        {"request": [{"auth": {"token": "geheim"}}]},
        {"request": ["geheim"]},
        {"request": "geheim"},
        {"requests": [{"headers": {"Authorization": "geheim"}}]},
        {"headers": {"Authorization": "geheim"}},
        {"target": {**LEAST["target"], "token": "geheim"}},
        {"client": {"token": "geheim"}},
    ],
)
def test_what_stands_where_nothing_should_is_not_shown(tables: dict[str, Any]) -> None:
    """It may be a credential at the wrong place; where it is, is said."""
    with pytest.raises(ConfigurationError) as caught:
        parse_plan({**LEAST, **tables})
    assert next(iter(tables)) in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("field", ["health_url", "prometheus"])
def test_a_watched_url_must_not_carry_a_credential(field: str) -> None:
    """It is kept in the plan."""
    query = {"stop_query": "up == 0"} if field == "prometheus" else {}
    raw = {
        "target": {"url": "http://127.0.0.1:8080"},
        "guards": {field: "http://127.0.0.1:1/health?token=abc123", **query},
    }
    with pytest.raises(ConfigurationError, match=f"guards.{field}: must not carry a credential") as raised:
        parse_plan(raw, name="x")
    assert "abc123" not in str(raised.value)
