"""Child processes that end when told to, and never outlive the run."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

_POLITE_S = 8.0


class Child:
    """A Python child in a session of its own, so that Ctrl-C reaches only the conductor.

    Its standard input is a pipe from us: when we are gone, however we went, the child reads the end of
    it. Its output goes to ``log``. ``environ`` is added to our own environment.
    """

    def __init__(
        self,
        name: str,
        arguments: Sequence[str],
        log: Path,
        *,
        stdout: int | None = None,
        pass_fds: Sequence[int] = (),
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.log = log
        with log.open("ab") as stream:
            self.process = subprocess.Popen(
                [sys.executable, *arguments],
                stdin=subprocess.PIPE,
                stdout=stream if stdout is None else stdout,
                stderr=stream,
                start_new_session=True,
                pass_fds=tuple(pass_fds),
                env=None if environ is None else {**os.environ, **environ},
            )

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def exit_code(self) -> int | None:
        """Its exit code, None while it runs, negative for a signal."""
        return self.process.poll()

    def terminate(self) -> None:
        """Ask it to stop (SIGTERM); returns at once."""
        if self.process.poll() is None:
            self.process.terminate()

    def stop(self) -> None:
        """Ask it to stop, wait, and kill whatever is left of its session."""
        self.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(_POLITE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def last_words(self, lines: int = 5) -> str:
        """The end of its log, to show when it failed."""
        try:
            return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
        except OSError:
            return ""
