"""The decision log of a live autoscaler: what makes a run invalid, as a table of logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tipover.live.decisions import faults_in_decisions, read_decisions
from tipover.scenario import load_scenario

LIVE = load_scenario("f3-ingress").live()
"""Decisions every 1.5 s, the step at 10 s, the end at 100 s."""
ALL = range(1, 67)


def log(*, at: Any = ALL, late_s: dict[int, float] | None = None, error: dict[int, str] | None = None) -> Any:
    """Decisions with these numbers, some of them late or with an error."""
    late_s, error = late_s or {}, error or {}
    return [{"t_s": 1.5 * k, "late_s": late_s.get(k, 0.001), "error": error.get(k)} for k in at]


def without(*numbers: int) -> list[int]:
    """All but these."""
    return [k for k in ALL if k not in numbers]


@pytest.mark.parametrize(
    ("decisions", "stopped_s"),
    [
        (log(), 101.0),
        (log(at=range(1, 68)), 101.0),  # one after the phases
        (log(at=range(4, 67)), 101.0),  # it takes a while to start
        (log(at=range(6, 67)), 101.0),  # at 9 s, a second before the step
        (log(at=range(1, 66)), 99.1),  # stopped before the last was written
        (log(late_s={40: 0.29}), 101.0),
        (log(error={3: "not yet"}), 101.0),  # long before the step
    ],
)
def test_a_log_without_fault(decisions: list[dict[str, Any]], stopped_s: float) -> None:
    """Decisions that were made when the models make them."""
    assert list(faults_in_decisions(decisions, LIVE, stopped_s)) == []


@pytest.mark.parametrize(
    ("decisions", "sentence"),
    [
        ([], "was too late to decide at all at 10.50 s, and at 60 of 60 times; see autoscaler.log"),
        (log(at=range(9, 67)), "was too late to decide at all at 10.50 s, and at 2 of 60 times"),
        (log(at=without(2)), "was too late to decide at all at 3.00 s, and at 1 of 66 times"),
        (log(at=without(30, 31)), "was too late to decide at all at 45.00 s, and at 2 of 66 times"),
        (log(at=range(1, 40)), "was too late to decide at all at 60.00 s, and at 27 of 66 times"),
        (
            log(late_s={40: 0.31, 41: 0.5}),
            "was late for 2 of 66 decisions, by up to 0.50 s (limit 20% of the 1.5 s between them)",
        ),
        (
            [{**d, "readings": {"cpu": None if d["t_s"] == 60.0 else 1.0, "first": 400.0}} for d in log()],
            "could not see or act in 1 of 66 decisions; at 60.00 s: cpu had no reading",
        ),
        (log(error={40: "no answer"}), "could not see or act in 1 of 66 decisions; at 60.00 s: no answer"),
    ],
)
def test_a_log_with_a_fault(decisions: list[dict[str, Any]], sentence: str) -> None:
    """Each is one sentence with its number and limit."""
    (fault,) = faults_in_decisions(decisions, LIVE, 101.0)
    assert sentence in fault


def test_reading_a_log(tmp_path: Path) -> None:
    """A line that was cut short by a kill is left out; no log is no decisions."""
    path = tmp_path / "autoscaler.jsonl"
    assert read_decisions(path) == []
    path.write_text(json.dumps({"t_s": 1.5}) + '\n{"t_s": 3.0, "at"')
    assert read_decisions(path) == [{"t_s": 1.5}]
