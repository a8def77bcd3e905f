"""A generator and a service in virtual time: obeys commands, emits lines, and needs no socket and no clock.

First in, first out, with ``workers`` servers. A time-out hangs up, and the abandoned work is done all the
same, unless the service drops what has expired.
"""

from __future__ import annotations

import heapq
import itertools
import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from domain.trigger.messages import (
    TICK_EVERY_S,
    Command,
    Drop,
    End,
    Line,
    Load,
    Obeyed,
    Probe,
    ProbeLine,
    Saturate,
    Started,
    Stopped,
    Tick,
    line_from_json,
    message_to_json,
)

PIPE_S = 0.002
"""From a command's being given to its taking effect."""
REFUSES_IN_S = 0.001
COUNTERS = (
    "planned", "first", "retries", "answered", "failed", "rejected", "timeouts", "errors", "refused",
    "saturated", "saturated_failed", "probes_sent", "probes_open", "open_attempts",
)  # fmt: skip


@dataclass
class Fifo:
    """The service. ``queue_cap``: waiting places, beyond which it says 503. ``fails_share`` of its answers
    are 500. ``dead``: it refuses connections. ``breaks_at_s``: a backlog from which on it never answers
    again. ``overhead_s``: network and client per request."""

    rate_per_worker: float = 200.0
    workers: int = 1
    exponential: bool = False
    overhead_s: float = 0.001
    queue_cap: float = float("inf")
    drop_expired: bool = False
    fails_share: float = 0.0
    dead: bool = False
    breaks_at_s: float = float("inf")
    seed: int = 1
    broken: bool = False
    free: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.free = [0.0] * self.workers

    def admit(self, now_s: float, deadline_s: float) -> tuple[float, int] | None:
        """When an attempt sent now is answered, and with which status; None if never."""
        if self.dead or self.broken:
            return None
        while self.starts and self.starts[0] <= now_s:
            heapq.heappop(self.starts)
        if len(self.starts) >= self.queue_cap:
            return now_s + REFUSES_IN_S, 503
        arrives_s = now_s + self.overhead_s
        start_s = max(arrives_s, self.free[0])
        self.broken = start_s - now_s > self.breaks_at_s
        if self.drop_expired and start_s > deadline_s:
            return start_s, 504
        service_s = 1.0 / self.rate_per_worker
        if self.exponential:
            service_s = self.random.expovariate(self.rate_per_worker)
        heapq.heapreplace(self.free, start_s + service_s)
        heapq.heappush(self.starts, start_s)
        return start_s + service_s, 500 if self.random.random() < self.fails_share else 200


class SimulatedTest:
    """The generator of a client with ``timeout_s`` and ``max_attempts``, retrying at once.

    ``ceiling_per_s``: it stops by itself once so many attempts were sent within a second.
    """

    def __init__(
        self,
        service: Fifo,
        *,
        timeout_s: float = 0.5,
        max_attempts: int = 3,
        patience_s: float = 60.0,
        ceiling_per_s: float = float("inf"),
        seed: int = 1,
    ) -> None:
        self.service, self.timeout_s, self.max_attempts = service, timeout_s, max_attempts
        self.patience_s, self.ceiling_per_s = patience_s, ceiling_per_s
        self.now_s = 0.0
        self.ended = False
        self.counts = dict.fromkeys(COUNTERS, 0)
        self.commands: list[tuple[float, Command]] = []
        self._lines: list[Line] = [Started(0.0, 1)]
        self._random = random.Random(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._epoch = self._load_number = self._probe_number = 0
        self._rate = self._probe_rate = 0.0
        self._in_flight = self._in_flight_wanted = 0
        self._probes = itertools.count(1)
        self._sent_this_second = [0, 0]
        self._at(TICK_EVERY_S, self._tick)

    def give(self, commands: list[Command]) -> None:
        """Commands into the pipe."""
        for command in commands:
            self.commands.append((self.now_s, command))
            self._at(self.now_s + PIPE_S, lambda command=command: self._obey(command))

    def lines(self) -> list[Line]:
        """Go on to the next tick (or the end): the lines until then, as they come through the pipe."""
        self._lines, lines = [], self._lines
        while not self.ended and not any(isinstance(line, Tick) for line in lines):
            self.now_s, _, do = heapq.heappop(self._events)
            do()
            lines.extend(self._lines)
            self._lines = []
        return [line_from_json(json.loads(json.dumps(message_to_json(line)))) for line in lines]

    def _at(self, t_s: float, do: Callable[[], None]) -> None:
        heapq.heappush(self._events, (t_s, next(self._order), do))

    def _tick(self) -> None:
        self._lines.append(Tick(t_s=self.now_s, lag_p99_s=0.0, lag_max_s=0.0, **self.counts))
        self._at(self.now_s + TICK_EVERY_S, self._tick)

    def _obey(self, command: Command) -> None:
        if self.ended:
            return
        match command:
            case Load(rate_per_s=rate):
                self._rate = rate
                self._load_number += 1
                self._arrive_later(self._load_number)
            case Saturate(in_flight=wanted):
                self._in_flight_wanted = wanted
                self._fill()
            case Probe(rate_per_s=rate):
                self._probe_rate = rate
                self._probe_number += 1
                self._probe_later(self._probe_number)
            case Drop():
                self._drop()
            case End():
                self._drop()
                self._lines.append(Obeyed(self.now_s, message_to_json(command)))
                self._stop(Stopped(self.now_s, "told to end"))
                return
        self._lines.append(Obeyed(self.now_s, message_to_json(command)))

    def _drop(self) -> None:
        self._epoch += 1
        self._load_number += 1
        self._probe_number += 1
        self._rate = self._probe_rate = 0.0
        self._in_flight = self._in_flight_wanted = 0
        self.counts["probes_open"] = self.counts["open_attempts"] = 0

    def _stop(self, stopped: Stopped) -> None:
        self.ended = True
        self._lines.append(stopped)

    # Jobs.

    def _arrive_later(self, number: int) -> None:
        if self._rate > 0.0:
            self._at(self.now_s + self._random.expovariate(self._rate), lambda: self._arrive(number))

    def _arrive(self, number: int) -> None:
        if number != self._load_number:
            return
        self.counts["planned"] += 1
        self._attempt(1)
        self._arrive_later(number)

    def _attempt(self, attempt: int) -> None:
        if self.ended:
            return
        self.counts["first" if attempt == 1 else "retries"] += 1
        self.counts["open_attempts"] += 1
        self._count_sent()
        epoch, deadline_s = self._epoch, self.now_s + self.timeout_s
        answer = self.service.admit(self.now_s, deadline_s)
        if self.service.dead:
            self._at(self.now_s + REFUSES_IN_S, lambda: self._failed(epoch, attempt, "errors"))
        elif answer is None or answer[0] > deadline_s:
            self._at(deadline_s, lambda: self._failed(epoch, attempt, "timeouts"))
        elif answer[1] != 200:
            self._at(answer[0], lambda: self._failed(epoch, attempt, "rejected"))
        else:
            self._at(answer[0], lambda: self._answered(epoch))

    def _answered(self, epoch: int) -> None:
        if epoch == self._epoch:
            self.counts["answered"] += 1
            self.counts["open_attempts"] -= 1

    def _failed(self, epoch: int, attempt: int, how: str) -> None:
        if epoch != self._epoch:
            return
        self.counts["failed"] += 1
        self.counts[how] += 1
        self.counts["open_attempts"] -= 1
        if attempt < self.max_attempts:
            self._attempt(attempt + 1)

    def _count_sent(self) -> None:
        second = int(self.now_s)
        if self._sent_this_second[0] != second:
            self._sent_this_second = [second, 0]
        self._sent_this_second[1] += 1
        if self._sent_this_second[1] > self.ceiling_per_s and not self.ended:
            self._stop(Stopped(self.now_s, "too many attempts in one second", ceiling="rate_per_s"))

    # Patient requests in a closed loop.

    def _fill(self) -> None:
        while self._in_flight < self._in_flight_wanted and not self.ended:
            self._in_flight += 1
            self._count_sent()
            epoch, patience_s = self._epoch, self.now_s + self.patience_s
            answer = self.service.admit(self.now_s, patience_s)
            if answer is None or answer[0] > patience_s:
                done_s, well = (self.now_s + 0.05 if self.service.dead else patience_s), False
            else:
                done_s, well = answer[0], answer[1] == 200
            self._at(done_s, lambda well=well, epoch=epoch: self._loop(epoch, well))

    def _loop(self, epoch: int, well: bool) -> None:
        if epoch == self._epoch:
            self.counts["saturated" if well else "saturated_failed"] += 1
            self._in_flight -= 1
            self._fill()

    # Probes.

    def _probe_later(self, number: int) -> None:
        if self._probe_rate > 0.0:
            self._at(self.now_s + 1.0 / self._probe_rate, lambda: self._send_probe(number))

    def _send_probe(self, number: int) -> None:
        if number != self._probe_number:
            return
        before = sum(self.counts[name] for name in ("first", "retries", "saturated", "probes_sent"))
        rejected = self.counts["rejected"] + self.counts["errors"]
        self.counts["probes_sent"] += 1
        self.counts["probes_open"] += 1
        self._count_sent()
        sent_s, epoch = self.now_s, self._epoch
        answer = self.service.admit(sent_s, sent_s + self.patience_s)
        if answer is None:
            outcome, status = ("error", 0) if self.service.dead else ("timeout", 0)
            done_s = sent_s + (REFUSES_IN_S if self.service.dead else self.patience_s)
        else:
            done_s, status = answer
            outcome = "ok" if status == 200 else "rejected"
        line = ProbeLine(next(self._probes), sent_s, done_s, outcome, status, before, rejected)
        self._at(done_s, lambda: self._probe_done(epoch, line))
        self._probe_later(number)

    def _probe_done(self, epoch: int, line: ProbeLine) -> None:
        if epoch == self._epoch:
            self.counts["probes_open"] -= 1
            self._lines.append(line)
