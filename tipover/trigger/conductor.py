"""Conducts one trigger test: starts the generator, asks the protocol what to do, watches every guard."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol as Shape

from analysis.trigger.observations import LINES_FILE, Observations
from analysis.trigger.protocol import Protocol
from domain.sockets import SocketLimits
from domain.trigger.messages import Drop, End, Received, StopAsked
from domain.trigger.plan import TriggerPlan
from tipover.live.kernel import read_listen_counters
from tipover.live.record import DirectoryRecord
from tipover.trigger.steering import Steering

_START_WITHIN_S = 40.0
_SILENT_S = 5.0
_TURN_S = 0.05
_HELD_UP_S = 1.0
_END_WITHIN_S = 10.0
LOCUSTFILE = Path(__file__).parent / "locustfile.py"


class Watch(Shape):
    """A guard that is asked all the time."""

    def tripped(self) -> str | None:
        """Why the test must end at once; None while it may go on."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a test needs besides its plan.

    ``secrets`` go into the generator's environment and nowhere else. ``guards`` end the test; ``received`` is
    what a query has counted since it was asked last (None: nothing new). Both are asked in every turn, and
    must answer at once.
    """

    secrets: Mapping[str, str]
    guards: tuple[Watch, ...] = ()
    received: Callable[[], float | None] = lambda: None
    allowed_hosts: tuple[str, ...] = ()
    show: Callable[[Protocol, Observations], None] = lambda _protocol, _seen: None


class Conductor:
    """One test in one directory; ``run`` returns what was seen and what the protocol made of it."""

    def __init__(
        self,
        plan: TriggerPlan,
        plan_path: Path,
        record: DirectoryRecord,
        around: Surroundings,
        limits: SocketLimits,
    ) -> None:
        self._plan = plan
        self._plan_path = plan_path
        self._record = record
        self._around = around
        self._signal: str | None = None
        self._stop_said = False
        self.seen = Observations()
        self.protocol = Protocol(plan, limits=limits)

    def run(self) -> None:
        """Run to the end; ``seen``, ``protocol`` and the record then say how it went."""
        listen_before = read_listen_counters()
        state = "failed"
        try:
            with self._signals(), self._steering() as steering:
                self._conduct(steering)
                self._await_end(steering)
            if steering.fault:
                # Also what was found only at the end: a record that lacks its last lines.
                self._record.fault(steering.fault)
            state = "interrupted" if self._signal else "finished"
        finally:
            listen_after = read_listen_counters()
            if listen_before and listen_after:
                self._record.facts["kernel"] = listen_after.since(listen_before)
            if self._signal:
                self._record.facts["interrupted_by"] = self._signal
            self._record.finish(state)

    def _steering(self) -> Steering:
        directory, plan = self._record.directory, self._plan
        locustfile = plan.locustfile or str(LOCUSTFILE)
        command = ["-P", "-m", "tipover.live.generator", "-f", locustfile]
        command += ["--headless", "--only-summary", "--users", "1"]
        command += [
            "--host",
            plan.target.url,
            "--trigger-plan",
            str(self._plan_path),
            "--out",
            str(directory),
        ]
        if self._around.allowed_hosts:
            command += ["--allow-host", ",".join(self._around.allowed_hosts)]
        log, lines = directory / "generator.log", directory / LINES_FILE
        return Steering(command, log, lines, self._around.secrets)

    def _conduct(self, steering: Steering) -> None:
        begun = heard = turned = time.monotonic()
        while not self.protocol.finished:
            # Asked first: what the lines then give is all that will ever come.
            over, ticked = steering.ended.is_set(), False
            for line in steering.lines(_TURN_S):
                self.seen.take(line)
                ticked = True
            now = time.monotonic()
            # Whoever was held up himself, by a SIGSTOP say, has not listened to any silence.
            if ticked or now - turned > _HELD_UP_S:
                heard = now
            turned = now
            self._listen_around(steering)
            fault = self._fault_now(steering, begun, heard, over=over)
            if fault:
                self._record.fault(fault)
                return
            if self.seen.started is None and self._stop_said:
                return  # nothing has been sent, and a generator that fails would never say that it started
            if self.seen.started is None or not (ticked or self.seen.stop_asked):
                continue
            self._start_noted()
            for command in self.protocol.next(self.seen, self.seen.now_s):
                steering.send(command)
            self._around.show(self.protocol, self.seen)

    def _listen_around(self, steering: Steering) -> None:
        """Signals, guards and counts: everything that does not come from the generator."""
        now_s = self._now_s()
        if not self._stop_said:
            reason = self._signal or next((why for g in self._around.guards if (why := g.tripped())), None)
            if reason is not None:
                self._stop_said = True
                asked = StopAsked(now_s, reason, interrupted=self._signal is not None)
                # First the load, then the paperwork.
                steering.send(Drop("stopped"))
                steering.send(End())
                steering.note(asked)
                self.seen.take(asked)
        value = self._around.received()
        if value is not None and self.seen.started is not None:
            counted = Received(now_s, value)
            steering.note(counted)
            self.seen.take(counted)

    def _now_s(self) -> float:
        started = self.seen.started
        return 0.0 if started is None else time.monotonic() - started.start_monotonic_s

    def _start_noted(self) -> None:
        started = self.seen.started
        if started is not None and self._record.facts["start_monotonic_s"] is None:
            self._record.facts["start_monotonic_s"] = started.start_monotonic_s
            self._record.write()

    def _fault_now(self, steering: Steering, begun: float, heard: float, *, over: bool) -> str | None:
        """What makes the test worthless at this moment; ``over``: all lines have been taken."""
        if self.seen.stopped is not None or (self._stop_said and steering.ended.is_set()):
            return None
        if steering.fault:
            return steering.fault
        code = steering.child.exit_code
        if code is not None and over:
            return f"the generator ended early (exit code {code}): {steering.child.last_words(3)}"
        now = time.monotonic()
        if self.seen.started is None:
            late = now - begun > _START_WITHIN_S
            return (
                f"the generator did not start within {_START_WITHIN_S:g} s; see generator.log"
                if late
                else None
            )
        if now - heard > _SILENT_S:
            return f"the generator hung: nothing heard from it for {_SILENT_S:g} s"
        return None

    def _await_end(self, steering: Steering) -> None:
        """The generator writes what it holds; a test that has failed hangs up first."""
        if not self.protocol.finished:
            steering.hang_up()
        until = time.monotonic() + _END_WITHIN_S
        while not steering.ended.is_set() and time.monotonic() < until:
            for line in steering.lines(_TURN_S):
                self.seen.take(line)
        for line in steering.lines(0):
            self.seen.take(line)
        if not steering.ended.is_set():
            self._record.fault(f"the generator did not end within {_END_WITHIN_S:g} s")

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def note(number: int, _frame: FrameType | None) -> None:
            self._signal = self._signal or signal.Signals(number).name

        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        before = {number: signal.signal(number, note) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def generator_report(directory: Path) -> tuple[dict[str, object], ...]:
    """What the generator wrote of its own health; empty if it did not."""
    found = []
    for path in sorted((directory / "generator").glob("worker-*.json")):
        try:
            found.append(json.loads(path.read_text()))
        except (OSError, ValueError):
            continue
    return tuple(found)
