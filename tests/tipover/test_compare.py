"""``tipover compare``: runs side by side, from their directories alone."""

from __future__ import annotations

import json
from dataclasses import replace
from operator import sub
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from analysis.plots.side_by_side import OPACITY
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from tests.analysis.fifo import simulate
from tests.analysis.run_files import write_run
from tipover.cli import main

STORM = Experiment(
    name="storm",
    title="A storm",
    client=Client(timeout_s=10.0, max_attempts=3),
    demand=Demand(90.0, (Phase("before", 30.0), Phase("spike", 30.0, 4.0), Phase("watch", 200.0))),
    service=Service(4, 50.0),
    run=RunSettings(10.0, 1),
)
ONCE = replace(STORM, client=replace(STORM.client, max_attempts=1))


def run_of(directory: Path, experiment: Experiment, **changes: Any) -> str:
    """A run directory as a live run of the experiment leaves it."""
    return str(write_run(directory, experiment, simulate(experiment), **changes))


@pytest.fixture
def two(tmp_path: Path) -> list[str]:
    """The storm with three attempts and with one."""
    return [run_of(tmp_path / "three", STORM), run_of(tmp_path / "once", ONCE)]


def compared(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    """What ``--json`` answers."""
    assert main(["compare", *arguments, "--json"]) == 0
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def test_settings_that_differ_and_results_stand_side_by_side(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the order given, one column a run."""
    assert main(["compare", *two, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    lines = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
    assert lines["client.max_attempts"] == ["3", "1"]
    assert lines["outcome"] == ["trapped", "recovered"]
    assert lines["valid"] == ["yes", "yes"]
    assert lines["recovery_s"][0] == "–"
    assert float(lines["recovery_s"][1]) > 0
    assert "client.timeout_s" not in lines
    for ending in ("json", "html", "png"):
        assert (tmp_path / "out" / f"compare.{ending}").stat().st_size > 500


def test_json_has_the_numbers(two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Settings as they are in the scenario, results by run."""
    answer = compared(capsys, *two, "--out", str(tmp_path / "out"))
    assert answer["differing"] == {"client.max_attempts": [3, 1]}
    assert [run["name"] for run in answer["runs"]] == ["three", "once"]
    assert [run["score"]["outcome"] for run in answer["runs"]] == ["trapped", "recovered"]
    assert answer["runs"][0]["measured"]["amplification"] == pytest.approx(3.0)
    assert answer["notes"] == []
    files = answer.pop("files")
    assert json.loads(Path(files[0]).read_text()) == answer


def test_the_picture_has_a_line_for_each_run(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of goodput and of the backlog, in colours that the page shows with it."""
    compared(capsys, *two, "--out", str(tmp_path / "out"))
    picture = Image.open(tmp_path / "out" / "compare.png").convert("RGB")
    assert picture.width >= 1200
    counts = {colour: n for n, colour in picture.getcolors(1 << 20) or []}
    for line in ((0xD5, 0x5E, 0x00), (0x00, 0x72, 0xB2)):
        on_white = tuple(OPACITY * part + (1 - OPACITY) * 255 for part in line)
        near = [n for colour, n in counts.items() if max(map(abs, map(sub, colour, on_white))) < 16]
        assert sum(near) > 500
    page = (tmp_path / "out" / "compare.html").read_text()
    assert "data:image/png;base64," in page
    assert "three: trapped; once: recovered" in page


def test_runs_of_different_scenarios_are_said_to_be(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may be compared all the same."""
    other = run_of(tmp_path / "other", replace(ONCE, name="breeze"))
    answer = compared(capsys, two[0], other, "--out", str(tmp_path / "out"))
    assert answer["notes"] == ["These are runs of different scenarios: storm, breeze."]


def test_an_invalid_run_is_marked(two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the table, in a note with its reason, and in the picture's title."""
    late = run_of(tmp_path / "late", ONCE, worker={"lag_p99_s": 9.0, "lag_max_s": 9.5})
    assert main(["compare", two[0], late, "--out", str(tmp_path / "out")]) == 0
    said = capsys.readouterr().out
    assert "late is INVALID" in said
    lines = {line.split()[0]: line.split()[1:] for line in said.splitlines() if line.strip()}
    assert lines["valid"] == ["yes", "INVALID"]
    assert "late: INVALID" in (tmp_path / "out" / "compare.html").read_text()


def test_runs_of_the_same_name_are_told_apart(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By as much of their paths as it takes."""
    again = run_of(tmp_path / "later" / "three", STORM)
    answer = compared(capsys, two[0], again, "--out", str(tmp_path / "out"))
    names = [run["name"] for run in answer["runs"]]
    assert names == [f"{tmp_path.name}/three", "later/three"]
    assert answer["differing"] == {}


def test_too_few_runs_are_refused(two: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """None, one, or one twice."""
    for given in ([], two[:1], [two[0], two[0]]):
        assert main(["compare", *given, "--json"]) == 2
        assert {f["field"] for f in json.loads(capsys.readouterr().out)["faults"]} == {"RUN"}


def test_every_directory_that_is_no_run_is_named(
    two: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At once, and nothing is written."""
    out = tmp_path / "out"
    (tmp_path / "empty").mkdir()
    given = [two[0], str(tmp_path / "empty"), str(tmp_path / "absent")]
    assert main(["compare", *given, "--out", str(out), "--json"]) == 2
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [fault["value"] for fault in faults] == given[1:]
    assert not out.exists()
