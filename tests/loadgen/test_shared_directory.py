"""A worker writes its trace only where the master's mark is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from domain.errors import ConfigurationError
from loadgen.shared_directory import check_shared, leave_mark, new_mark, remove_mark


def test_a_marked_directory_is_shared_and_stays_as_it_was(tmp_path: Path) -> None:
    """The check leaves nothing behind, and the mark can be taken away."""
    mark = new_mark()
    leave_mark(tmp_path, mark)
    check_shared(tmp_path, mark)
    check_shared(tmp_path, mark, within=tmp_path.parent)
    assert [path.name for path in tmp_path.glob("*/*")] == ["shared"]
    remove_mark(tmp_path)
    remove_mark(tmp_path)
    assert not list(tmp_path.glob("*/*"))


def test_a_directory_of_the_same_name_is_another_one(tmp_path: Path) -> None:
    """No mark, or that of another run: refused, and nothing is made."""
    with pytest.raises(ConfigurationError, match="shared with this worker at the same path"):
        check_shared(tmp_path / "run", new_mark())
    assert not list(tmp_path.iterdir())
    leave_mark(tmp_path, new_mark())
    with pytest.raises(ConfigurationError, match="mark"):
        check_shared(tmp_path, new_mark())


def test_nothing_is_written_outside_of_what_the_worker_allows(tmp_path: Path) -> None:
    """A link out of the allowed directory leads nowhere."""
    mark, outside, inside = new_mark(), tmp_path / "outside", tmp_path / "inside"
    leave_mark(outside, mark)
    inside.mkdir()
    (inside / "run").symlink_to(outside)
    for place in (outside, inside / "run", inside / ".." / "outside"):
        with pytest.raises(ConfigurationError, match="must be below"):
            check_shared(place, mark, within=inside)


def test_a_directory_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    """As when the master is root and the worker is not; a file in the folder's place stands for that."""
    mark = new_mark()
    leave_mark(tmp_path, mark)
    (tmp_path / "attempts").rmdir()
    (tmp_path / "attempts").write_text("no directory")
    with pytest.raises(ConfigurationError, match=rf"must be writable for this worker \(user {os.getuid()}\)"):
        check_shared(tmp_path, mark)
