"""What a Locust process that sends has in common, and the process that sends alone."""

from __future__ import annotations

import logging
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import gevent
from locust.env import Environment

from domain.attempts import Outcome
from domain.errors import ConfigurationError, ExitCode, TipoverError
from domain.experiment import Client, Experiment
from domain.observer import AttemptObserver
from loadgen.destination import Destination
from loadgen.gates import check_clients_can_be_shared
from loadgen.health import Health
from loadgen.limits import check_plan_fits, raise_descriptor_limit
from loadgen.progress_pipe import ProgressPipe
from loadgen.request import Job
from loadgen.sender import HttpSender
from loadgen.session import Session, Share
from loadgen.user import StormUser

log = logging.getLogger("tipover.loadgen")

LEAD_S = 0.5
"""From the word of the start to time zero: long enough to reach every worker."""


@dataclass(frozen=True, slots=True)
class Generator:
    """A process that makes a share: which, on which host, and whether it has the clock of time zero."""

    worker: int
    host: str
    same_clock: bool


class RunBook(Protocol):
    """Where runs are kept: asked for a directory at every start, told how the run went."""

    def open(self, workers: int, url: str) -> Path | None:
        """The directory of the run that begins now; None to keep no trace. May raise ``TipoverError``."""

    def begun(self, start_monotonic_s: float, generators: Sequence[Generator]) -> None:
        """The load begins: when time zero is, and who makes it."""

    def close(self, stopped_by: str | None) -> None:
        """The run is over: ``stopped_by`` says what ended it early, if anything did."""


@dataclass
class StormSettings:
    """How the storm in this process is set up.

    ``experiment`` is None in a worker, whose master says what is run. ``workers`` is how many workers a
    master waits for, ``wait_s`` how long; None takes those that are there. ``below`` is the directory
    outside of which a worker writes nothing. ``served`` says that a worker is started again when it ends.
    """

    experiment: Experiment | None
    book: RunBook
    progress_fd: int | None = None
    allowed_hosts: tuple[str, ...] = ()
    observer: AttemptObserver | None = None
    report_to_locust: bool = True
    quit_when_over: bool = False
    workers: int | None = None
    wait_s: float = 60.0
    below: Path | None = None
    served: bool = False


@dataclass(frozen=True, slots=True)
class Prepared:
    """A load that this process can make and may send: in live seconds, by whom, where to."""

    live: Experiment
    user: StormUser
    destination: Destination


class StormSide:
    """What a process that sends has in common, be it alone or a worker."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        self.environment = environment
        self.settings = settings
        self.session: Session | None = None
        events = environment.events
        events.test_stopping.add_listener(lambda **_: self.stop("the test was stopped"))
        events.quitting.add_listener(lambda **_: self.stop("the generator was told to quit"))
        raise_descriptor_limit()

    @property
    def busy(self) -> bool:
        """Whether a load is going on."""
        return self.session is not None and not self.session.storm.over.is_set()

    def prepare(self, experiment: Experiment, target: str, workers: int = 1, neighbours: int = 1) -> Prepared:
        """Look whether this process can make its share of the load and may send it there.

        Raises ``ConfigurationError`` if not.
        """
        live = experiment.live()
        destination = Destination(target, self.settings.allowed_hosts)
        check_plan_fits(live, destination.ip, workers, neighbours)
        check_clients_can_be_shared(live.client, workers)
        user = storm_user(self.environment)
        user.host = destination.url  # of this one alone: a master's later word must not change it
        return Prepared(live, user, destination)

    def begin(
        self,
        prepared: Prepared,
        share: Share,
        out: Path | None,
        tell: Callable[[dict[str, Any]], None] | None = None,
        *,
        stats: bool,
    ) -> None:
        """Start this process's share of the load; with ``stats`` Locust is told of each attempt."""
        live, user, destination = prepared.live, prepared.user, prepared.destination
        self.session = Session(
            live,
            share,
            lambda health: _sender(user, destination, health, live.client),
            out=out,
            tell=tell,
            observer=self.settings.observer,
            on_attempt_end=self._tell_locust(user) if stats else None,
            finished=self.finished,
        )
        log.info(
            "the load is the scenario's (%s, %.0f s); the number of users asked for changes nothing",
            live.name,
            live.duration_s,
        )
        if out is None:
            log.info("no trace is kept: give --out DIR to be able to judge this run")
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


class LocalSide(StormSide):
    """A process that makes the whole load by itself."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        super().__init__(environment, settings)
        environment.events.test_start.add_listener(self._on_start)

    def _on_start(self, **_: Any) -> None:
        if self.busy:
            return
        settings, url = self.settings, self.environment.host or ""
        assert settings.experiment is not None
        try:
            prepared = self.prepare(settings.experiment, url)
            out = settings.book.open(1, url)
        except TipoverError as error:
            log.error("%s", error)
            self.environment.process_exit_code = int(error.exit_code)
            gevent.spawn(self.environment.runner.quit)
            return
        start_s = time.monotonic() + LEAD_S
        settings.book.begun(start_s, [Generator(0, platform.node(), same_clock=True)])
        tell = None if settings.progress_fd is None else ProgressPipe(settings.progress_fd)
        self.begin(prepared, Share(0, 1, start_s), out, tell, stats=settings.report_to_locust)

    def finished(self, session: Session) -> None:
        """Tell whoever keeps the run, and end."""
        super().finished(session)
        self.settings.book.close(session.health.stopped_by)
        runner = self.environment.runner
        gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)


def storm_user(environment: Environment) -> StormUser:
    """The one that says what an attempt is; raises ``ConfigurationError`` unless there is one class of it."""
    classes = environment.user_classes
    if len(classes) != 1 or not issubclass(classes[0], StormUser):
        names = ", ".join(c.__name__ for c in classes) or "none"
        raise ConfigurationError(
            f"the locustfile must have one user class, a StormUser, and no other (found: {names})"
        )
    return classes[0](environment)  # type: ignore[no-any-return]


def _sender(user: StormUser, destination: Destination, health: Health, client: Client) -> Any:
    if sends_itself(user):
        return UserSender(user)
    return HttpSender(destination, user.request, user.is_success, health, client)


def sends_itself(user: StormUser) -> bool:
    """Whether it brings a ``send`` of its own."""
    return type(user).send is not StormUser.send


class UserSender:
    """A user's own ``send`` under the same hard deadline."""

    def __init__(self, user: StormUser) -> None:
        self._user = user

    def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int, float]:
        """See ``wire.Sender``."""
        with gevent.Timeout(timeout_s, False):
            return *self._user.send(job, attempt, timeout_s), 0.0
        return Outcome.TIMEOUT, 0, 0.0

    def close(self) -> None:
        """Nothing is kept."""
