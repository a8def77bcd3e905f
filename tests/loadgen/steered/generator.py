"""The real generator process of a trigger test, steered by a test instead of the conductor."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.trace import read_trace
from domain.experiment import Client
from domain.request_mix import RequestMix
from domain.trigger.messages import (
    BEAT_EVERY_S,
    Command,
    End,
    Line,
    Obeyed,
    ProbeLine,
    Started,
    Stopped,
    Tick,
    line_from_json,
    message_to_json,
)
from domain.trigger.plan import Ceiling, Probing, Target, TriggerPlan
from domain.trigger.plan_json import plan_to_json

LOCUSTFILE = Path(__file__).parents[3] / "tipover" / "trigger" / "locustfile.py"
PATIENCE_S = 20.0


def a_plan(
    port: int,
    client: Client | None = None,
    *,
    ceiling: Ceiling | None = None,
    probing: Probing | None = None,
    mix: RequestMix | None = None,
) -> TriggerPlan:
    """A plan for a port of 127.0.0.1."""
    return TriggerPlan(
        "steered",
        Target(f"http://127.0.0.1:{port}", "127.0.0.1"),
        client or Client(timeout_s=0.3, max_attempts=2),
        mix=mix or RequestMix(),
        probing=probing or Probing(patience_s=PATIENCE_S),
        ceiling=ceiling or Ceiling(),
    )


def command_line(
    plan: TriggerPlan, folder: Path, commands_fd: int, lines_fd: int, locustfile: Path
) -> list[str]:
    """How the conductor starts the generator."""
    path = folder / "plan.json"
    path.write_text(json.dumps(plan_to_json(plan)))
    command = [sys.executable, "-m", "locust", "-f", str(locustfile), "--headless", "--only-summary"]
    command += ["--users", "1", "--host", plan.target.url, "--trigger-plan", str(path)]
    command += ["--out", str(folder / "out"), "--commands-fd", str(commands_fd)]
    return [*command, "--progress-fd", str(lines_fd)]


@dataclass
class Steered:
    """A running generator: commands go in, lines come out."""

    process: subprocess.Popen[str]
    out: Path
    commands: int
    lines_fd: int

    def __post_init__(self) -> None:
        self.lines: list[Line] = []
        self.beating = True
        self.reading = True
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._closing = False
        for work in (self._beat, self._read):
            threading.Thread(target=work, daemon=True).start()

    def tell(self, *commands: Command) -> None:
        """Send commands."""
        for command in commands:
            self._write(message_to_json(command))

    def of(self, kind: type) -> list[Any]:
        """The lines of one kind so far."""
        return [line for line in list(self.lines) if isinstance(line, kind)]

    @property
    def tick(self) -> Tick:
        """The last one."""
        return self.of(Tick)[-1]  # type: ignore[no-any-return]

    def until(self, condition: Callable[[Tick], Any], timeout_s: float = 30) -> Tick:
        """The first tick that comes from now on of which this is true."""
        seen, end = len(self.lines), time.monotonic() + timeout_s
        while time.monotonic() < end:
            for line in self.lines[seen:]:
                if isinstance(line, Tick) and condition(line):
                    return line
            assert self.process.poll() is None, self.process.communicate()[1]
            time.sleep(0.01)
        raise AssertionError(f"not within {timeout_s} s; the last tick: {self.tick}")

    def obeyed(self, phase: str, timeout_s: float = 10) -> float:
        """When the command of this phase took effect."""
        end = time.monotonic() + timeout_s
        while time.monotonic() < end:
            for line in self.of(Obeyed):
                if line.command.get("phase") == phase:
                    return float(line.t_s)
            time.sleep(0.01)
        raise AssertionError(f"{phase} was not obeyed")

    def end(self) -> Stopped:
        """End the test as the conductor does."""
        self.tell(End())
        return self.ended()

    def ended(self, code: int = 0, timeout_s: float = 20) -> Stopped:
        """Wait for the process to end, which must be with this code; its last line."""
        _, errors = self.process.communicate(timeout=timeout_s)
        assert self.process.returncode == code, errors
        until = time.monotonic() + 5
        while not self.of(Stopped) and time.monotonic() < until:
            time.sleep(0.01)
        return self.lines[-1]  # type: ignore[return-value]

    def close_commands(self) -> None:
        """The end of the commands."""
        with self._lock:
            self.beating = False
            os.close(self.commands)
            self.commands = -1

    def trace(self) -> pd.DataFrame:
        """The attempts, once the process has ended."""
        read = read_trace(self.out)
        assert not read.faults
        return read.attempts

    def health(self) -> dict[str, Any]:
        """The generator's own report."""
        found: dict[str, Any] = json.loads((self.out / "generator" / "worker-00.json").read_text())
        return found

    def stop_reading(self) -> None:
        """Close the lines' pipe; what is written from then on nobody can read."""
        self._closing = True
        wait_until = time.monotonic() + 10
        while self._closing and time.monotonic() < wait_until:
            time.sleep(0.005)

    def close(self) -> None:
        """Whatever is left of it is killed."""
        self._over.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        if self.commands >= 0:
            self.close_commands()

    def _write(self, said: dict[str, Any]) -> None:
        with self._lock, contextlib.suppress(BrokenPipeError):
            if self.commands >= 0:
                os.write(self.commands, json.dumps(said).encode() + b"\n")

    def _beat(self) -> None:
        number = 0
        while not self._over.wait(BEAT_EVERY_S):
            number += 1
            if self.beating:
                self._write({"beat": number})

    def _read(self) -> None:
        with os.fdopen(self.lines_fd) as stream:
            while not self._over.is_set():
                if self._closing:
                    break
                if not self.reading:
                    time.sleep(0.01)
                    continue
                line = stream.readline()
                if not line:
                    return
                self.lines.append(line_from_json(json.loads(line)))
        self._closing = False


@contextmanager
def steered(plan: TriggerPlan, folder: Path, locustfile: Path = LOCUSTFILE) -> Iterator[Steered]:
    """A generator that has started and waits for commands."""
    commands_in, commands_out = os.pipe()
    lines_in, lines_out = os.pipe()
    process = subprocess.Popen(
        command_line(plan, folder, commands_in, lines_out, locustfile),
        pass_fds=(commands_in, lines_out),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    os.close(commands_in)
    os.close(lines_out)
    generator = Steered(process, folder / "out", commands_out, lines_in)
    try:
        end = time.monotonic() + 60
        while not generator.of(Started):
            assert process.poll() is None, process.communicate()[1]
            assert time.monotonic() < end, "the generator did not start"
            time.sleep(0.02)
        yield generator
    finally:
        generator.close()


__all__ = ["PATIENCE_S", "ProbeLine", "Steered", "a_plan", "command_line", "steered"]
