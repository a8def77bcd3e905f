"""Programs that scale what they manage, run without a shell and never for longer than they may."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Sequence

from tipover.autoscaling.targets.scale import ScaleError

LOOK_WITHIN_S = 10.0
ORDER_WITHIN_S = 60.0


class Runner:
    """Runs one program at a time, in a session of its own, so that it can be ended with all it started."""

    def __init__(self) -> None:
        self._running: subprocess.Popen[str] | None = None
        self._stopped = False
        self._lock = threading.Lock()

    def run(self, command: Sequence[str], within_s: float) -> str:
        """What the program says on its standard output; raises ``ScaleError`` unless it ends with 0."""
        words = " ".join(command)
        process = self._start(command)
        try:
            out, complaint = process.communicate(timeout=within_s)
        except subprocess.TimeoutExpired as error:
            raise ScaleError(f"not done within {within_s:g} s: {words}") from error
        except UnicodeDecodeError as error:
            raise ScaleError(f"says what is no text: {words}") from error
        finally:
            self._end(process)
        if process.returncode != 0:
            said = (complaint.strip() or out.strip()).splitlines()
            raise ScaleError(f"exit status {process.returncode} of {words}{_last(said)}")
        return out

    def stop(self) -> None:
        """End what runs, and start nothing more."""
        with self._lock:
            self._stopped = True
            running = self._running
        if running is not None:
            _kill(running)

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        with self._lock:
            if self._stopped:
                raise ScaleError("the autoscaler is stopping")
            try:
                self._running = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
            except OSError as error:
                raise ScaleError(f"cannot be run: {command[0]}: {error.strerror}") from error
            return self._running

    def _end(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._running = None
        if process.poll() is None:
            _kill(process)
            process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


def _kill(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _last(lines: Sequence[str]) -> str:
    """The last thing it said, in one short line."""
    return ": " + "".join(c if c.isprintable() else " " for c in lines[-1])[:200] if lines else ""
