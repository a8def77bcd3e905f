"""Where compiled code is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "import analysis.compiled, numba; print(numba.config.CACHE_DIR)"


def cache_directory(**environment: str | None) -> Path:
    """Where a new process with this environment keeps its compiled code."""
    env = {k: v for k, v in os.environ.items() if k not in ("XDG_CACHE_HOME", "NUMBA_CACHE_DIR")}
    env |= {k: v for k, v in environment.items() if v is not None}
    for name in (k for k, v in environment.items() if v is None):
        env.pop(name, None)
    run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    return Path(run.stdout.strip())


def test_a_state_of_the_rules_has_a_directory_of_its_own(tmp_path: Path) -> None:
    directory = cache_directory(XDG_CACHE_HOME=str(tmp_path))
    assert directory.parent == tmp_path / "tipover" / "compiled"
    assert directory.is_dir()


@pytest.mark.parametrize("given", ["relative", ""])
def test_a_relative_cache_home_is_ignored(given: str, tmp_path: Path) -> None:
    directory = cache_directory(XDG_CACHE_HOME=given, HOME=str(tmp_path))
    assert directory.parent == tmp_path / ".cache" / "tipover" / "compiled"


def test_without_a_place_to_keep_it_nothing_is_left_behind(tmp_path: Path) -> None:
    """A cache home that is a file, as good as one that cannot be written."""
    blocked = tmp_path / "file"
    blocked.touch()
    directory = cache_directory(XDG_CACHE_HOME=str(blocked), TMPDIR=str(tmp_path))
    assert directory.parent == tmp_path
    assert not directory.exists()


def test_old_states_are_forgotten_and_odd_entries_do_no_harm(tmp_path: Path) -> None:
    parent = tmp_path / "tipover" / "compiled"
    (parent / "old").mkdir(parents=True)
    (parent / "dangling").symlink_to(tmp_path / "nowhere")
    os.utime(parent / "old", (0, 0))
    assert cache_directory(XDG_CACHE_HOME=str(tmp_path)).parent == parent
    assert not (parent / "old").exists()
