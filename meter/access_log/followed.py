"""A file that grows, is rotated and is truncated under its reader: ``tail -F`` as an object.

Nothing here waits: ``read`` gives what there is. Time is an argument.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

from domain.errors import ConfigurationError, Fault
from meter.access_log.lines import LineBuffer

PIECE_BYTES = 1 << 18
PIECES_AT_ONCE = 4
"""A read takes 1 MiB at most, so that one file's past starves neither the others nor a stop."""
GRACE_S = 10.0
"""A rotated file is read until nothing has come for so long: its writer keeps to it until it is told."""


@dataclass(slots=True)
class _Open:
    """One open file and the piece of a line at its end."""

    descriptor: int
    identity: tuple[int, int]
    regular: bool
    position: int = 0
    lines: LineBuffer = field(default_factory=LineBuffer)

    def skip_to_end(self) -> None:
        self.position = os.lseek(self.descriptor, 0, os.SEEK_END)
        ends_whole = self.position == 0 or os.pread(self.descriptor, 1, self.position - 1) == b"\n"
        self.lines.forget(within_a_line=not ends_whole)

    def new_lines(self) -> list[bytes]:
        if self.regular and os.fstat(self.descriptor).st_size < self.position:
            os.lseek(self.descriptor, 0, os.SEEK_SET)
            self.position = 0
            self.lines.forget()
        found: list[bytes] = []
        for _ in range(PIECES_AT_ONCE):
            try:
                data = os.read(self.descriptor, PIECE_BYTES)
            except OSError:  # a pipe whose writer is there and says nothing, or a file system that fails
                break
            if not data:
                break
            self.position += len(data)
            found += self.lines.fed(data)
        return found


class FollowedFile:
    """The file at ``path``, whichever that is at the moment; it need not exist yet.

    What is there when it is first opened is passed over, unless ``from_start``; a file that appears later is
    read from its beginning. Raises ConfigurationError if there is something that cannot be read as a file.
    """

    def __init__(self, path: Path, *, from_start: bool = False) -> None:
        self.path = path
        self._current: _Open | None = None
        self._rotated: list[tuple[float, _Open]] = []
        try:
            self._current = _opened(path)
        except FileNotFoundError:
            return
        except OSError as error:
            faults = [Fault("--tail", str(error.strerror), str(path))]
            raise ConfigurationError("the log cannot be followed", faults) from error
        if self._current.regular and not from_start:
            self._current.skip_to_end()

    @property
    def is_open(self) -> bool:
        """Whether there is such a file."""
        return self._current is not None

    def read(self, now_s: float) -> list[bytes]:
        """The lines that have been completed since the last call, in the order of each file."""
        found = []
        kept = []
        for until_s, old in self._rotated:
            late = old.new_lines()
            found += late
            if late or now_s < until_s:
                kept.append((now_s + GRACE_S if late else until_s, old))
            else:
                os.close(old.descriptor)
        self._rotated = kept
        if self._is_another() and self._current is not None:
            found += self._current.new_lines()
            self._rotated.append((now_s + GRACE_S, self._current))
            self._current = None
        if self._current is None:
            try:
                self._current = _opened(self.path)
            except OSError:  # not there yet, or not readable yet: as long as it takes
                return found
        return found + self._current.new_lines()

    def close(self) -> None:
        """Let go of every file."""
        for old in [old for _, old in self._rotated] + ([self._current] if self._current else []):
            os.close(old.descriptor)
        self._current, self._rotated = None, []

    def _is_another(self) -> bool:
        try:
            there = self.path.stat()
        except OSError:  # renamed, and no new one yet: the old one may still grow
            return False
        return self._current is not None and self._current.identity != (there.st_dev, there.st_ino)


def _opened(path: Path) -> _Open:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a pipe without writers opens too
    about = os.fstat(descriptor)
    if stat.S_ISDIR(about.st_mode):
        os.close(descriptor)
        raise IsADirectoryError(21, "is a directory", str(path))
    return _Open(descriptor, (about.st_dev, about.st_ino), stat.S_ISREG(about.st_mode))
