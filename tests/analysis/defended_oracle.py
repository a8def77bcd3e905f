"""A service with defences and clients with budgets, one event at a time, in plain Python.

It is put together from what runs live: the queue of the target, ``RetryPolicy``, and the accounts of budgets
and breakers. Only the network is missing. The compiled simulation must give the same attempts.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count

from domain.attempts import Outcome
from domain.breakers import decide as breakers
from domain.breakers.account import BreakerAccount
from domain.budgets import decide as budgets
from domain.budgets.account import BudgetAccount
from domain.deadlines import attempt_timeout_s
from domain.experiment import Experiment
from domain.retry import BUDGET, Refused, RetryAfter, cause
from domain.streams import Purpose, stream
from target_service.answers import STATUSES
from target_service.draws import demands, error_draws
from target_service.gate import Departure
from target_service.queue import ServiceQueue
from target_service.settings import CapacityChange

TIMES_OUT, PLANNED, ARRIVES = range(3)


@dataclass(frozen=True)
class Row:
    """One attempt: NaN ``done_s`` and the outcome ``ABORTED`` if it was open at the end."""

    job: int
    attempt: int
    sent_s: float
    done_s: float
    outcome: Outcome
    status: int


@dataclass(eq=False)
class Job:
    number: int
    until_s: float
    budget: BudgetAccount | None
    breaker: BreakerAccount | None
    # of hedged jobs
    used: int = 0
    more: bool = True
    next_copy: int = 0
    on_wire: list[Sent] = field(default_factory=list)


@dataclass(eq=False)
class Sent:
    job: Job
    attempt: int
    price: float
    previous_s: float
    sent_s: float
    ends_s: float
    number: int = 0
    open: bool = True
    held: Callable[[float], None] | None = None
    """What its rejection leads to, once it would have timed out."""


class Oracle:
    """``rows`` has every attempt once ``run`` has been called."""

    def __init__(self, experiment: Experiment, *, preload: int = 0) -> None:
        live = experiment.live()
        assert live.service is not None
        self.service, self.client, seed = live.service, live.client, live.run.seed
        self.policy, self.end_s = self.client.policy, live.duration_s
        self.rows: list[Row] = []
        self.dropped = 0
        self._wire: set[Sent] = set()
        self._jitter, self._chance = _uniforms(seed, "jitter"), _uniforms(seed, "breaker")
        admission = self.service.admission
        self.queue: ServiceQueue[Sent] = ServiceQueue(
            self.service.pods,
            self.service.rate_per_pod,
            demands(seed, self.service.service_time),
            admission=admission,
            draws=error_draws(seed),
        )
        for placed in live.placed_phases:
            change = CapacityChange(capacity_factor=placed.phase.capacity_factor)
            self.queue.set_capacity(placed.start_s, change)
        budget, breaker = self.client.budget, self.client.breaker
        self._accounts = [
            (
                BudgetAccount(budget) if budget.code != budgets.NONE else None,
                BreakerAccount(breaker) if breaker.code != breakers.NONE else None,
            )
            for _ in range(self.client.clients)
        ]
        self._orders = count(1)
        self._events: list[tuple[float, int, int, object]] = []
        planned = [0.0] * preload + live.arrival_plan.draw(stream(seed, "arrivals")).tolist()
        for number, planned_s in enumerate(planned):
            self._push(planned_s, ARRIVES, number)

    def run(self) -> Oracle:
        while True:
            event_s = self._events[0][0] if self._events else math.inf
            served_s = self.queue.next_event_s
            now_s = min(event_s, served_s)
            if now_s >= self.end_s:
                break
            if served_s <= event_s:
                self._leave(now_s)
            else:
                _, kind, order, what = heapq.heappop(self._events)
                self._happens(now_s, kind, order, what)
        for sent in self._wire:
            self._row(sent.job.number, sent.attempt, sent.sent_s, math.nan, Outcome.ABORTED, 0)
        self.rows.sort(key=lambda row: (row.job, row.attempt))
        return self

    def _push(self, at_s: float, kind: int, what: object) -> int:
        order = next(self._orders)
        heapq.heappush(self._events, (at_s, kind, order, what))
        return order

    def _plan(self, at_s: float, *what: object) -> int:
        return self._push(at_s, PLANNED, what)

    def _happens(self, now_s: float, kind: int, order: int, what) -> None:
        if kind == ARRIVES:
            budget, breaker = self._accounts[what % self.client.clients]
            job = Job(what, now_s + self.client.deadline_s, budget, breaker)
            if self.client.hedging is None:
                self._attempt(now_s, job, 1, 0.0, 0.0)
            else:
                self._copy(now_s, job, budgets.FAILED)
        elif kind == TIMES_OUT:
            if what.open:
                self._hang_up(now_s, what)
                self._ended(now_s, what, Outcome.TIMEOUT, 0)
            elif what.held is not None:
                what.held(now_s)
        else:
            act, *arguments = what
            if act != self._copy:
                act(now_s, *arguments)
            elif arguments[0].next_copy == order:
                arguments[0].next_copy = 0
                act(now_s, *arguments)

    def _leave(self, now_s: float) -> None:
        for departure in self.queue.advance(now_s):
            self._answer(now_s, departure)

    def _answer(self, now_s: float, departure: Departure[Sent]) -> None:
        sent = departure.item
        self.dropped += departure.fate in ("shed", "expired")
        if not sent.open or departure.fate == "cancelled":
            return
        outcome = Outcome.OK if departure.fate == "ok" else Outcome.REJECTED
        self._ended(now_s, sent, outcome, STATUSES[departure.fate])

    def _attempt(self, now_s: float, job: Job, attempt: int, price: float, previous_s: float) -> None:
        if now_s >= job.until_s:
            self._give_back(job, attempt, price)
        elif job.breaker is not None and not job.breaker.lets_through(now_s, next(self._chance)):
            self._give_back(job, attempt, price)
            self._row(job.number, attempt, now_s, now_s, Outcome.REFUSED, 0)
            if self.client.on_refusal == "retry":
                self._decide(now_s, job, attempt, Outcome.REFUSED, 0, previous_s)
        else:
            self._send(now_s, job, attempt, price, previous_s)

    def _give_back(self, job: Job, attempt: int, price: float) -> None:
        if attempt > 1 and job.budget is not None:
            job.budget.withdrawn(price)

    def _send(self, now_s: float, job: Job, attempt: int, price: float, previous_s: float) -> None:
        if job.budget is not None:
            job.budget.sent(now_s, attempt)
        timeout_s = attempt_timeout_s(self.client.timeout_s, job.until_s, now_s)
        ends_s = job.until_s if timeout_s < self.client.timeout_s else now_s + timeout_s
        sent = Sent(job, attempt, price, previous_s, now_s, ends_s)
        if self.client.hedging is not None:
            job.on_wire.append(sent)
        self._wire.add(sent)
        self._push(ends_s, TIMES_OUT, sent)
        deadline_s = math.inf if self.client.propagate == "none" else ends_s
        sent.number = self.queue.arrive(now_s, sent, attempt, deadline_s)
        if self.client.hedging is not None:
            self._next_copy(now_s + self.client.hedging.delay_s, job, budgets.FAILED)
        self._leave(now_s)

    def _ended(self, now_s: float, sent: Sent, outcome: Outcome, status: int) -> None:
        self._note_end(now_s, sent, outcome, status, outcome is Outcome.OK)
        job, rejected = sent.job, outcome is Outcome.REJECTED
        gives_up = rejected and self.client.on_rejection == "give-up"
        if self.client.hedging is None:
            then = partial(
                self._decide,
                job=job,
                attempt=sent.attempt,
                outcome=outcome,
                status=status,
                previous_s=sent.previous_s,
            )
            self._lead_to(now_s, sent, outcome, then)
            return
        job.on_wire.remove(sent)
        if outcome is Outcome.OK or gives_up:
            job.more, job.next_copy = False, 0
            for copy in list(job.on_wire):
                self._hang_up(now_s, copy)
                self._note_end(now_s, copy, Outcome.CANCELLED, 0, outcome is Outcome.OK)
            job.on_wire.clear()
        else:
            then = partial(self._bring_forward, job=job, outcome=outcome, status=status)
            self._lead_to(now_s, sent, outcome, then)

    def _hang_up(self, now_s: float, sent: Sent) -> None:
        if self.service.admission.cancel_on_disconnect:
            self.dropped += self.queue.cancel(now_s, sent.number)

    def _lead_to(self, now_s: float, sent: Sent, outcome: Outcome, then: Callable[[float], None]) -> None:
        if self.client.on_rejection == "after-timeout" and outcome is Outcome.REJECTED:
            sent.held = then
        else:
            then(now_s)

    def _note_end(self, now_s: float, sent: Sent, outcome: Outcome, status: int, succeeded: bool) -> None:
        sent.open = False
        self._wire.discard(sent)
        self._row(sent.job.number, sent.attempt, sent.sent_s, now_s, outcome, status)
        if sent.job.budget is not None:
            sent.job.budget.ended(now_s, sent.attempt, succeeded, sent.price)
        if sent.job.breaker is not None:
            sent.job.breaker.ended(now_s, succeeded)

    def _decide(
        self, now_s: float, job: Job, attempt: int, outcome: Outcome, status: int, previous_s: float
    ) -> None:
        asked_s = self.service.admission.retry_after_s if status == 503 else None
        decision = self.policy.decide(
            attempt,
            outcome,
            now_s,
            next(self._jitter),
            job.budget,
            previous_s=previous_s,
            until_s=job.until_s,
            retry_after_s=asked_s or 0.0,
            status=status,
        )
        if isinstance(decision, RetryAfter):
            then_s = now_s + decision.delay_s
            self._plan(then_s, self._attempt, job, attempt + 1, decision.price, decision.delay_s)
        elif decision is BUDGET or isinstance(decision, Refused):
            self._row(job.number, attempt + 1, now_s, now_s, Outcome.REFUSED, 0)
            if isinstance(decision, Refused):
                then_s, what = now_s + decision.delay_s, (Outcome.REFUSED, 0, decision.delay_s)
                self._plan(then_s, self._decide, job, attempt + 1, *what)

    def _copy(self, now_s: float, job: Job, why: int) -> None:
        hedging = self.client.hedging
        assert hedging is not None
        job.used = number = job.used + 1
        price, refused = 0.0, False
        if number > 1 and job.budget is not None:
            price = job.budget.price(now_s, why)
            refused = price == budgets.REFUSED
        if not refused and job.breaker is not None:
            refused = not job.breaker.lets_through(now_s, next(self._chance))
            if refused:
                self._give_back(job, number, price)
        if not refused:
            self._send(now_s, job, number, price, 0.0)
            return
        self._row(job.number, number, now_s, now_s, Outcome.REFUSED, 0)
        job.more = job.more and self.client.on_refusal == "retry"
        self._next_copy(now_s + hedging.delay_s, job, budgets.FAILED)

    def _next_copy(self, at_s: float, job: Job, why: int) -> None:
        assert self.client.hedging is not None
        job.next_copy = 0
        if job.more and job.used < self.client.hedging.copies and at_s < job.until_s:
            job.next_copy = self._plan(at_s, self._copy, job, why)

    def _bring_forward(self, now_s: float, job: Job, outcome: Outcome, status: int) -> None:
        asked_s = self.service.admission.retry_after_s if self.client.honours_retry_after else None
        at_s = now_s + (asked_s or 0.0 if status == 503 else 0.0)
        self._next_copy(at_s, job, cause(outcome, status))

    def _row(
        self, job: int, attempt: int, sent_s: float, done_s: float, outcome: Outcome, status: int
    ) -> None:
        self.rows.append(Row(job, attempt, sent_s, done_s, outcome, status))


def _uniforms(seed: int, purpose: Purpose) -> Iterator[float]:
    rng = stream(seed, purpose)
    while True:
        yield from rng.random(1024).tolist()
