"""An exact service with a steered, retrying client in front, in virtual time: what a trigger test would see.

Every event of every attempt is simulated. ``SteeredService`` obeys the commands of
``domain.trigger.messages`` and gives back the lines a generator would write, so a protocol can be played
against it without a socket. The service is first in, first out unless told otherwise.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Literal

import numpy as np

from domain.attempts import Outcome
from domain.budgets.account import BudgetAccount
from domain.experiment import Client
from domain.retry import Refused, RetryAfter
from domain.service_time import ServiceTime
from domain.streams import stream
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
)


@dataclass(frozen=True)
class Gateway:
    """A retry layer nobody told of: up to ``tries`` of ``per_try_s`` each, then it answers 504 itself.
    Probes go past it if ``probes_pass`` is false."""

    tries: int = 2
    per_try_s: float = 0.2
    probes_pass: bool = False


@dataclass(frozen=True)
class FifoService:
    """Work at ``capacity_per_s`` by ``workers`` from one queue of at most ``places`` waiting."""

    capacity_per_s: float
    service_time: ServiceTime = field(default_factory=ServiceTime)
    workers: int = 1
    discipline: Literal["fifo", "lifo"] = "fifo"
    places: int | None = None
    drops_abandoned: bool = False
    """Whether work whose client has hung up is dropped when its turn comes."""
    gateway: Gateway | None = None
    down_s: tuple[float, float] | None = None
    """From when to when it is gone: what it had is lost by an error, and what comes is refused by one."""


class _Attempt:
    __slots__ = ("before", "job", "kind", "number", "open", "price", "sent_s", "tries", "waiting")

    def __init__(self, kind: str, job: int, number: int, sent_s: float, before: tuple[int, int]) -> None:
        self.kind, self.job, self.number, self.sent_s, self.before = kind, job, number, sent_s, before
        self.open, self.tries, self.price = True, 0, 0.0


_COUNTED = (
    "planned",
    "first",
    "retries",
    "answered",
    "failed",
    "rejected",
    "timeouts",
    "errors",
    "refused",
    "open_attempts",
    "saturated",
    "saturated_failed",
    "probes_sent",
    "probes_open",
)


class SteeredService:
    """A generator and a service in virtual time. ``patience_s`` is that of probes and of ``Saturate``."""

    def __init__(
        self, service: FifoService, client: Client, *, seed: int = 1, patience_s: float = 60.0
    ) -> None:
        self.service, self.client, self.patience_s = service, client, patience_s
        self.now_s = 0.0
        self.count = dict.fromkeys(_COUNTED, 0)
        self.served = 0
        """Works that were done, abandoned ones included."""
        self.received: list[tuple[float, float]] = []
        """Works that arrived at the service, as a Prometheus counter would show them at each tick."""
        self._arrived = 0
        self._rng: dict[str, np.random.Generator] = {
            name: stream(seed, name) for name in ("arrivals", "service", "jitter")
        }
        self._budget = BudgetAccount(client.budget) if client.may_refuse else None
        self._events: list[tuple[float, int, Callable[..., None], tuple[object, ...]]] = []
        self._sequence = 0
        self._queue: deque[_Attempt] = deque()
        self._busy = 0
        self._rate = self._probe_rate = 0.0
        self._epoch = self._probe_epoch = 0
        self._in_flight = self._in_flight_wanted = self._probe_number = 0
        self._all: set[_Attempt] = set()
        self._lines: list[Line] = [Started(0.0, 1)]
        self._ended = False
        self._works: list[float] = []
        self._at(TICK_EVERY_S, self._tick)
        if service.down_s is not None:
            self._at(service.down_s[0], self._crash)

    def obey(self, command: Command) -> None:
        """Take a command at the present time."""
        self._lines.append(Obeyed(self.now_s, asdict(command)))
        match command:
            case Load(rate_per_s=rate):
                self._rate, self._epoch = rate, self._epoch + 1
                self._in_flight_wanted = 0
                self._next_job()
            case Probe(rate_per_s=rate):
                self._probe_rate, self._probe_epoch = rate, self._probe_epoch + 1
                if rate > 0:
                    self._at(self.now_s + 1.0 / rate, self._probe, self._probe_epoch)
            case Saturate(in_flight=wanted):
                self._rate, self._epoch = 0.0, self._epoch + 1
                self._in_flight_wanted = wanted
                self._fill()
            case Drop():
                self._drop()
            case End():
                self._drop()
                self._ended = True
                self._lines.append(Stopped(self.now_s, "told to end"))

    def advance(self, until_s: float) -> list[Line]:
        """Let time pass; the lines since the last call."""
        while self._events and self._events[0][0] <= until_s and not self._ended:
            self.now_s, _, do, about = heapq.heappop(self._events)
            do(*about)
        self.now_s = max(self.now_s, until_s)
        lines, self._lines = self._lines, []
        return lines

    def _at(self, time_s: float, do: Callable[..., None], *about: object) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time_s, self._sequence, do, about))

    # The generator.

    def _next_job(self) -> None:
        if self._rate > 0:
            gap = float(self._rng["arrivals"].exponential(1.0 / self._rate))
            self._at(self.now_s + gap, self._job, self._epoch)

    def _job(self, epoch: int) -> None:
        if epoch != self._epoch:
            return
        self._next_job()
        self.count["planned"] += 1
        self._send("job", 1, self.count["planned"])

    def _send(self, kind: str, number: int, job: int, price: float = 0.0) -> None:
        count = self.count
        saturated = count["saturated"] + count["saturated_failed"] + self._in_flight
        sent = count["first"] + count["retries"] + count["probes_sent"] + saturated
        attempt = _Attempt(kind, job, number, self.now_s, (sent, count["rejected"] + count["errors"]))
        attempt.price = price
        self._all.add(attempt)
        if kind == "job":
            count["first" if number == 1 else "retries"] += 1
            count["open_attempts"] += 1
            if self._budget is not None:
                self._budget.sent(self.now_s, number)
        elif kind == "probe":
            count["probes_sent"] += 1
            count["probes_open"] += 1
        else:
            self._in_flight += 1
        patience = self.client.timeout_s if kind == "job" else self.patience_s
        self._at(self.now_s + patience, self._end, attempt, Outcome.TIMEOUT, 0)
        gateway = self.service.gateway
        if gateway is not None and (kind != "probe" or gateway.probes_pass):
            self._try(attempt)
        else:
            self._arrive(attempt)

    def _probe(self, epoch: int) -> None:
        if epoch == self._probe_epoch:
            self._probe_number += 1
            self._send("probe", 1, self._probe_number)
            self._at(self.now_s + 1.0 / self._probe_rate, self._probe, epoch)

    def _fill(self) -> None:
        while self._in_flight < self._in_flight_wanted:
            self._send("saturate", 1, 0)

    def _end(self, attempt: _Attempt, outcome: Outcome, status: int) -> None:
        if not attempt.open:
            return
        attempt.open = False
        self._all.discard(attempt)
        count = self.count
        if attempt.kind == "probe":
            count["probes_open"] -= 1
            self._lines.append(
                ProbeLine(
                    attempt.job, attempt.sent_s, self.now_s, str(outcome), status, *attempt.before, "made-up"
                )
            )
            return
        if attempt.kind == "saturate":
            self._in_flight -= 1
            count["saturated" if outcome is Outcome.OK else "saturated_failed"] += 1
            self._fill()
            return
        self._end_of_job(attempt, outcome, status)

    def _end_of_job(self, attempt: _Attempt, outcome: Outcome, status: int) -> None:
        count, budget = self.count, self._budget
        count["open_attempts"] -= 1
        count["answered" if outcome is Outcome.OK else "failed"] += 1
        count["rejected"] += outcome is Outcome.REJECTED
        count["timeouts"] += outcome is Outcome.TIMEOUT
        count["errors"] += outcome is Outcome.ERROR
        if budget is not None:
            budget.ended(self.now_s, attempt.number, outcome is Outcome.OK, attempt.price)
        u = float(self._rng["jitter"].random())
        decision = self.client.policy.decide(attempt.number, outcome, self.now_s, u, budget, status=status)
        if isinstance(decision, RetryAfter):
            number, job = attempt.number + 1, attempt.job
            self._at(self.now_s + decision.delay_s, self._send, "job", number, job, decision.price)
        elif isinstance(decision, Refused) or getattr(decision, "reason", "") == "budget":
            count["refused"] += 1

    def _drop(self) -> None:
        for attempt in list(self._all):
            attempt.open = False
        self._all.clear()
        kept = (self._tick, self._done, self._crash)
        self._events = [event for event in self._events if event[2] in kept]
        heapq.heapify(self._events)
        self._rate = self._probe_rate = 0.0
        self._epoch += 1
        self._probe_epoch += 1
        self._in_flight = self._in_flight_wanted = 0
        self.count["open_attempts"] = self.count["probes_open"] = 0

    def _tick(self) -> None:
        self._lines.append(Tick(self.now_s, **self.count, lag_p99_s=0.0, lag_max_s=0.0))
        self.received.append((self.now_s, float(self._arrived)))
        self._at(self.now_s + TICK_EVERY_S, self._tick)

    # The gateway and the service.

    def _try(self, attempt: _Attempt) -> None:
        gateway = self.service.gateway
        assert gateway is not None
        if not attempt.open:
            return
        if attempt.tries == gateway.tries:
            self._end(attempt, Outcome.REJECTED, 504)
            return
        attempt.tries += 1
        self._at(self.now_s + gateway.per_try_s, self._try, attempt)
        self._arrive(attempt)

    def _arrive(self, attempt: _Attempt) -> None:
        service = self.service
        if service.down_s is not None and service.down_s[0] <= self.now_s < service.down_s[1]:
            self._end(attempt, Outcome.ERROR, 0)
            return
        self._arrived += 1
        if service.places is not None and len(self._queue) >= service.places:
            self._end(attempt, Outcome.REJECTED, 503)
            return
        self._queue.append(attempt)
        if self._busy < service.workers:
            self._busy += 1
            self._serve()

    def _crash(self) -> None:
        self._queue.clear()
        for attempt in list(self._all):
            self._end(attempt, Outcome.ERROR, 0)

    def _serve(self) -> None:
        while self._queue:
            attempt = self._queue.pop() if self.service.discipline == "lifo" else self._queue.popleft()
            if self.service.drops_abandoned and not attempt.open:
                continue
            mean_s = self.service.workers / self.service.capacity_per_s
            self._at(self.now_s + self._work() * mean_s, self._done, attempt, attempt.tries)
            return
        self._busy -= 1

    def _work(self) -> float:
        if not self._works:
            time, rng, many = self.service.service_time, self._rng["service"], 4096
            if time.kind == "exponential":
                self._works = rng.exponential(1.0, many).tolist()
            elif time.kind == "lognormal":
                spread = float(np.sqrt(np.log1p(time.parameter**2)))
                self._works = rng.lognormal(-(spread**2) / 2, spread, many).tolist()
            else:
                assert time.kind == "deterministic"
                self._works = [1.0] * many
        return self._works.pop()

    def _done(self, attempt: _Attempt, tried: int) -> None:
        self.served += 1
        # A gateway that has given up on this try does not hear its answer.
        if attempt.tries == tried:
            self._end(attempt, Outcome.OK, 200)
        self._serve()
