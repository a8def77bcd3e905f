"""A Locust worker: makes the share that its master gives it, if its own options allow that."""

from __future__ import annotations

import os
import time
from typing import Any

import gevent
from locust.env import Environment

from domain.errors import ConfigurationError, ExitCode, Fault, TipoverError
from loadgen.cluster_words import (
    ALIVE_MESSAGE,
    DONE_MESSAGE,
    PREPARE_MESSAGE,
    PROGRESS_MESSAGE,
    READY_MESSAGE,
    START_MESSAGE,
    STOP_MESSAGE,
    Answer,
    Order,
    order_from,
    run_of,
    start_from,
)
from loadgen.limits import machine_id, network_id
from loadgen.locust_storm import Prepared, StormSettings, StormSide, log
from loadgen.session import Session, Share
from loadgen.shared_directory import check_shared

WATCH_EVERY_S = 0.1
MASTER_LOST_AFTER_S = 0.9
"""A worker that has not heard its master for this long stops: nothing is sent a second after a loss."""
MASTER_SILENT_AFTER_S = 5.0
"""Locust answers a worker's heartbeat every second. Locust itself would wait a minute for the next one."""


class WorkerSide(StormSide):
    """A process that makes the share its master gives it."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        super().__init__(environment, settings)
        self._order: Order | None = None
        self._prepared: Prepared | None = None
        self._heard_s = self._heartbeat_s = time.monotonic()
        self._parent = os.getppid()
        self._at_work = False
        runner = environment.runner
        runner.register_message(PREPARE_MESSAGE, self._on_prepare)
        runner.register_message(START_MESSAGE, self._on_start_message)
        runner.register_message(ALIVE_MESSAGE, self._on_alive)
        runner.register_message(STOP_MESSAGE, self._on_stop_message)
        if settings.served:
            environment.events.heartbeat_received.add_listener(self._on_heartbeat)
            gevent.spawn(self._watch_heartbeat)

    def _on_prepare(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        # A name may take its time to resolve, and the master's other words must be heard meanwhile.
        gevent.spawn(self._prepare, msg.data)

    def _prepare(self, message: object) -> None:
        refusal = None
        try:
            if self.busy or self._at_work:
                raise ConfigurationError("this worker makes the load of another run")
            order = order_from(message)
            self._order = self._prepared = None
            prepared = self.prepare(order.experiment, order.target, order.workers, order.neighbours)
            _check_same_user(prepared, order)
            if order.out is not None:
                check_shared(order.out, order.run, self.settings.below)
            self._order, self._prepared = order, prepared
        except (TipoverError, ValueError) as error:  # the latter: legal values that make no load
            refusal = str(error)
            log.warning("refused, nothing was sent: %s", error)
        answer = Answer(run_of(message), refusal, machine_id(), network_id())
        self.environment.runner.send_message(READY_MESSAGE, answer.as_message())

    def _on_start_message(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        order, prepared = self._order, self._prepared
        try:
            start = start_from(msg.data)
        except ConfigurationError as error:
            log.warning("ignored: %s", error)
            return
        if order is None or prepared is None or order.run != start.run or self._at_work:
            log.warning("ignored: a start of something that was not prepared")
            return
        self._prepared = None
        self._heard_s = time.monotonic()
        self._at_work = True
        start_s = start.on_clock(machine_id(), self._heard_s)
        share = Share(order.worker, order.workers, start_s)
        try:
            self.begin(prepared, share, order.out, self._tell, stats=order.stats)
        except OSError as error:  # a full disk, say: the next run may find room
            self._at_work = False
            fault = f"worker {order.worker} could not begin: {error}"
            log.error("%s", fault)
            self._say(DONE_MESSAGE, {"fault": fault, "stopped_by": fault})
            return
        gevent.spawn(self._watch_master)

    def _tell(self, line: dict[str, Any]) -> None:
        self._say(PROGRESS_MESSAGE, line)

    def _on_alive(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment, msg
        self._heard_s = time.monotonic()

    def _on_stop_message(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        if self._order is not None and run_of(msg.data) == self._order.run:
            self._prepared = None
            gevent.spawn(self.stop, "the master said so")

    def _watch_master(self) -> None:
        """Until the share is on disk: tell the master that we live, and stop when it does not."""
        session = self.session
        while session is not None and self._at_work:
            gevent.sleep(WATCH_EVERY_S)
            if os.getppid() != self._parent or time.monotonic() - self._heard_s > MASTER_LOST_AFTER_S:
                log.error("the master is gone: the load stops")
                self._leave("the master is gone")
                return
            self._say(ALIVE_MESSAGE, {})

    def _on_heartbeat(self, **_: Any) -> None:
        self._heartbeat_s = time.monotonic()

    def _watch_heartbeat(self) -> None:
        """End when the master has gone between two runs: whoever started this worker waits for the next."""
        while time.monotonic() - self._heartbeat_s < MASTER_SILENT_AFTER_S or self.busy:
            gevent.sleep(WATCH_EVERY_S)
        self._leave("the master is gone")

    def _leave(self, reason: str) -> None:
        self.environment.process_exit_code = int(ExitCode.INVALID_RUN)
        self.stop(reason)
        self.environment.runner.quit()

    def finished(self, session: Session) -> None:
        """Tell the master."""
        super().finished(session)
        self._at_work = False
        self._say(DONE_MESSAGE, {"fault": session.fault, "stopped_by": session.health.stopped_by})

    def _say(self, kind: str, data: dict[str, Any]) -> None:
        run = "" if self._order is None else self._order.run
        self.environment.runner.send_message(kind, {"run": run, **data})


def _check_same_user(prepared: Prepared, order: Order) -> None:
    ours = type(prepared.user).__name__
    if ours != order.user:
        rule = f"must be the master's locustfile, whose user class is {order.user}"
        raise ConfigurationError("another load would be sent", [Fault("locustfile", rule, ours)])
