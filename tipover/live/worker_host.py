"""Keeps a Locust worker at a master's disposal: a process of its own for every time the master is there."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_LOOK_EVERY_S = 0.1
_ASK_EVERY_S = 0.5
_ASK_FOR_S = 1.0
_POLITE_S = 8.0
_QUICK_S = 10.0
_QUICK_FAILURES = 3

Say = Callable[[str, str], None]
"""Told a state (waiting, serving, gone) and the same in words."""


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How to serve: ``master_host:master_port`` leads, and ``allowed_hosts``, ``below`` (the directory
    outside of which nothing is written) and the metrics are this worker's own affair."""

    master_host: str
    master_port: int
    allowed_hosts: tuple[str, ...] = ()
    below: Path | None = None
    locustfile: Path | None = None
    metrics_host: str = "127.0.0.1"
    metrics_port: int | None = None


class WorkerHost:
    """Waits for the master, lets a fresh Locust worker serve it, and waits again when that has ended.

    A fresh process has nothing left of the run before: no open sockets, no memory, no clock of a master
    that is gone.
    """

    def __init__(self, options: WorkerOptions, say: Say) -> None:
        self._options = options
        self._say = say
        self._stopped = False
        self._failures = 0

    def serve(self) -> int:
        """Serve until SIGTERM or SIGINT; returns an exit code, not 0 if no worker can be started."""
        place = f"{self._options.master_host}:{self._options.master_port}"
        with self._signals():
            while not self._stopped:
                self._say("waiting", f"waiting for a master at {place}")
                if not self._wait_for_master():
                    break
                self._say("serving", f"a master answers at {place}: joining it")
                code = self._serve_once()
                if self._stopped:
                    break
                if self._failures >= _QUICK_FAILURES:
                    self._say("failed", f"the worker cannot be started (exit code {code})")
                    return code
                self._say("gone", f"the master at {place} has ended or is gone")
        return 0

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def note(_number: int, _frame: FrameType | None) -> None:
            self._stopped = True

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _wait_for_master(self) -> bool:
        """Until something listens there; False if we are to stop. A name that does not resolve yet may soon:
        containers are started in any order."""
        while not self._stopped:
            with contextlib.suppress(OSError):
                address = (self._options.master_host, self._options.master_port)
                socket.create_connection(address, _ASK_FOR_S).close()
                return True
            self._sleep(_ASK_EVERY_S)
        return False

    def _serve_once(self) -> int:
        begun_s = time.monotonic()
        process = subprocess.Popen(self._command(), stdin=subprocess.PIPE, start_new_session=True)
        try:
            while process.poll() is None and not self._stopped:
                time.sleep(_LOOK_EVERY_S)
        finally:
            _end(process)
        quick = time.monotonic() - begun_s < _QUICK_S
        # 3 is a run that went wrong, most often a master that was lost.
        failed = process.returncode in (1, 2) and quick
        self._failures = self._failures + 1 if failed else 0
        if not self._stopped:
            self._sleep(_ASK_EVERY_S)  # a master that has just sent us home is about to end
        return process.returncode

    def _sleep(self, seconds: float) -> None:
        end_s = time.monotonic() + seconds
        while not self._stopped and time.monotonic() < end_s:
            time.sleep(_LOOK_EVERY_S)

    def _command(self) -> list[str]:
        options = self._options
        locustfile = options.locustfile or Path(__file__).parent.parent / "locustfile.py"
        command = [sys.executable, "-P", "-m", "tipover.live.worker_generator", "-f", str(locustfile)]
        command += ["--worker", "--master-host", options.master_host]
        command += ["--master-port", str(options.master_port), "--served"]
        if options.allowed_hosts:
            command += ["--allow-host", ",".join(options.allowed_hosts)]
        if options.below is not None:
            command += ["--write-below", str(options.below.absolute())]
        if options.metrics_port is not None:
            command += ["--metrics-port", str(options.metrics_port), "--metrics-host", options.metrics_host]
        return command


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to stop, wait, and kill what is left of its session."""
    if process.poll() is None:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_POLITE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdin is not None:
        process.stdin.close()
