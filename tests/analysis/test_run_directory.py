"""What is no run, or no longer one, is told; what is damaged besides is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.run_directory import read_run_directory
from domain.errors import ConfigurationError
from tests.analysis.fifo import demo, simulate
from tests.analysis.run_files import write_run

NESTED = "[" * 100_000


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "cannot be read"),
        (NESTED, "cannot be read"),
        ("[]", "is not a JSON object"),
        ('{"schema_version": 2}', r"schema_version must be 1 \(got 2\)"),
        ('{"schema_version": 1}', "its scenario cannot be read"),
    ],
    ids=["cut off", "nested without end", "a list", "of another version", "without a scenario"],
)
def test_what_is_no_run_is_told(tmp_path: Path, content: str, words: str) -> None:
    """A configuration error names the file and what is wrong with it."""
    with pytest.raises(ConfigurationError, match=r"it has no run\.json"):
        read_run_directory(tmp_path)
    (tmp_path / "run.json").write_text(content, encoding="utf-8")
    with pytest.raises(ConfigurationError, match=words):
        read_run_directory(tmp_path)


@pytest.mark.parametrize(
    ("part", "key", "value", "words"),
    [
        ("client", "timeout_s", 0, r"client\.timeout_s: must be above 0 \(got 0\)"),
        ("service", "pods", 0, r"service\.pods: must be above 0 \(got 0\)"),
        ("run", "speedup", 0, r"run\.speedup: must be above 0 \(got 0\)"),
        ("demand", "phases", [], r"demand\.phases: must last longer than 0 s in all"),
    ],
)
def test_a_scenario_that_nothing_can_be_said_of_is_told(
    tmp_path: Path, part: str, key: str, value: object, words: str
) -> None:
    """Field, rule and value, instead of a division by zero further on."""
    write_run(tmp_path, demo(), simulate(demo()))
    file = tmp_path / "run.json"
    run = json.loads(file.read_text(encoding="utf-8"))
    run["scenario"][part][key] = value
    file.write_text(json.dumps(run), encoding="utf-8")
    with pytest.raises(ConfigurationError, match=words):
        read_run_directory(tmp_path)


def test_damaged_workers_and_scrapes_are_left_out(tmp_path: Path) -> None:
    """The run is read without them; of a worker a warning says so."""
    write_run(tmp_path, demo(), simulate(demo()))
    whole = read_run_directory(tmp_path)
    (tmp_path / "generator" / "worker-7.json").write_text(NESTED, encoding="utf-8")
    with (tmp_path / "server.jsonl").open("a", encoding="utf-8") as scrapes:
        scrapes.write(NESTED + "\n")
    damaged = read_run_directory(tmp_path)
    assert len(damaged.workers) == len(whole.workers)
    assert len(damaged.server) == len(whole.server)
    assert any("worker-7.json" in warning for warning in damaged.warnings)
