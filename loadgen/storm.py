"""The storm: jobs start on absolute planned times, one greenlet each, whatever the service does.

A timer of the event loop starts every job that is due by switching straight into its greenlet; nothing
is queued in between, and a start that comes late is counted as lag. What a job then does is in
``retrying`` and ``hedged``; its rules and the arrival times come from ``domain``.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import Any

from gevent import get_hub
from gevent.event import Event

from domain.attempts import Outcome
from domain.budgets.decide import FAILED
from domain.experiment import Experiment
from domain.observer import AttemptObserver, NullObserver
from loadgen.client_side import ClientSide
from loadgen.crew import Crew
from loadgen.gates import gates_of
from loadgen.health import Health
from loadgen.hedged import HedgedJob
from loadgen.recorder import Recorder
from loadgen.request import Job
from loadgen.retrying import Retrying
from loadgen.schedule import Arrivals, Schedule
from loadgen.wire import Counts, Sender, Wire

_MAX_STARTS_PER_WAKE = 50
"""After this many starts in one go the loop gets a turn, so that answers are read while a backlog of
late starts is worked off."""


class Storm:
    """One worker's share of an experiment's load.

    ``experiment`` is in live seconds (``Experiment.live()``). ``start_monotonic_s`` is time zero on
    CLOCK_MONOTONIC, the same for all workers of one machine. ``arrivals`` are when jobs start, if not when
    the experiment says; whoever changes them calls ``rearm``. ``before_sending`` is told the time before
    every attempt, and raises ``GreenletExit`` to keep it from being sent.
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
        arrivals: Arrivals | None = None,
        before_sending: Callable[[float], None] | None = None,
    ) -> None:
        self.experiment = experiment
        self.health = health
        self.start_monotonic_s = start_monotonic_s
        self._wire = Wire(
            send,
            recorder,
            health,
            observer or NullObserver(),
            start_monotonic_s,
            on_attempt_end,
            before_sending,
        )
        self._crew = Crew(self._failed, self._finish_if_idle)
        self._side = ClientSide(experiment, health.worker, self._wire, self._crew)
        self._retrying = Retrying(self._side)
        self._gates = gates_of(experiment.client, health.workers)
        self._hedging = experiment.client.hedging
        self._schedule = arrivals or Schedule(experiment, health.worker, health.workers)
        self._hub = get_hub()
        self._timer: Any = None
        self._index = 0
        self.fault: BaseException | None = None
        self.over = Event()

    @property
    def now_s(self) -> float:
        """Seconds since the run's start."""
        return time.monotonic() - self.start_monotonic_s

    @property
    def open_attempts(self) -> int:
        """Attempts on the wire now."""
        return self._wire.open_attempts

    @property
    def counts(self) -> Counts:
        """Attempts so far."""
        return self._wire.counts

    def start(self) -> None:
        """Arm the first arrival; returns at once."""
        self.health.begin()
        self._arm()

    def stop(self, reason: str) -> None:
        """Send nothing more from now on; open attempts end as aborted and their connections close."""
        if not self.over.is_set():
            self.health.stopped_by = reason
            self._finish()

    def end(self) -> None:
        """The load is done as it was planned to be; what is open ends as aborted."""
        self._finish()

    def rearm(self) -> None:
        """The arrivals have changed: wait for the next one anew."""
        if not self.over.is_set():
            self._timer.close()
            self._arm()

    def drop(self) -> None:
        """Hang up on everything that is open, and end every job, as clients that are restarted would: their
        budgets and breakers begin anew. Jobs that arrive from now on are sent."""
        gone, self._side = self._side, copy(self._side)
        gone.sending = False
        self._wire.abort_open()
        gone.crew.end_all()
        self._crew = self._side.crew = Crew(self._failed, self._finish_if_idle)
        self._retrying = Retrying(self._side)
        self._gates = gates_of(self.experiment.client, self.health.workers)

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
            self._failed(error)

    def _start_due(self) -> None:
        started = 0
        while started < _MAX_STARTS_PER_WAKE and self._side.sending:
            next_s = self._schedule.next_s
            if next_s is None or next_s > self.now_s:
                break
            self._start_job(self._schedule.take())
            started += 1
        if not self._side.sending:
            return
        if self._schedule.next_s is None and self.now_s >= self.experiment.duration_s:
            self._drain()
        else:
            self._arm()

    def _start_job(self, planned_s: float) -> None:
        health = self.health
        job = Job(self._index * health.workers + health.worker, planned_s, health.worker)
        gates = self._gates[self._index % len(self._gates)]
        self._index += 1
        if self._hedging is None:
            self._crew.start(self._retrying.run, job, gates)
        else:
            hedged = HedgedJob(self._side, self._hedging, job, gates)
            self._crew.start(hedged.send_copy, planned_s, FAILED)

    def _drain(self) -> None:
        """All phases are over: nothing new is sent, what is open may take until its deadline."""
        self._side.sending = False
        self._timer = self._hub.loop.timer(self.experiment.client.timeout_s)
        self._timer.start(self._finish, update=True)
        self._finish_if_idle()

    def _finish_if_idle(self) -> None:
        if not self._side.sending and not self._wire.open_attempts:
            self._finish()

    def _finish(self) -> None:
        if self.over.is_set():
            return
        self.note_planned()
        self._side.sending = False
        if self._timer is not None:
            self._timer.close()
        self.over.set()
        self._wire.abort_open()
        self._crew.end_all()

    def _failed(self, error: Exception) -> None:
        """A bug, or one in the user's own request: the run cannot be trusted any more."""
        self.fault = error
        self.stop(f"{type(error).__name__}: {error}")
