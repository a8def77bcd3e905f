"""A file that ends the load."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from domain.errors import ConfigurationError, ExitCode
from tipover.trigger.guards.stop_file import StopFile


def test_the_file_stops_as_soon_as_it_is_there(tmp_path: Path) -> None:
    brake = StopFile(tmp_path / "STOP")
    brake.refuse_if_present()
    assert brake.tripped() is None
    (tmp_path / "STOP").touch()
    assert str(tmp_path / "STOP") in (brake.tripped() or "")


@pytest.mark.parametrize("kind", ["file", "directory", "dangling link", "pipe"])
def test_whatever_bears_the_name_stops_and_is_refused_before_the_start(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "STOP"
    {
        "file": path.touch,
        "directory": path.mkdir,
        "dangling link": lambda: path.symlink_to("nowhere"),
        "pipe": lambda: os.mkfifo(path),
    }[kind]()
    assert StopFile(path).tripped() is not None
    with pytest.raises(ConfigurationError, match="is there already") as caught:
        StopFile(path).refuse_if_present()
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert str(path) in str(caught.value)


def test_the_place_stays_where_it_was_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever changes the directory later does not lose the brake."""
    monkeypatch.chdir(tmp_path)
    brake = StopFile("STOP")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    (tmp_path / "STOP").touch()
    assert brake.tripped() is not None


def test_a_brake_that_could_never_be_pulled_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="directory that does not exist"):
        StopFile(tmp_path / "absent" / "STOP").refuse_if_present()


def test_a_place_that_cannot_be_looked_at_stops(tmp_path: Path) -> None:
    """Fails towards no load: here a name that is too long for the file system, and a file for a directory."""
    assert "cannot be looked for" in (StopFile(tmp_path / ("S" * 300)).tripped() or "")
    (tmp_path / "file").touch()
    assert StopFile(tmp_path / "file" / "STOP").tripped() is not None
