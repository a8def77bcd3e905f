"""What keeps a trigger test from beginning: nothing is sent, and nothing that is there is touched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from domain.errors import ExitCode, InvalidRunError
from tests.servers import serving
from tests.tipover.trigger.guards.answers import answering
from tipover.cli import main
from tipover.live.record import DirectoryRecord
from tipover.trigger.conductor import Conductor

pytestmark = pytest.mark.sockets


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a user's record of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPOVER_AUDIT", str(tmp_path / "users.jsonl"))


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A directory that holds an earlier test."""
    directory = tmp_path / "earlier"
    directory.mkdir()
    (directory / "run.json").write_text('{"state": "finished"}')
    (directory / "trigger.json").write_text("the only one")
    return directory


@contextmanager
def unloaded() -> Iterator[str]:
    """A service that must not be asked anything."""
    with serving(answering(200, b"ok")) as log:
        yield f"http://127.0.0.1:{log.port}"
        assert log.requests == []


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one document that the refusal of these arguments is."""
    assert main(["trigger", *arguments, "--json"]) == ExitCode.CONFIGURATION
    text = capsys.readouterr().out
    assert json.loads(text)["exit_code"] == 2
    return text


def untouched(directory: Path) -> bool:
    """Whether the earlier test is still whole and no new one has begun in its place."""
    names = {path.name for path in directory.iterdir()} - {"STOP"}
    return (
        names == {"run.json", "trigger.json"} and (directory / "trigger.json").read_text() == "the only one"
    )


def test_a_stop_file_in_the_directory_to_be_replaced(
    earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is nobody's of ours, so it would stay there, and stop the new test at once."""
    (earlier / "STOP").touch()
    with unloaded() as url:
        said = refused(capsys, "--url", url, "--capacity", "50", "--out", str(earlier), "--replace")
    assert "is there already" in said
    assert untouched(earlier)


def test_a_bystander_that_is_ill_already(earlier: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Found out before the earlier test is removed and before the record says that a load began."""
    with serving(answering(503)) as ill, unloaded() as url:
        watched = ("--health-url", f"http://127.0.0.1:{ill.port}/h")
        said = refused(capsys, "--url", url, "--capacity", "50", *watched, "--out", str(earlier), "--replace")
    assert "must be well before anything is sent" in said
    assert untouched(earlier)
    assert not Path("users.jsonl").exists()


def test_a_directory_in_which_a_test_is_going_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``--replace`` would take it away from under that test."""
    going_on = DirectoryRecord(tmp_path / "busy", "first", {}, replace=False)
    with unloaded() as url:
        said = refused(capsys, "--url", url, "--capacity", "50", "--out", "busy", "--replace")
    assert "a run is going on there" in said
    going_on.finish("finished")
    assert json.loads((tmp_path / "busy" / "run.json").read_text())["name"] == "first"


def test_a_directory_that_holds_no_test(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With ``--replace`` too, whatever it is."""
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "holiday.jpg").write_text("precious")
    with unloaded() as url:
        said = refused(capsys, "--url", url, "--capacity", "50", "--out", "photos", "--replace")
    assert "is not empty and holds no run" in said
    assert (tmp_path / "photos" / "holiday.jpg").read_text() == "precious"


def test_a_test_that_fails_at_once_says_so_everywhere(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the answer, in both records of the audit and in the record of the run; and no secret in any."""

    def fail(_self: Conductor) -> None:
        raise InvalidRunError("the machine is too small")

    monkeypatch.setattr(Conductor, "run", fail)
    header = ("-H", "Authorization: Bearer hunter2")
    with unloaded() as url:
        arguments = ["trigger", "--url", url, "--capacity", "50", *header, "--out", "new", "--json"]
        monkeypatch.setattr("sys.argv", ["tipover", *arguments])
        assert main(arguments) == ExitCode.INVALID_RUN
    answer = json.loads(capsys.readouterr().out)
    assert (answer["exit_code"], answer["invalid_reasons"]) == (3, ["the machine is too small"])
    for file in (Path("users.jsonl"), Path("new") / "audit.jsonl"):
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [line["audit"] for line in lines] == ["begin", "end"]
        assert lines[1]["sent"]["attempts"] == 0
    run = json.loads((Path("new") / "run.json").read_text())
    assert (run["state"], run["harness_faults"]) == ("failed", ["the machine is too small"])
    assert "trigger" in run["command"]
    written = [path for path in Path().rglob("*") if path.is_file()]
    assert len(written) > 5
    assert not [path for path in written if b"hunter2" in path.read_bytes()]


def test_a_target_that_nobody_allowed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An address that is not this machine, of the load or of the probes; ``--yes`` is no entry."""
    with unloaded() as url:
        for where in (("--url", "http://192.0.2.1"), ("--url", url, "--probe-url", "http://192.0.2.1")):
            assert "has no entry" in refused(capsys, *where, "--capacity", "50", "--yes", "--out", "new")
    assert not (tmp_path / "new").exists()
