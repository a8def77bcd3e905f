"""Every option of ``tipover trigger`` reaches the plan: its own place there, and no other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from domain.trigger.plan_json import plan_to_json
from tests.tipover.trigger.test_command import URL, _empty_directory, planned, started, told  # noqa: F401
from tipover.cli import build_app, main

FILES = {"ca.pem": "", "locustfile.py": "", "allow.toml": "", "body.txt": "from a file"}
REQUEST = "mix.requests.0"
Expected = dict[str, Any]
"""Place in the plan's JSON → value."""

OPTIONS: dict[str, tuple[tuple[str, ...], Expected]] = {
    "--url": (
        ("http://127.0.0.1:8/p?q=1",),
        {"target.url": "http://127.0.0.1:8", f"{REQUEST}.path": "/p?q=1", "name": "127.0.0.1-8"}
        | {"title": "127.0.0.1-8"},
    ),
    "--method": (("put",), {f"{REQUEST}.method": "PUT"}),
    "--path": (("/p",), {f"{REQUEST}.path": "/p"}),
    "--header": (("X-A: b",), {f"{REQUEST}.headers": [["X-A", "b"]]}),
    "--body": (("@body.txt",), {f"{REQUEST}.method": "POST", f"{REQUEST}.body": "from a file"}),
    "--success": (("204",), {"mix.success.statuses": [[204, 204]]}),
    "--body-match": (("fine",), {"mix.success.body_match": "fine"}),
    "--ca-file": (("ca.pem",), {"target.ca_file": "ca.pem"}),
    "--timeout": (("4",), {"client.timeout_s": 4.0, "probing.patience_s": 80.0}),
    "--attempts": (("5",), {"client.max_attempts": 5}),
    "--backoff": (("full-jitter",), {"client.backoff.kind": "full-jitter"}),
    "--backoff-base": (("0.3",), {"client.backoff.kind": "exponential", "client.backoff.base_s": 0.3}),
    "--backoff-cap": (("7",), {"client.backoff.kind": "exponential", "client.backoff.cap_s": 7.0}),
    "--budget": (("0.2",), {"client.budget.kind": "ratio", "client.budget.ratio": 0.2}),
    "--preset": (("envoy",), {"client.preset": "envoy"}),
    "--locustfile": (("locustfile.py",), {"locustfile": "locustfile.py"}),
    "--utilization": (("0.3",), {"utilization": 0.3}),
    "--capacity": (("70",), {"capacity_per_s": 70.0}),
    "--dose": (("4",), {"dose": 4.0}),
    "--find-threshold": ((), {"find_threshold": True}),
    "--seed": (("9",), {"seed": 9}),
    "--probe-url": (("http://127.0.0.1:7",), {"target.probe_url": "http://127.0.0.1:7"}),
    "--probe-rate": (("3",), {"probing.rate_per_s": 3.0}),
    "--patience": (("90",), {"probing.patience_s": 90.0}),
    "--prometheus": (
        ("http://127.0.0.1:6", "--received", "r"),
        {"guards.prometheus": "http://127.0.0.1:6", "guards.received_query": "r"},
    ),
    "--received": (
        ("r", "--prometheus", "http://127.0.0.1:6"),
        {"guards.prometheus": "http://127.0.0.1:6", "guards.received_query": "r"},
    ),
    "--stop-query": (
        ("s", "--prometheus", "http://127.0.0.1:6"),
        {"guards.prometheus": "http://127.0.0.1:6", "guards.stop_query": "s"},
    ),
    "--health-url": (("http://127.0.0.1:5/h",), {"guards.health_url": "http://127.0.0.1:5/h"}),
    "--max-rate": (("600",), {"ceiling.rate_per_s": 600.0}),
    "--max-attempts-total": (("7000",), {"ceiling.attempts": 7000}),
    "--max-duration": (("500",), {"ceiling.duration_s": 500.0}),
    "--allow-file": (("allow.toml",), {"guards.allow_file": "allow.toml"}),
    "--yes": ((), {"guards.yes": True}),
    "--max-utilization": (("0.7",), {"assertions.max_utilization": 0.7}),
    "--max-amplification": (("2",), {"assertions.max_amplification": 2.0}),
    "--max-recovery": (("8",), {"assertions.max_recovery_s": 8.0}),
    "--expect-verdict": (("recovers",), {"assertions.verdicts": ["recovers"]}),
}
OF_OTHER_TESTS = {
    "--curl", "--har", "--openapi", "--operation", "--allow-writes",  # sources of requests
    "--against", "--out", "--replace", "--dry-run", "--json", "--help",  # not of the plan
}  # fmt: skip


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    """What options name."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o644)


def leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value that is no table, with its place."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from leaves(below, f"{place}.{key}" if place else key)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, below in enumerate(value):
            yield from leaves(below, f"{place}.{index}")
    else:
        yield place, value


def changes(started: list[dict[str, Any]], *arguments: str) -> dict[str, Any]:  # noqa: F811
    """What is different in the plan, other than with ``--url`` alone."""
    plain = dict(leaves(plan_to_json(planned(started, "--url", URL))))
    started.clear()
    given = arguments if "--url" in arguments else ("--url", URL, *arguments)
    made = dict(leaves(plan_to_json(planned(started, *given))))
    return {place: value for place, value in made.items() if plain.get(place) != value}


def test_the_table_has_every_option() -> None:
    """A new option must say here where it goes."""
    command = typer.main.get_command(build_app()).commands["trigger"]  # type: ignore[attr-defined]
    known = {option for parameter in command.params for option in parameter.opts if option.startswith("--")}
    assert known | {"--help"} == set(OPTIONS) | OF_OTHER_TESTS
    assert not set(OPTIONS) & OF_OTHER_TESTS


@pytest.mark.parametrize("option", OPTIONS)
def test_an_option_changes_its_place_and_no_other(
    option: str,
    started: list[dict[str, Any]],  # noqa: F811
) -> None:
    """A preset and a backoff set more; those places are named in the table at least."""
    arguments, expected = OPTIONS[option]
    found = changes(started, option, *arguments)
    wide = {"--preset": "client.", "--backoff": "client.backoff.", "--backoff-base": "client.backoff."}
    wide |= {"--backoff-cap": "client.backoff.", "--budget": "client.budget."}
    strange = {place for place in found if option not in wide or not place.startswith(wide[option])}
    assert expected.items() <= found.items()
    assert strange <= set(expected)


PLACES_IN_FILE = {
    "--timeout": ("client", "timeout_s", 9),
    "--attempts": ("client", "max_attempts", 9),
    "--utilization": ("test", "utilization", 0.9),
    "--capacity": ("test", "capacity_per_s", 9),
    "--dose": ("test", "dose", 9),
    "--seed": ("test", "seed", 99),
    "--locustfile": ("test", "locustfile", "other.py"),
    "--probe-rate": ("probes", "rate_per_s", 9),
    "--patience": ("probes", "patience_s", 99),
    "--probe-url": ("target", "probe_url", "http://127.0.0.1:99"),
    "--ca-file": ("target", "ca_file", "other.pem"),
    "--health-url": ("guards", "health_url", "http://127.0.0.1:99/"),
    "--allow-file": ("guards", "allow_file", "other.toml"),
    "--max-rate": ("limits", "rate_per_s", 4999),
    "--max-attempts-total": ("limits", "attempts", 99),
    "--max-duration": ("limits", "duration_s", 999),
    "--max-utilization": ("assert", "min_threshold", 0.9),
    "--max-amplification": ("assert", "max_amplification", 9),
    "--max-recovery": ("assert", "max_recovery_s", 9),
    "--expect-verdict": ("assert", "verdict", ["trapped"]),
    "--body-match": ("success", "body_match", "other"),
    "--success": ("success", "statuses", [500]),
}


@pytest.mark.parametrize("option", PLACES_IN_FILE)
def test_an_option_wins_over_the_file(
    option: str,
    started: list[dict[str, Any]],  # noqa: F811
) -> None:
    """Even where the file's value could not be used: its file is not there."""
    table, key, value = PLACES_IN_FILE[option]
    Path("p.toml").write_text(f"[{table}]\n{key} = {json.dumps(value)}\n")
    arguments, expected = OPTIONS[option]
    made = dict(leaves(plan_to_json(planned(started, "p.toml", "--url", URL, option, *arguments))))
    assert expected.items() <= made.items()


def test_the_dry_run_shows_the_plan_that_would_run(
    started: list[dict[str, Any]],  # noqa: F811
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One document, the same plan but for the address that was found."""
    arguments = ("--url", URL, "--dose", "4", "--capacity", "50", "--attempts", "2", "--max-rate", "900")
    arguments += ("--utilization", "0.3", "--max-recovery", "8", "--expect-verdict", "recovers", "--yes")
    made = plan_to_json(planned(started, *arguments))
    capsys.readouterr()
    assert main(["trigger", *arguments, "--dry-run", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["target"] == {**made["target"], "address": "127.0.0.1"}
    assert shown["success"] == made["mix"]["success"]
    assert shown["ceilings"] == made["ceiling"]
    same = ("name", "client", "utilization", "capacity_per_s", "guards", "assertions", "find_threshold")
    assert {key: shown[key] for key in same} == {key: made[key] for key in same}
    assert (shown["sent"], shown["exit_code"]) == (0, 0)
