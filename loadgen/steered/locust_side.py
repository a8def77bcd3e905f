"""Makes Locust's start and stop drive a steered test, in a process that is alone.

The user class says what an attempt is, as in any run; ``PlannedUser`` sends the plan's own requests.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import gevent
from locust.env import Environment

from domain.errors import ConfigurationError, Fault, TipoverError
from domain.trigger.plan import TriggerPlan
from loadgen.destination import Destination
from loadgen.gates import check_clients_can_be_shared
from loadgen.health import Health
from loadgen.limits import raise_descriptor_limit
from loadgen.locust_storm import UserSender, log, sends_itself, storm_user
from loadgen.mix import MixedRequests
from loadgen.request import Job, Request
from loadgen.sender import HttpSender
from loadgen.steered.patient import OnceSender
from loadgen.steered.steering import Senders, Steering
from loadgen.user import StormUser


@dataclass(frozen=True, slots=True)
class SteeredSettings:
    """How the steered test in this process is set up; the descriptors are inherited pipes' ends."""

    plan: TriggerPlan
    commands_fd: int
    lines_fd: int
    out: Path | None = None
    allowed_hosts: tuple[str, ...] = ()


class PlannedUser(StormUser):
    """Sends the requests of a plan's mix; ``plan`` is set before it is made."""

    abstract = True
    plan: ClassVar[TriggerPlan | None] = None

    def __init__(self, environment: Environment) -> None:
        super().__init__(environment)
        assert self.plan is not None
        self._mix = MixedRequests(self.plan.mix, os.environ, self.plan.seed)
        self.request = self._mix.request  # type: ignore[method-assign]
        self.is_success = self._mix.is_success  # type: ignore[method-assign]
        self.body_match = self._mix.body_match


class SteeredSide:
    """The process that sends; attach it in Locust's ``events.init``."""

    def __init__(self, environment: Environment, settings: SteeredSettings) -> None:
        self._environment = environment
        self._settings = settings
        self._steering: Steering | None = None
        events = environment.events
        events.test_start.add_listener(self._on_start)
        events.test_stopping.add_listener(lambda **_: self._stop("the test was stopped"))
        events.quitting.add_listener(lambda **_: self._stop("the generator was told to quit"))
        raise_descriptor_limit()

    def _on_start(self, **_: Any) -> None:
        settings = self._settings
        PlannedUser.plan = settings.plan
        try:
            check_clients_can_be_shared(settings.plan.client, 1)
            user = storm_user(self._environment)
            _check_asks(user)
            self._steering = Steering(
                settings.plan,
                lambda health: _senders(user, settings, health),
                out=settings.out,
                commands_fd=settings.commands_fd,
                lines_fd=settings.lines_fd,
                finished=self._finished,
            )
        except TipoverError as error:
            self._refuse(error)
            return
        self._steering.start()

    def _stop(self, reason: str) -> None:
        """End the load at once and wait until everything is on disk."""
        if self._steering is not None:
            self._steering.stop(reason)
            self._steering.join(10)

    def _finished(self, steering: Steering) -> None:
        if steering.fault:
            log.error("this run is invalid: %s", steering.fault)
        self._environment.process_exit_code = int(steering.exit_code)
        gevent.spawn(self._environment.runner.quit)

    def _refuse(self, error: TipoverError) -> None:
        log.error("%s", error)
        self._environment.process_exit_code = int(error.exit_code)
        gevent.spawn(self._environment.runner.quit)


def _check_asks(user: StormUser) -> None:
    """Ask a user's own class for a request before the load, and refuse one that gives none."""
    if isinstance(user, PlannedUser) or sends_itself(user):
        return
    try:
        asked: object = user.request(Job(0, 0.0, 0))
        said = "" if isinstance(asked, Request) else f"it returned {type(asked).__name__}, not a Request"
    except Exception as error:  # whatever a user's code may raise
        said = f"it raised {type(error).__name__}: {error}"
    if said:
        name = f"{type(user).__name__}.request"
        raise ConfigurationError("the user class gives no request", [Fault(name, said, None)])


def _senders(user: StormUser, settings: SteeredSettings, health: Health) -> Senders:
    """What sends: the user itself, or its requests over HTTP; probes may go elsewhere."""
    target = settings.plan.target
    if sends_itself(user):
        if target.probe_url is not None:
            rule = "cannot be used with a user class that has a send of its own"
            fault = Fault("target.probe_url", rule, target.probe_url)
            raise ConfigurationError("these probes cannot be sent", [fault])
        own = UserSender(user)
        return Senders(own, OnceSender(own), OnceSender(own))
    jobs = _http_sender(user, settings, health, target.url, target.address)
    if target.probe_url is None:
        return Senders(jobs, OnceSender(jobs), jobs)
    probes = _http_sender(user, settings, health, target.probe_url, target.probe_address)
    return Senders(jobs, OnceSender(jobs), probes)


def _http_sender(
    user: StormUser, settings: SteeredSettings, health: Health, url: str, address: str | None
) -> HttpSender:
    plan = settings.plan
    return HttpSender(
        Destination(url, settings.allowed_hosts, address=address),
        user.request,
        user.is_success,
        health,
        plan.client,
        body_match=getattr(user, "body_match", None),
        ca_file=plan.target.ca_file,
    )
