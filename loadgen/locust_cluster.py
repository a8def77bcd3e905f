"""A Locust master: waits for workers, says who makes which share and when it begins, and watches them."""

from __future__ import annotations

import platform
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import gevent
from locust.env import Environment

from domain.errors import ConfigurationError, ExitCode, InvalidRunError, TipoverError
from loadgen.cluster_crew import ClusterCrew
from loadgen.cluster_words import (
    ALIVE_MESSAGE,
    DONE_MESSAGE,
    PREPARE_MESSAGE,
    PROGRESS_MESSAGE,
    READY_MESSAGE,
    START_MESSAGE,
    STOP_MESSAGE,
    Order,
    Start,
    answer_from,
    end_from,
    progress_from,
    run_of,
)
from loadgen.limits import machine_id
from loadgen.locust_storm import LEAD_S, Generator, StormSettings, log, storm_user
from loadgen.progress_pipe import ProgressPipe
from loadgen.shared_directory import leave_mark, new_mark, remove_mark

ALIVE_EVERY_S = 0.2
WATCH_EVERY_S = 0.05
_ANSWERS_WITHIN_S = 15.0
_LOOK_EVERY_S = 0.25


class MasterSide:
    """Leads the workers through one run after another."""

    def __init__(self, environment: Environment, settings: StormSettings) -> None:
        self.environment = environment
        self.settings = settings
        self._crew: ClusterCrew | None = None
        self._out: Path | None = None
        fd = settings.progress_fd
        self._pipe = None if fd is None else ProgressPipe(fd)
        events, runner = environment.events, environment.runner
        events.test_start.add_listener(self._on_start)
        events.test_stopping.add_listener(self._on_stop)
        events.quitting.add_listener(self._on_stop)
        runner.register_message(READY_MESSAGE, self._on_ready)
        runner.register_message(ALIVE_MESSAGE, self._on_alive)
        runner.register_message(PROGRESS_MESSAGE, self._on_progress)
        runner.register_message(DONE_MESSAGE, self._on_done)
        if settings.workers is not None:
            gevent.spawn(self._wait_for_workers, settings.workers)

    def _wait_for_workers(self, wanted: int) -> None:
        """Say how many have come; Locust starts the test when they are all here."""
        runner = self.environment.runner
        # Locust listens to SIGTERM only when it has stopped waiting.
        told = gevent.signal_handler(signal.SIGTERM, self._leave, ExitCode.INTERRUPTED)
        end_s = time.monotonic() + self.settings.wait_s
        while (here := len(runner.clients.ready)) < wanted and self._crew is None:
            self._report({"state": "gathering", "here": here, "wanted": wanted})
            if time.monotonic() > end_s:
                address = f"{runner.master_bind_host}:{runner.master_bind_port}"
                log.error(
                    "only %d of %d workers came to %s within %g s; nothing was sent "
                    "(tipover serve worker --master HOST:PORT starts one)",
                    here, wanted, address, self.settings.wait_s,
                )  # fmt: skip
                self._leave(ExitCode.CONFIGURATION)
            gevent.sleep(_LOOK_EVERY_S)
        told.cancel()

    def _on_start(self, **_: Any) -> None:
        runner = self.environment.runner
        clients = sorted(
            c.id for c in runner.clients.ready + runner.clients.spawning + runner.clients.running
        )
        crew = clients[: self.settings.workers]
        self._crew = ClusterCrew(new_mark(), {client: share for share, client in enumerate(crew)})
        gevent.spawn(self._lead, self._crew)

    def _lead(self, crew: ClusterCrew) -> None:
        """One run, from the orders to the end."""
        try:
            self._open(crew)
            self._prepare(crew)
        except TipoverError as error:
            if crew is self._crew:
                log.error("%s", error)
                self._over(crew, int(error.exit_code), "it did not begin")
            return
        if crew is not self._crew:
            return
        start = Start(crew.run, time.monotonic() + LEAD_S, LEAD_S, machine_id())
        self.settings.book.begun(start.start_monotonic_s, self._generators(crew))
        self._report_generators(crew)
        crew.heard_s = dict.fromkeys(crew.shares, time.monotonic())
        self._send(crew, START_MESSAGE, start.as_message())
        self._watch(crew)

    def _open(self, crew: ClusterCrew) -> None:
        out = self.settings.book.open(len(crew.shares), self.environment.host or "")
        self._out = None if out is None else out.absolute()
        if self._out is not None:
            leave_mark(self._out, crew.run)

    def _prepare(self, crew: ClusterCrew) -> None:
        """Have all workers look whether they can do their share; a second time if several share a network."""
        alone = dict.fromkeys(crew.shares, 1)
        self._ask(crew, alone)
        networks = Counter(answer.network for answer in crew.answers.values())
        neighbours = {client: networks[answer.network] for client, answer in crew.answers.items()}
        if neighbours != alone:
            self._ask(crew, neighbours)

    def _ask(self, crew: ClusterCrew, neighbours: dict[str, int]) -> None:
        assert self.settings.experiment is not None
        crew.answers.clear()
        for client, share in crew.shares.items():
            order = Order(
                crew.run,
                share,
                len(crew.shares),
                neighbours[client],
                self.environment.host or "",
                type(storm_user(self.environment)).__name__,
                self._out,
                self.settings.report_to_locust,
                self.settings.experiment,
            )
            self.environment.runner.send_message(PREPARE_MESSAGE, order.as_message(), client)
        end_s = time.monotonic() + _ANSWERS_WITHIN_S
        while len(crew.answers) < len(crew.shares) and crew is self._crew:
            refusals = [(c, a.refusal) for c, a in crew.answers.items() if a.refusal]
            if refusals:
                break
            if time.monotonic() > end_s:
                missing = sorted(set(crew.shares.values()) - {crew.shares[c] for c in crew.answers})
                raise InvalidRunError(f"worker {missing[0]} did not answer; nothing was sent")
            gevent.sleep(WATCH_EVERY_S / 5)
        for client, answer in crew.answers.items():
            if answer.refusal:
                raise ConfigurationError(
                    f"worker {crew.shares[client]} on {_host_of(client)} refuses: {answer.refusal}"
                )

    def _generators(self, crew: ClusterCrew) -> list[Generator]:
        return [
            Generator(share, _host_of(client), crew.answers[client].clock == machine_id())
            for client, share in crew.shares.items()
        ]

    def _report_generators(self, crew: ClusterCrew) -> None:
        found = [
            {"worker": g.worker, "host": g.host, "same_clock": g.same_clock} for g in self._generators(crew)
        ]
        self._report({"state": "begun", "generators": found})

    def _watch(self, crew: ClusterCrew) -> None:
        """Tell the workers that we live, and look whether they do."""
        runner = self.environment.runner
        said_s = 0.0
        while crew is self._crew:
            now_s = time.monotonic()
            if now_s - said_s >= ALIVE_EVERY_S:
                said_s = now_s
                self._send(crew, ALIVE_MESSAGE, {"run": crew.run})
            present = {c.id for c in runner.clients.ready + runner.clients.spawning + runner.clients.running}
            lost = crew.silent(now_s, present)
            if lost is not None:
                self._invalid(
                    crew, f"worker {lost} died or is cut off, so its share of the load was not sent"
                )
                return
            gevent.sleep(WATCH_EVERY_S)

    def _on_ready(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        with self._word_of(msg) as crew:
            if crew is not None:
                crew.answers[msg.node_id] = answer_from(msg.data)

    def _on_progress(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        with self._word_of(msg) as crew:
            if crew is not None:
                line = progress_from(msg.data, crew.shares[msg.node_id], len(crew.shares))
                self._report(line)

    def _on_alive(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        with self._word_of(msg) as crew:
            if crew is not None:
                crew.heard_s[msg.node_id] = time.monotonic()
                crew.spoken.add(msg.node_id)

    def _on_done(self, environment: Environment, msg: Any, **_: Any) -> None:
        del environment
        with self._word_of(msg) as crew:
            if crew is None:
                return
            fault, stopped_by = end_from(msg.data)
            crew.done.add(msg.node_id)
            if fault or stopped_by:
                ended = fault or f"worker {crew.shares[msg.node_id]} ended early: {stopped_by}"
                self._invalid(crew, ended)
            elif len(crew.done) == len(crew.shares):
                self._over(crew, None, None)

    @contextmanager
    def _word_of(self, msg: Any) -> Iterator[ClusterCrew | None]:
        """The crew if this is a word of one of it about the run that is going on; a wrong word is ignored."""
        crew = self._crew
        ours = crew is not None and msg.node_id in crew.shares and run_of(msg.data) == crew.run
        try:
            yield crew if ours else None
        except ConfigurationError as error:
            log.warning("ignored: %s", error)

    def _invalid(self, crew: ClusterCrew, reason: str) -> None:
        log.error("this run is invalid: %s", reason)
        self._over(crew, int(ExitCode.INVALID_RUN), reason)

    def _over(self, crew: ClusterCrew, exit_code: int | None, stopped_by: str | None) -> None:
        """The run is over: whoever still sends stops, and the book is closed."""
        if exit_code is not None:
            self.environment.process_exit_code = exit_code
        self._finish(crew, stopped_by)
        runner = self.environment.runner
        gevent.spawn(runner.quit if self.settings.quit_when_over else runner.stop)

    def _on_stop(self, **_: Any) -> None:
        if self._crew is not None:
            self._finish(self._crew, "the test was stopped")

    def _finish(self, crew: ClusterCrew, stopped_by: str | None) -> None:
        if crew is not self._crew:
            return
        self._crew = None
        if stopped_by is not None:
            self._send(crew, STOP_MESSAGE, {"run": crew.run})
        if self._out is not None:
            remove_mark(self._out)
        self.settings.book.close(stopped_by)

    def _send(self, crew: ClusterCrew, kind: str, data: dict[str, Any]) -> None:
        runner = self.environment.runner
        for client in crew.shares:
            if client in runner.clients:
                runner.send_message(kind, data, client)

    def _report(self, line: dict[str, Any]) -> None:
        """A line to whoever started this; if nobody is there any more, everything ends."""
        if self._pipe is None:
            return
        try:
            self._pipe(line)
        except OSError:
            self._pipe = None
            log.error("whoever started the load is gone: it ends")
            if self._crew is not None:
                self._finish(self._crew, "whoever started the load is gone")
            gevent.spawn(self._leave, ExitCode.INVALID_RUN)

    def _leave(self, code: ExitCode) -> NoReturn:
        """Send the workers home and end, also while Locust waits for workers in its main greenlet, which
        nothing but this exception reaches then."""
        self.environment.process_exit_code = int(code)
        self.environment.runner.quit()
        raise SystemExit(int(code))


def _host_of(client: str) -> str:
    """The host in Locust's name of a worker, HOST_HEX."""
    return client.rpartition("_")[0] or platform.node()
