"""``tipover matrix``: the files it writes, what it prints, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from analysis.mitigations.catalogue import CATALOGUE
from domain.errors import TipoverError
from domain.sockets import SocketLimits
from tipover.cli import main

TINY = """
title = "a tiny trap"
[service]
pods = 2
rate_per_pod = 40.0
[client]
timeout_s = 10.0
max_attempts = 3
[demand]
utilization = 0.45
phases = [
  { name = "before", duration_s = 30 },
  { name = "spike", duration_s = 40, factor = 5.0 },
  { name = "watch", duration_s = 150 },
]
[run]
speedup = 10.0
"""


@pytest.fixture
def scenario(tmp_path: Path) -> str:
    file = tmp_path / "tiny.toml"
    file.write_text(TINY)
    return str(file)


def test_a_matrix_is_printed_and_written(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One table fit for a terminal, and four files."""
    out = tmp_path / "out"
    names = "none,full-jitter,queue-cap"
    assert main(["matrix", scenario, "--seeds", "2", "--only", names, "--out", str(out)]) == 0
    said = capsys.readouterr().out
    lines = said.splitlines()
    assert lines[1].startswith("Most jobs due in trigger and watch were answered in time with queue-cap: ")
    for name in ("none", "full-jitter", "queue-cap"):
        assert sum(line.startswith(f"{name} ") for line in lines) == 2
    assert max(map(len, lines[:-4])) <= 120
    for ending in ("json", "md", "html", "png"):
        assert (out / f"matrix.{ending}").stat().st_size > 500
        assert f"{ending}: {(out / f'matrix.{ending}').resolve()}" in said


def test_json_is_what_the_file_holds(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And where the files are."""
    out = tmp_path / "out"
    assert main(["matrix", scenario, "--seeds", "2", "--only", "queue-cap", "--out", str(out), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    files = answer.pop("files")
    assert answer == json.loads(Path(files[0]).read_text())
    none, cap = answer["rows"]
    assert none["outcomes"] == {"trapped": 2}
    assert none["values"]["amplification"] == pytest.approx(3.0, rel=0.05)
    assert set(cap["outcomes"]) <= {"healthy", "recovered"}
    assert answer["seeds"] == [1, 2]


def test_without_out_it_goes_below_runs(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Under the scenario's name; the scenario's own seed may be replaced."""
    monkeypatch.chdir(tmp_path)
    assert main(["matrix", scenario, "--seeds", "1", "--seed", "7", "--only", "none"]) == 0
    data = json.loads((tmp_path / "runs" / "matrix-tiny" / "matrix.json").read_text())
    assert data["seeds"] == [7]


def test_the_mitigations_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a scenario, as a table or as JSON."""
    assert main(["matrix", "--list"]) == 0
    table = capsys.readouterr().out
    assert main(["matrix", "--list", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["mitigations"]
    assert [entry["name"] for entry in listed] == list(CATALOGUE)
    assert all(f"\n{name} " in f"\n{table}" for name in CATALOGUE)


@pytest.mark.parametrize(
    ("arguments", "fields"),
    [
        ([], {"SCENARIO"}),
        (["f2-40", "--seeds", "0"], {"--seeds"}),
        (["f2-40", "--only", "lifo,nonsense", "--skip", "rubbish"], {"--only", "--skip"}),
        (["nonsense", "--only", "lifo"], {"scenario"}),
        (["f2-40", "--only", ","], {"--only"}),
        (["f2-40", "--only", "lifo", "--skip", " ,"], {"--skip"}),
        (["f2-40", "--only", "lifo", "--skip", "lifo"], {"--skip"}),
    ],
)
def test_bad_input_is_refused(
    arguments: list[str], fields: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Every fault at once, before anything is simulated."""
    assert main(["matrix", *arguments, "--json"]) == 2
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert {fault["field"] for fault in faults} == fields


def test_an_unknown_name_is_answered_with_the_known(capsys: pytest.CaptureFixture[str]) -> None:
    """So that nobody has to look them up."""
    assert main(["matrix", "f2-40", "--only", "nonsense"]) == 2
    said = capsys.readouterr().err
    assert "'nonsense'" in said
    assert all(name in said for name in CATALOGUE)


def test_a_file_is_no_directory_to_write_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is left as it is."""
    file = tmp_path / "out"
    file.write_text("mine")
    assert main(["matrix", "f2-40", "--only", "none", "--out", str(file)]) == 2
    assert "--out" in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.parametrize("named", [True, False])
def test_a_run_s_directory_is_left_to_the_run(
    named: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Named or the default, before anything is simulated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("analysis.mitigations.matrix.simulate_matrix", None)
    run = Path("runs", "mine" if named else "matrix-f2-40")
    run.mkdir(parents=True)
    (run / "run.json").write_text("{}")
    arguments = ["--only", "none", *(["--out", str(run)] if named else [])]
    assert main(["matrix", "f2-40", *arguments]) == 2
    assert "--out" in capsys.readouterr().err
    assert [file.name for file in run.iterdir()] == ["run.json"]


def test_a_service_of_somebody_else_cannot_be_simulated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its capacity is not known."""
    file = tmp_path / "foreign.toml"
    file.write_text(
        "[client]\ntimeout_s = 1\n[demand]\narrival_rate_per_s = 9\n"
        'phases = [{ name = "a", duration_s = 9 }]\n'
    )
    assert main(["matrix", str(file)]) == 2
    assert "service" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("ends_with", "code", "note"),
    [
        (KeyboardInterrupt(), 130, "Interrupted: 0 of 1 live runs were made."),
        (TipoverError("the disk is full"), 3, "0 of 1 live runs were made; none: the disk is full"),
    ],
)
def test_what_ends_the_live_runs_leaves_what_is_simulated(
    ends_with: BaseException,
    code: int,
    note: str,
    scenario: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The files are written, with a note; the exit status says that something is missing."""

    def ended(*_: object, **__: object) -> None:
        raise ends_with

    monkeypatch.setattr("tipover.live.conductor.run_experiment", ended)
    out = tmp_path / "out"
    arguments = ["--seeds", "1", "--only", "none", "--live", "--out", str(out), "--json"]
    assert main(["matrix", scenario, *arguments]) == code
    answer = json.loads(capsys.readouterr().out)
    assert answer["notes"] == [note]
    assert answer["rows"][0]["outcomes"] == {"trapped": 1}
    assert answer["rows"][0]["live"] is None
    assert (out / "matrix.html").is_file()


def test_live_runs_that_do_not_fit_the_machine_are_refused_first(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not after minutes of simulation: which of them, and why."""
    monkeypatch.setattr("loadgen.limits.machine_limits", lambda _: SocketLimits(500, 28000, 1.0))
    arguments = ["--only", "lifo", "--live", "--out", str(tmp_path / "out"), "--json"]
    monkeypatch.setattr("analysis.mitigations.matrix.simulate_matrix", None)
    assert main(["matrix", scenario, *arguments]) == 2
    faults = json.loads(capsys.readouterr().out)["faults"]
    assert [fault["field"] for fault in faults] == ["none: file descriptors", "lifo: file descriptors"]
    assert not (tmp_path / "out").exists()


@pytest.mark.sockets
def test_the_storm_is_run_live_beside_the_simulated_one(
    scenario: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two runs of 22 s: their directories are kept, their outcomes stand beside those of the seeds.

    A machine too busy for a run makes it invalid, which is shown and neither agrees nor disagrees.
    """
    out = tmp_path / "out"
    arguments = ["--seeds", "5", "--only", "queue-cap", "--live", "--out", str(out), "--json"]
    assert main(["matrix", scenario, *arguments]) == 0
    streams = capsys.readouterr()
    assert "2 live runs of 32 s each: about 1 min 4 s" in streams.err
    for entry in json.loads(streams.out)["rows"]:
        directory = out / "live" / entry["name"]
        assert entry["live"]["directory"] == str(directory)
        assert (directory / "report.html").is_file()
        assert entry["agrees"] is (True if entry["live"]["valid"] else None), entry["live"]
