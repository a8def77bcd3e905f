"""Where decisions go."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from tipover.autoscaling.decision import Decision
from tipover.autoscaling.record import DecisionCollector, DecisionLog

UP = Decision(
    15.0, "2030-01-02T03:04:05.678+00:00", 4, 4, {"cpu": 1.0}, {"cpu": 8}, 8, 8, "cpu 100% wants 8 pods"
)
DOWN = replace(UP, replicas=8, ready=8, readings={"cpu": 0.2}, proposals={"cpu": 4}, wanted=4, ordered=4)
SAME = replace(UP, replicas=8)
ERROR = replace(
    UP,
    readings={"cpu": None},
    proposals={"cpu": None},
    wanted=None,
    ordered=4,
    why="nothing",
    error="nothing",
)
REFUSED = replace(UP, error="fake did not take the order: gone")


@pytest.mark.parametrize(
    ("decision", "result", "words"),
    [
        (UP, "up", "    15.0 s ▲ 4 → 8: cpu 100% wants 8 pods"),
        (DOWN, "down", "    15.0 s ▼ 8 → 4: cpu 100% wants 8 pods"),
        (SAME, "same", "    15.0 s = 8 (4 ready): cpu 100% wants 8 pods"),
        (ERROR, "error", "    15.0 s ! 4: nothing"),
        (REFUSED, "error", "    15.0 s ! 4 → 8: cpu 100% wants 8 pods [fake did not take the order: gone]"),
    ],
)
def test_what_came_of_a_decision(decision: Decision, result: str, words: str) -> None:
    assert decision.result == result
    assert decision.words() == words


def test_the_log_is_appended_to_line_by_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each is there as soon as it is made, and what an earlier process wrote stays."""
    file = tmp_path / "log.jsonl"
    for decision in (UP, ERROR):
        with closing(DecisionLog(file, shown=False)) as log:
            log(decision)
            assert json.loads(file.read_text().splitlines()[-1]) == decision.to_json()
    assert [json.loads(line) for line in file.read_text().splitlines()] == [UP.to_json(), ERROR.to_json()]
    assert capsys.readouterr().err == ""
    DecisionLog(None, shown=True)(UP)
    assert capsys.readouterr().err == UP.words() + "\n"


def test_a_full_disk_is_said_once_and_stops_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with closing(DecisionLog(Path("/dev/full"), shown=False)) as log:
        log(UP)
        log(DOWN)
    said = capsys.readouterr().err
    assert said.count("the log of decisions cannot be written: No space left on device") == 1


def shown(*decisions: Decision) -> list[str]:
    """The samples of the page after these."""
    registry, collector = CollectorRegistry(), DecisionCollector()
    registry.register(collector)
    for decision in decisions:
        collector(decision)
    lines = generate_latest(registry).decode().splitlines()
    return [line.removeprefix("tipover_autoscaler_") for line in lines if not line.startswith("#")]


def test_metrics_are_of_the_last_decision() -> None:
    assert shown(UP, SAME, DOWN, ERROR, SAME) == [
        'decisions_total{result="up"} 1.0',
        'decisions_total{result="down"} 1.0',
        'decisions_total{result="same"} 2.0',
        'decisions_total{result="error"} 1.0',
        'reading{signal="cpu"} 1.0',
        'proposal{signal="cpu"} 8.0',
        "wanted 8.0",
        "replicas 8.0",
        "ready 4.0",
    ]


def test_what_is_not_known_has_no_sample() -> None:
    """Before the first decision, without a reading, and without an order that was taken."""
    assert [line.partition("{")[0] for line in shown()] == ["decisions_total"] * 4
    assert shown(ERROR)[4:] == ["replicas 4.0", "ready 4.0"]
    assert "replicas 4.0" in shown(REFUSED)
    unknown = replace(ERROR, replicas=None, ready=None, ordered=None)
    assert shown(unknown)[4:] == []
