"""Several Locust workers: the master says how the load is shared and when it begins."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import gevent
from locust.env import Environment

from domain.errors import ExitCode, TipoverError
from loadgen.limits import machine_id
from loadgen.locust_storm import LEAD_S, StormSettings, StormSide, log
from loadgen.session import Session, Share

START_MESSAGE = "tipover_start"
DONE_MESSAGE = "tipover_done"
ALIVE_MESSAGE = "tipover_alive"
ALIVE_EVERY_S = 0.25
MASTER_LOST_AFTER_S = 0.9
"""A worker that has not heard its master for this long stops: nothing is sent a second after a loss."""


class WorkerSide(StormSide):
    """A process that makes the share its master gives it."""

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
        same_machine = word["machine"] == machine_id()
        start_s = word["start_monotonic_s"] if same_machine else time.monotonic() + LEAD_S
        self._heard_s = time.monotonic()
        out = Path(word["out"]) if word["out"] else None
        self.begin(Share(word["worker"], word["workers"], start_s), lambda: out)
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
        """Tell the master."""
        super().finished(session)
        self._say_done(session.fault, session.health.stopped_by)

    def refuse(self, error: TipoverError) -> None:
        """Tell the master, whose run this makes worthless."""
        self._say_done(str(error), str(error))
        super().refuse(error)

    def _say_done(self, fault: str | None, stopped_by: str | None) -> None:
        self.environment.runner.send_message(DONE_MESSAGE, {"fault": fault, "stopped_by": stopped_by})


class MasterSide:
    """Says who makes which share and when time zero is, and ends when all workers are done."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        self.environment = environment
        self.settings = settings
        self._expected = 0
        self._waiting = 0
        self._running = False
        self._stopped_by: str | None = None
        environment.events.test_start.add_listener(self._on_start)
        environment.events.test_stopping.add_listener(self._on_stop)
        environment.events.quitting.add_listener(self._on_stop)
        environment.runner.register_message(DONE_MESSAGE, self._on_done)

    def _on_start(self, **_: Any) -> None:
        runner = self.environment.runner
        clients = [c.id for c in runner.clients.ready + runner.clients.spawning + runner.clients.running]
        self._waiting = self._expected = len(clients)
        self._stopped_by = None
        try:
            out = self.settings.book.open(len(clients), self.environment.host or "")
        except TipoverError as error:
            log.error("%s", error)
            self.environment.process_exit_code = int(error.exit_code)
            gevent.spawn(runner.quit)
            return
        start_s = time.monotonic() + LEAD_S
        for worker, client_id in enumerate(sorted(clients)):
            word = {
                "worker": worker,
                "workers": len(clients),
                "start_monotonic_s": start_s,
                "machine": machine_id(),
                "out": None if out is None else str(out.absolute()),
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
                self.settings.book.close("a worker died")
                gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)

    def _on_stop(self, **_: Any) -> None:
        self._running = False

    def _on_done(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        if msg.data.get("fault"):
            log.error("this run is invalid: %s", msg.data["fault"])
            self.environment.process_exit_code = int(ExitCode.INVALID_RUN)
        self._stopped_by = self._stopped_by or msg.data.get("stopped_by")
        self._waiting -= 1
        if self._waiting <= 0:
            self.settings.book.close(self._stopped_by)
            runner = self.environment.runner
            gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)
