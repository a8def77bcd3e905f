"""One run directory for the master and all its workers, wherever they run: it must be the same, at one path.

The master leaves a mark in it whose content only this run's orders tell. A worker writes only where it finds
that mark: so it sees that the directory is shared and not another one of the same name, and a stranger who
talks to it cannot have it write where he cannot write himself.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from domain.errors import ConfigurationError, Fault, TipoverError
from domain.trace import ATTEMPTS_DIRECTORY

GENERATOR_DIRECTORY = "generator"
_MARK = "shared"


def new_mark() -> str:
    """A run's mark, which nobody guesses."""
    return secrets.token_hex(16)


def leave_mark(directory: Path, mark: str) -> None:
    """Make the folders of a trace and leave the mark; raises ``TipoverError`` if that cannot be written."""
    try:
        for folder in (ATTEMPTS_DIRECTORY, GENERATOR_DIRECTORY):
            (directory / folder).mkdir(parents=True, exist_ok=True)
        _mark_of(directory).write_text(mark)
    except OSError as error:
        raise TipoverError(f"the run directory cannot be written: {error}") from error


def remove_mark(directory: Path) -> None:
    """Take the mark away again, if it can be."""
    try:
        _mark_of(directory).unlink(missing_ok=True)
    except OSError:
        return


def check_shared(directory: Path, mark: str, within: Path | None = None) -> None:
    """Raise ``ConfigurationError`` unless this process sees the master's run directory and can write there.

    ``within`` is a directory outside of which nothing is written.
    """
    if within is not None and not directory.resolve().is_relative_to(within.resolve()):
        rule = f"must be below this worker's --out {within}"
        raise _refused(Fault("run directory", rule, str(directory)))
    try:
        found = _mark_of(directory).read_text()
    except (OSError, ValueError):
        found = ""
    if not secrets.compare_digest(found.encode(), mark.encode()):
        rule = (
            "must be the master's own, shared with this worker at the same path (a volume mounted in both): "
            "the mark that the master has left there is not here"
        )
        raise _refused(Fault("run directory", rule, str(directory)))
    for folder in (ATTEMPTS_DIRECTORY, GENERATOR_DIRECTORY):
        _check_writable(directory / folder)


def _check_writable(folder: Path) -> None:
    probe = folder / f".{secrets.token_hex(8)}.partial"
    try:
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        rule = f"must be writable for this worker (user {os.getuid()}): {error.strerror}"
        raise _refused(Fault("run directory", rule, str(folder))) from error


def _mark_of(directory: Path) -> Path:
    return directory / GENERATOR_DIRECTORY / _MARK


def _refused(fault: Fault) -> ConfigurationError:
    return ConfigurationError("the trace cannot be written; nothing was sent", [fault])
