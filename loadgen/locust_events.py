"""The Locust side: the events that start and stop the storm, alone, as a worker or as the master.

The same code serves ``tipover run``, a plain ``locust -f`` with its web page, and several workers. Locust
keeps doing what it is good at (command line, web page, processes); it does not pace anything here, since
all its wait times are closed loops. However many users are spawned, each worker process runs one storm:
its share of the experiment's arrivals.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gevent
from locust.env import Environment
from locust.runners import MasterRunner, WorkerRunner

from domain.attempts import Outcome
from domain.errors import ExitCode, TipoverError
from domain.experiment import Experiment
from domain.observer import AttemptObserver
from loadgen.destination import Destination
from loadgen.health import Health
from loadgen.limits import check_plan_fits, raise_descriptor_limit
from loadgen.request import Job
from loadgen.sender import HttpSender
from loadgen.session import Session, Share
from loadgen.user import StormUser

log = logging.getLogger("tipover.loadgen")

START_MESSAGE = "tipover_start"
DONE_MESSAGE = "tipover_done"
ALIVE_MESSAGE = "tipover_alive"
LEAD_S = 0.5
"""From the word of the start to time zero: long enough to reach every worker."""
ALIVE_EVERY_S = 0.25
MASTER_LOST_AFTER_S = 0.9
"""A worker that has not heard its master for this long stops: nothing is sent a second after a loss."""


@dataclass
class StormSettings:
    """How the storm in this process is set up."""

    experiment: Experiment
    out: Path | None = None
    progress_fd: int | None = None
    allowed_hosts: tuple[str, ...] = ()
    observer: AttemptObserver | None = None
    report_to_locust: bool = True
    quit_when_over: bool = False
    on_session: Callable[[Session], None] = field(default=lambda _session: None)


def attach(environment: Environment, settings: StormSettings) -> None:
    """Make Locust's start and stop drive the storm in this process (call it from ``events.init``)."""
    runner = environment.runner
    if isinstance(runner, MasterRunner):
        _MasterSide(environment, settings)
    elif isinstance(runner, WorkerRunner):
        _WorkerSide(environment, settings)
    else:
        _LocalSide(environment, settings)


class _StormSide:
    """What a process that sends has in common, be it alone or a worker."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        self.environment = environment
        self.settings = settings
        self.live = settings.experiment.live()
        self.session: Session | None = None
        events = environment.events
        events.test_stopping.add_listener(lambda **_: self.stop("the test was stopped"))
        events.quitting.add_listener(lambda **_: self.stop("the generator was told to quit"))
        raise_descriptor_limit()

    def begin(self, share: Share) -> None:
        """Start this process's share of the load."""
        if self.session is not None and not self.session.storm.over.is_set():
            return
        user = self._user()
        try:
            destination = Destination(self.environment.host or "", self.settings.allowed_hosts)
            check_plan_fits(self.live, destination.ip, share.workers)
        except TipoverError as error:
            self._refuse(error)
            return
        self.session = Session(
            self.live,
            share,
            lambda health: _sender(user, destination, health),
            out=self.settings.out,
            progress_fd=self.settings.progress_fd,
            observer=self.settings.observer,
            on_attempt_end=self._tell_locust(user) if self.settings.report_to_locust else None,
            finished=self.finished,
        )
        self.settings.on_session(self.session)
        self.session.start()

    def stop(self, reason: str) -> None:
        """End the load at once and wait until the trace is on disk."""
        if self.session is not None:
            self.session.stop(reason)
            self.session.join(10)

    def finished(self, session: Session) -> None:
        """The share is over and on disk."""
        if session.fault:
            log.error("this run is invalid: %s", session.fault)
            self.environment.process_exit_code = int(ExitCode.INVALID_RUN)

    def _refuse(self, error: TipoverError) -> None:
        log.error("%s", error)
        self.environment.process_exit_code = int(error.exit_code)
        gevent.spawn(self.environment.runner.quit)

    def _user(self) -> StormUser:
        classes = [c for c in self.environment.user_classes if issubclass(c, StormUser)]
        if len(classes) != 1:
            names = ", ".join(c.__name__ for c in classes) or "none"
            raise TipoverError(f"the locustfile must have exactly one StormUser class (found: {names})")
        return classes[0](self.environment)  # type: ignore[no-any-return]

    def _tell_locust(self, user: StormUser) -> Callable[..., None]:
        fire = self.environment.events.request.fire
        name = type(user).__name__

        def tell(job: Job, attempt: int, outcome: Outcome, status: int, duration_s: float) -> None:
            del job
            failure = None if outcome is Outcome.OK else RuntimeError(f"{outcome} {status or ''}".strip())
            fire(
                request_type="first" if attempt == 1 else "retry",
                name=name,
                response_time=duration_s * 1e3,
                response_length=0,
                exception=failure,
                context={},
            )

        return tell


class _LocalSide(_StormSide):
    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        super().__init__(environment, settings)
        environment.events.test_start.add_listener(self._on_start)

    def _on_start(self, **_: Any) -> None:
        self.begin(Share(0, 1, time.monotonic() + LEAD_S))

    def finished(self, session: Session) -> None:
        super().finished(session)
        runner = self.environment.runner
        gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)


class _WorkerSide(_StormSide):
    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        super().__init__(environment, settings)
        self._heard_s = time.monotonic()
        self._parent = os.getppid()
        runner = environment.runner
        runner.register_message(START_MESSAGE, self._on_start_message)
        runner.register_message(ALIVE_MESSAGE, self._on_alive)

    def _on_start_message(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        word = msg.data
        same_machine = word["machine"] == socket.gethostname()
        start_s = word["start_monotonic_s"] if same_machine else time.monotonic() + LEAD_S
        self._heard_s = time.monotonic()
        self.begin(Share(word["worker"], word["workers"], start_s))
        gevent.spawn(self._watch_master)

    def _on_alive(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment, msg
        self._heard_s = time.monotonic()

    def _watch_master(self) -> None:
        session = self.session
        while session is not None and not session.storm.over.is_set():
            gevent.sleep(ALIVE_EVERY_S / 2)
            if os.getppid() != self._parent or time.monotonic() - self._heard_s > MASTER_LOST_AFTER_S:
                self.environment.process_exit_code = int(ExitCode.INVALID_RUN)
                self.stop("the master is gone")
                self.environment.runner.quit()

    def finished(self, session: Session) -> None:
        super().finished(session)
        self.environment.runner.send_message(
            DONE_MESSAGE,
            {"worker": self.session.health.worker if self.session else -1, "fault": session.fault},
        )

    def _refuse(self, error: TipoverError) -> None:
        self.environment.runner.send_message(DONE_MESSAGE, {"worker": -1, "fault": str(error)})
        super()._refuse(error)


class _MasterSide:
    """Says who makes which share and when time zero is, and ends when all workers are done."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        self.environment = environment
        self.settings = settings
        self._expected = 0
        self._waiting = 0
        self._running = False
        environment.events.test_start.add_listener(self._on_start)
        environment.events.test_stopping.add_listener(self._on_stop)
        environment.events.quitting.add_listener(self._on_stop)
        environment.runner.register_message(DONE_MESSAGE, self._on_done)

    def _on_start(self, **_: Any) -> None:
        runner = self.environment.runner
        clients = [c.id for c in runner.clients.ready + runner.clients.spawning + runner.clients.running]
        self._waiting = self._expected = len(clients)
        start_s = time.monotonic() + LEAD_S
        for worker, client_id in enumerate(sorted(clients)):
            word = {
                "worker": worker,
                "workers": len(clients),
                "start_monotonic_s": start_s,
                "machine": socket.gethostname(),
            }
            runner.send_message(START_MESSAGE, word, client_id)
        self._running = True
        gevent.spawn(self._say_alive)

    def _say_alive(self) -> None:
        runner = self.environment.runner
        while self._running:
            runner.send_message(ALIVE_MESSAGE, {})
            gevent.sleep(ALIVE_EVERY_S)
            if self._running and runner.worker_count < self._expected:
                log.error("this run is invalid: a worker died, so its share of the load was not sent")
                self.environment.process_exit_code = int(ExitCode.INVALID_RUN)
                self._running = False
                gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)

    def _on_stop(self, **_: Any) -> None:
        self._running = False

    def _on_done(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        if msg.data.get("fault"):
            log.error("this run is invalid: %s", msg.data["fault"])
            self.environment.process_exit_code = int(ExitCode.INVALID_RUN)
        self._waiting -= 1
        if self._waiting <= 0:
            runner = self.environment.runner
            gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)


def _sender(user: StormUser, destination: Destination, health: Health) -> Any:
    if type(user).send is StormUser.send:
        return HttpSender(destination, user.request, user.is_success, health)
    return _UserSender(user)


class _UserSender:
    """A user's own ``send`` under the same hard deadline."""

    def __init__(self, user: StormUser) -> None:
        self._user = user

    def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int]:
        with gevent.Timeout(timeout_s, False):
            return self._user.send(job, attempt, timeout_s)
        return Outcome.TIMEOUT, 0

    def close(self) -> None:
        """Nothing is kept."""
