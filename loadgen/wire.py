"""One attempt: sent, recorded and counted, whoever wanted it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from domain.attempts import Outcome
from domain.observer import AttemptObserver
from loadgen.health import Health
from loadgen.recorder import Recorder
from loadgen.request import Job

_OK = Outcome.OK


class Sender(Protocol):
    """Sends one attempt."""

    def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int, float]:
        """Outcome, HTTP status (0 without one) and the seconds a rejection asked the client to stay away,
        within about ``timeout_s`` whatever the server does."""


@dataclass(slots=True)
class Counts:
    """Live counters, all cumulative; attempts are counted when they start."""

    first: int = 0
    retries: int = 0
    answered: int = 0
    failed: int = 0


class Ended(NamedTuple):
    """How an attempt ended, ``took_s`` after it was sent."""

    outcome: Outcome
    status: int
    retry_after_s: float
    took_s: float
    done_s: float


class Wire:
    """Where all attempts of a worker go through. Times are seconds since the run's start."""

    def __init__(
        self,
        send: Sender,
        recorder: Recorder,
        health: Health,
        observer: AttemptObserver,
        start_monotonic_s: float,
        on_attempt_end: Callable[[Job, int, Outcome, int, float], None] | None,
        before_sending: Callable[[float], None] | None = None,
    ) -> None:
        self._send = send
        self._recorder = recorder
        self._health = health
        self._observer = observer
        self._start_monotonic_s = start_monotonic_s
        self._on_attempt_end = on_attempt_end
        self._before_sending = before_sending
        self._key = 0
        self.counts = Counts()

    @property
    def now_s(self) -> float:
        """Seconds since the run's start."""
        return time.monotonic() - self._start_monotonic_s

    @property
    def open_attempts(self) -> int:
        """Attempts on the wire now."""
        return len(self._recorder.open)

    def begin(self, job: Job, attempt: int, due_s: float, sent_s: float) -> int:
        """Count and record that an attempt goes out now; returns the key that names it.

        Raises ``GreenletExit`` if it must not.
        """
        if self._before_sending is not None:
            self._before_sending(sent_s)
        self._key = key = self._key + 1
        self._health.attempts += 1
        if attempt > 1:
            self.counts.retries += 1
        else:
            self.counts.first += 1
            self._health.sent += 1
            self._health.lag.add(sent_s - due_s)
        self._recorder.started(key, job.job_id, attempt, due_s, sent_s)
        self._observer.started(attempt)
        return key

    def exchange(self, key: int, job: Job, attempt: int, sent_s: float, timeout_s: float) -> Ended | None:
        """Send what ``begin`` announced and wait for its end. None if it was ended by others meanwhile."""
        outcome, status, retry_after_s = self._send(job, attempt, timeout_s)
        done_s = self.now_s
        took_s = done_s - sent_s
        if key not in self._recorder.open:
            return None
        if outcome is _OK and took_s > timeout_s:
            outcome = Outcome.LATE
        self._recorder.ended(key, done_s, outcome, status)
        if outcome is _OK:
            self.counts.answered += 1
        else:
            self.counts.failed += 1
        self._observer.ended(attempt, outcome.value, took_s)
        if self._on_attempt_end is not None:
            self._on_attempt_end(job, attempt, outcome, status, took_s)
        return Ended(outcome, status, retry_after_s, took_s, done_s)

    def cancel(self, key: int, attempt: int, sent_s: float, now_s: float) -> None:
        """Another copy was answered: record it. Whoever waits in ``exchange`` gets None."""
        self._recorder.ended(key, now_s, Outcome.CANCELLED, 0)
        self._observer.ended(attempt, Outcome.CANCELLED.value, now_s - sent_s)

    def miss(self, attempt: int, due_s: float, now_s: float) -> None:
        """An attempt comes too late to be sent: so late a first one is the generator's fault."""
        if attempt == 1:
            self._health.lag.add(now_s - due_s)

    def refuse(self, job: Job, attempt: int, due_s: float, now_s: float, reason: str, terminal: bool) -> None:
        """Record that the client itself said no to an attempt that was due at ``due_s``."""
        if attempt == 1:
            self._health.first_refused += 1
            self._health.lag.add(now_s - due_s)
        self._recorder.refused(job.job_id, attempt, due_s, now_s, reason, terminal)
        self._observer.refused(reason)

    def abort_open(self) -> None:
        """The run is over: what is still open ends as aborted."""
        now_s = self.now_s
        for _, attempt, _, sent_s in self._recorder.abort_open(now_s):
            self._observer.ended(attempt, Outcome.ABORTED.value, now_s - sent_s)
