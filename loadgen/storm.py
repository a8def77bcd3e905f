"""The storm: jobs start on absolute planned times, one greenlet each, whatever the service does.

A timer of the event loop starts every job that is due by switching straight into its greenlet; nothing
is queued in between, and a start that comes late is counted as lag. The retry rule, the budget and the
arrival times come from ``domain``; this module sleeps, sends and counts.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from gevent import get_hub
from gevent.event import Event
from greenlet import GreenletExit, greenlet

from domain.attempts import Outcome
from domain.budgets.account import BudgetAccount
from domain.experiment import Experiment
from domain.observer import AttemptObserver, NullObserver
from domain.retry import BUDGET, RetryAfter
from domain.streams import stream
from loadgen.health import Health
from loadgen.recorder import Recorder
from loadgen.request import Job
from loadgen.schedule import Schedule

_MAX_STARTS_PER_WAKE = 50
"""After this many starts in one go the loop gets a turn, so that answers are read while a backlog of
late starts is worked off."""
_INSTANT_S = 0.001
_ENDLESS_PACE_S = 0.01
"""A client without an attempt limit sends at most one attempt in this time per job: against a service that
refuses at once its load would have no bound but the CPU."""


class Sender(Protocol):
    """Sends one attempt."""

    def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int]:
        """Outcome and HTTP status (0 without one), within about ``timeout_s`` whatever the server does."""


@dataclass(slots=True)
class Counts:
    """Live counters, all cumulative; attempts are counted when they start."""

    first: int = 0
    retries: int = 0
    answered: int = 0
    failed: int = 0


class Storm:
    """One worker's share of an experiment's load.

    ``experiment`` is in live seconds (``Experiment.live()``). ``start_monotonic_s`` is time zero on
    CLOCK_MONOTONIC, the same for all workers of one machine.
    """

    def __init__(
        self,
        experiment: Experiment,
        send: Sender,
        recorder: Recorder,
        health: Health,
        *,
        start_monotonic_s: float,
        observer: AttemptObserver | None = None,
        on_attempt_end: Callable[[Job, int, Outcome, int, float], None] | None = None,
    ) -> None:
        self.experiment = experiment
        self._send = send
        self._recorder = recorder
        self.health = health
        self.start_monotonic_s = start_monotonic_s
        self._observer: AttemptObserver = observer or NullObserver()
        self._budget = BudgetAccount(experiment.client.budget)
        self._on_attempt_end = on_attempt_end
        self._policy = experiment.client.policy
        self._timeout_s = experiment.client.timeout_s
        self._pace_s = _ENDLESS_PACE_S if math.isinf(experiment.client.max_attempts) else 0.0
        self._jitter = _uniforms(experiment.run.seed, health.worker)
        self._schedule = Schedule(experiment, health.worker, health.workers)
        self._hub = get_hub()
        self._timer: Any = None
        self._jobs: set[greenlet] = set()
        self._index = 0
        self._attempt_key = 0
        self.counts = Counts()
        self.sending = True
        self.fault: BaseException | None = None
        self.over = Event()

    @property
    def now_s(self) -> float:
        """Seconds since the run's start."""
        return time.monotonic() - self.start_monotonic_s

    @property
    def open_attempts(self) -> int:
        """Attempts on the wire now."""
        return len(self._recorder.open)

    def start(self) -> None:
        """Arm the first arrival; returns at once."""
        self.health.begin()
        self._arm()

    def stop(self, reason: str) -> None:
        """Send nothing more from now on; open attempts end as aborted and their connections close."""
        if not self.over.is_set():
            self.health.stopped_by = reason
            self._finish()

    def note_planned(self) -> None:
        """Bring the count of jobs that are due up to date, whether or not they were sent."""
        if not self.over.is_set():
            self.health.planned = self._schedule.due_by(self.now_s)

    # The dispatcher runs as a callback of the event loop, never in a greenlet of its own.

    def _arm(self) -> None:
        next_s = self._schedule.next_s
        due_s = self.experiment.duration_s if next_s is None else next_s
        self._timer = self._hub.loop.timer(max(due_s - self.now_s, 0.0))
        self._timer.start(self._wake, update=True)

    def _wake(self) -> None:
        self._timer.close()
        try:
            self._start_due()
        except Exception as error:  # the event loop would print it and go on without load
            self.fault = error
            self.stop(f"{type(error).__name__}: {error}")

    def _start_due(self) -> None:
        started = 0
        while started < _MAX_STARTS_PER_WAKE and self.sending:
            next_s = self._schedule.next_s
            if next_s is None or next_s > self.now_s:
                break
            self._start_job(self._schedule.take())
            started += 1
        if not self.sending:
            return
        if self._schedule.next_s is None and self.now_s >= self.experiment.duration_s:
            self._drain()
        else:
            self._arm()

    def _start_job(self, planned_s: float) -> None:
        job = Job(self._index * self.health.workers + self.health.worker, planned_s, self.health.worker)
        self._index += 1
        runner = greenlet(self._run_job, self._hub)
        self._jobs.add(runner)
        runner.switch(job, runner)

    def _drain(self) -> None:
        """All phases are over: nothing new is sent, what is open may take until its deadline."""
        self.sending = False
        self._timer = self._hub.loop.timer(self._timeout_s)
        self._timer.start(self._finish, update=True)
        self._finish_if_idle()

    def _finish_if_idle(self) -> None:
        if not self.sending and not self._recorder.open:
            self._finish()

    def _finish(self) -> None:
        if self.over.is_set():
            return
        self.note_planned()
        self.sending = False
        if self._timer is not None:
            self._timer.close()
        self.over.set()
        now_s = self.now_s
        for _, attempt, _, sent_s in self._recorder.abort_open(now_s):
            self._observer.ended(attempt, Outcome.ABORTED.value, now_s - sent_s)
        for runner in list(self._jobs):
            self._hub.loop.run_callback(_end, runner)

    def _run_job(self, job: Job, runner: greenlet) -> None:
        try:
            self._attempts(job)
        except GreenletExit:
            pass
        except Exception as error:
            # A bug, or one in the user's own request: the run cannot be trusted any more.
            self.fault = error
            self.stop(f"{type(error).__name__}: {error}")
        finally:
            self._jobs.discard(runner)
            self._finish_if_idle()

    def _attempts(self, job: Job) -> None:
        attempt, due_s = 1, job.planned_s
        while True:
            ended = self._one_attempt(job, attempt, due_s)
            if ended is None:
                return
            outcome, took_s, done_s = ended
            decision = self._policy.decide(attempt, outcome, done_s, next(self._jitter), self._budget)
            if not isinstance(decision, RetryAfter):
                if decision is BUDGET:
                    self._recorder.refused(job.job_id, attempt + 1, done_s)
                    self._observer.refused("budget")
                return
            pause_s = max(decision.delay_s, self._pace_s - took_s)
            # An attempt that failed without waiting (a refused connection) has not let anything else
            # run; a client that retries at once must, or it would shut out the stop as well.
            if pause_s > 0 or took_s < _INSTANT_S:
                self._sleep(max(pause_s, 0.0))
            if not self.sending:
                return
            attempt, due_s = attempt + 1, done_s + max(pause_s, 0.0)

    def _one_attempt(self, job: Job, attempt: int, due_s: float) -> tuple[Outcome, float, float] | None:
        """Send one attempt and record it: outcome, duration, end. None if the run ended meanwhile."""
        recorder, observer = self._recorder, self._observer
        self._attempt_key = key = self._attempt_key + 1
        sent_s = self.now_s
        self._count_start(attempt, sent_s - due_s)
        recorder.started(key, job.job_id, attempt, due_s, sent_s)
        observer.started(attempt)
        self._budget.sent(sent_s, attempt)
        outcome, status = self._send(job, attempt, self._timeout_s)
        done_s = self.now_s
        took_s = done_s - sent_s
        if key not in recorder.open:
            return None
        if outcome is Outcome.OK and took_s > self._timeout_s:
            outcome = Outcome.LATE
        recorder.ended(key, done_s, outcome, status)
        if outcome is Outcome.OK:
            self.counts.answered += 1
        else:
            self.counts.failed += 1
        observer.ended(attempt, outcome.value, took_s)
        self._budget.ended(done_s, attempt, outcome is Outcome.OK, 0.0)
        if self._on_attempt_end is not None:
            self._on_attempt_end(job, attempt, outcome, status, took_s)
        return outcome, took_s, done_s

    def _count_start(self, attempt: int, lag_s: float) -> None:
        self.health.attempts += 1
        if attempt > 1:
            self.counts.retries += 1
            return
        self.counts.first += 1
        self.health.sent += 1
        self.health.lag.add(lag_s)

    def _sleep(self, seconds: float) -> None:
        timer = self._hub.loop.timer(seconds)
        timer.start(greenlet.getcurrent().switch, update=True)
        try:
            self._hub.switch()
        finally:
            timer.close()


def _end(runner: greenlet) -> None:
    if not runner.dead:
        runner.throw(GreenletExit)


def _uniforms(seed: int, worker: int) -> Iterator[float]:
    rng = stream(seed, "jitter", worker)
    while True:
        yield from rng.random(1024).tolist()
