"""``tipover predict`` and ``simulate`` of an autoscaled fleet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tipover.cli import main

ROUTED = """
[service]
pods = 4
rate_per_pod = 40
routing = "random"
[client]
timeout_s = 10
[demand]
utilization = 0.3
phases = [{ name = "baseline", duration_s = 100 }]
"""


def test_first_attempts_never_recover_and_the_others_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "f3-first", "--seeds", "0"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    for said in ("first (this) trapped never", "ingress recovered 265 s 50 2.5 ●", "cpu recovered 764 s"):
        assert said in out
    assert "it NEVER recovers by itself, at 20 pods" in out
    assert "Pair them with ingress" in out
    assert "after the trigger ends" not in out
    assert "demand has to fall below" not in out, "C/A is no limit for a capacity that follows"


def test_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "f4-paired", "--seeds", "10", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["outcome"] == "recovered"
    assert answer["values"]["peak_pods"] == 50
    assert answer["bands"]["outcomes"] == {"recovered": 10}
    assert answer["threshold"] == {"utilization": pytest.approx(1 / 3), "demand_per_s": None}
    own = [point for point in answer["signals"]["points"] if point["own"]]
    assert [point["signals"] for point in own] == [["first", "ingress"]]
    assert own[0]["on_frontier"]


def test_without_a_fleet_there_are_no_signals(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "f2-40", "--seeds", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["signals"] is None


def test_the_forecast_of_a_fleet_is_drawn(tmp_path: Path) -> None:
    file = tmp_path / "forecast.png"
    assert main(["predict", "f3-ingress", "--seeds", "0", "--plot", str(file)]) == 0
    assert file.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("command", [["simulate"], ["predict", "--seeds", "10"]])
def test_queues_of_their_own_are_not_simulated(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "routed.toml"
    file.write_text(ROUTED)
    assert main([command[0], str(file), *command[1:]]) == 2
    assert "service.routing: cannot be simulated" in capsys.readouterr().err


def test_without_seeds_they_are_predicted_with_a_note(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "routed.toml"
    file.write_text(ROUTED)
    assert main(["predict", str(file)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "With a queue for each (random)" in out
    assert "Not simulated: too long" not in out
