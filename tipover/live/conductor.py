"""Conducts one live run: starts target and generator, watches both, writes down what happened."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from domain.errors import ConfigurationError, ExitCode, InvalidRunError
from domain.experiment import Experiment
from loadgen.destination import Destination
from loadgen.gates import check_clients_can_be_shared
from loadgen.limits import check_plan_fits
from tipover.live.autoscaler import FleetKeeper
from tipover.live.children import Child
from tipover.live.kernel import read_listen_counters
from tipover.live.progress import ProgressFeed
from tipover.live.record import RunRecord
from tipover.live.scraper import Scraper
from tipover.live.target import TargetClient, check_given_target, start_own_target

_WATCH_EVERY_S = 0.1
_START_WITHIN_S = 40.0
_SILENCE_S = 5.0
_OVERTIME_S = 20.0


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How to run.

    ``target_url`` None starts our own service in ``mode``; ``metrics_port`` is where the generator's
    metrics are served, with further workers on the ports after it. ``workers`` is how many workers started
    elsewhere make the load instead of ``processes``; they come to ``bind`` within ``wait_s``.
    """

    processes: int = 1
    target_url: str | None = None
    mode: str = "sleep"
    allowed_hosts: tuple[str, ...] = ()
    locustfile: Path | None = None
    metrics_port: int | None = None
    workers: int | None = None
    bind: tuple[str, int] = ("127.0.0.1", 5557)
    wait_s: float = 60.0

    @property
    def shares(self) -> int:
        """How many processes make the load."""
        return self.workers or self.processes


class Conductor:
    """One run. ``watch(feed)`` is called about ten times a second, to show what is going on."""

    def __init__(
        self,
        experiment: Experiment,
        record: RunRecord,
        options: RunOptions,
        watch: Callable[[ProgressFeed], None] = lambda _feed: None,
    ) -> None:
        self._experiment = experiment
        self._live = experiment.live()
        self._record = record
        self._options = options
        self._watch = watch
        self._interrupted: str | None = None
        self._refusal: str | None = None

    def run(self) -> None:
        """Run to the end; ``run.json`` then says how it went.

        Raises ``ConfigurationError`` if nothing was started because something was wrong.
        """
        record = self._record
        state = "failed"
        listen_before = read_listen_counters()
        try:
            with self._signals(), self._target() as (target, child):
                self._load(target, child)
            state = "interrupted" if self._interrupted else "failed" if self._refusal else "finished"
        except InvalidRunError as error:
            record.fault(str(error))
        finally:
            listen_after = read_listen_counters()
            if listen_before and listen_after:
                record.facts["kernel"] = listen_after.since(listen_before)
            record.finish(state)
        if self._refusal:
            raise ConfigurationError(self._refusal)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        def note(number: int, _frame: FrameType | None) -> None:
            self._interrupted = signal.Signals(number).name

        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    @contextmanager
    def _target(self) -> Iterator[tuple[TargetClient, Child | None]]:
        facts = self._record.facts
        if self._options.target_url is not None:
            client = TargetClient(Destination(self._options.target_url, self._options.allowed_hosts))
            facts["target"] = {"url": client.url, "own": client.state() is not None}
            yield client, None
            return
        log = self._record.directory / "target.log"
        child, client = start_own_target(self._experiment, log, self._options.mode)
        with child:
            facts["target"] = {"url": client.url, "own": True}
            yield client, child

    def _load(self, target: TargetClient, target_child: Child | None) -> None:
        read_end, write_end = os.pipe()
        feed = ProgressFeed(self._options.shares)
        try:
            generator = Child(
                "generator",
                self._generator_command(target.url, write_end),
                self._record.directory / "generator.log",
                pass_fds=[write_end],
            )
        finally:
            os.close(write_end)
        with generator:
            feed.follow(read_end)
            scraper = Scraper(target, self._record, feed) if self._record.facts["target"]["own"] else None
            keeper = FleetKeeper(
                self._experiment,
                self._record,
                target,
                restores=target_child is None,
                allowed_hosts=self._options.allowed_hosts,
            )
            try:
                self._follow(feed, generator, target, target_child, keeper)
            finally:
                keeper.terminate()
                generator.stop()
                keeper.stop()
                if scraper:
                    target.cancel_orders()
                    scraper.stop()
        self._judge_exit(generator, feed)

    def _generator_command(self, url: str, progress_fd: int) -> list[str]:
        options = self._options
        locustfile = options.locustfile or Path(__file__).parent.parent / "locustfile.py"
        command = [
            "-P",
            "-m",
            "tipover.live.generator",
            "-f",
            str(locustfile),
            "--headless",
            "--only-summary",
        ]
        command += ["--users", str(options.shares), "--spawn-rate", "100", "--host", url]
        command += ["--experiment", str(self._record.experiment_path), "--out", str(self._record.directory)]
        command += ["--progress-fd", str(progress_fd)]
        if options.metrics_port is not None:
            command += ["--metrics-port", str(options.metrics_port)]
        if options.allowed_hosts:
            command += ["--allow-host", ",".join(options.allowed_hosts)]
        if options.workers is not None:
            host, at = options.bind
            command += ["--master", "--master-bind-host", host, "--master-bind-port", str(at)]
            command += ["--expect-workers", str(options.workers), "--workers", str(options.workers)]
            command += ["--wait-for-workers", repr(options.wait_s)]
        elif options.processes > 1:
            port = str(_free_port())
            command += ["--processes", str(options.processes), "--master-bind-host", "127.0.0.1"]
            command += ["--master-bind-port", port, "--master-port", port]
        return command

    def _follow(
        self,
        feed: ProgressFeed,
        generator: Child,
        target: TargetClient,
        target_child: Child | None,
        keeper: FleetKeeper,
    ) -> None:
        """Watch until the load is over; whatever ends it early is noted."""
        begun = time.monotonic()
        scheduled = False
        while generator.exit_code is None:
            time.sleep(_WATCH_EVERY_S)
            self._watch(feed)
            if self._interrupted:
                self._record.facts["interrupted_by"] = self._interrupted
                return
            start_s = feed.start_monotonic_s
            if start_s is not None and not scheduled:
                scheduled = True
                self._record.facts["start_monotonic_s"] = start_s
                self._record.facts["generators"] = feed.generators
                self._record.write()
                if self._record.facts["target"]["own"]:
                    target.schedule_capacity(self._experiment, start_s)
                keeper.begin(start_s)
            fault = self._fault_now(feed, begun, target_child) or keeper.fault_now()
            if fault:
                self._record.fault(fault)
                return

    def _fault_now(self, feed: ProgressFeed, begun: float, target_child: Child | None) -> str | None:
        if target_child is not None and target_child.exit_code is not None:
            return f"the target died (exit code {target_child.exit_code}); see {target_child.log.name}"
        silent = feed.silent_worker(_SILENCE_S)
        if silent is not None:
            return f"generator worker {silent} died or hung: nothing heard from it for {_SILENCE_S:g} s"
        start_s = feed.start_monotonic_s
        if start_s is None:
            allowed_s = _START_WITHIN_S + (self._options.wait_s if self._options.workers else 0.0)
            if time.monotonic() - begun > allowed_s:
                return f"the generator did not start within {allowed_s:g} s; see generator.log"
            return None
        allowed_s = self._live.duration_s + self._live.client.timeout_s + _OVERTIME_S
        if time.monotonic() - start_s > allowed_s:
            return f"the generator did not end: stopped {_OVERTIME_S:g} s after it should have"
        return None

    def _judge_exit(self, generator: Child, feed: ProgressFeed) -> None:
        code = generator.exit_code
        if self._interrupted or code == 0:
            return
        words = generator.last_words(40)
        # A generator that refuses to start has logged its reason.
        refusal = words.partition("ERROR/tipover.loadgen: ")[2].partition("\n[")[0]
        if feed.start_monotonic_s is None and code == ExitCode.CONFIGURATION and refusal:
            self._refusal = refusal
        elif not self._record.facts["harness_faults"]:
            _, found, said = words.rpartition("ERROR/tipover.loadgen: this run is invalid: ")
            reason = said.partition("\n")[0] if found else f"exit code {code}; see {generator.log.name}"
            self._record.fault(f"the generator ended early: {reason}")


def _free_port() -> int:
    """A port of 127.0.0.1 that was free a moment ago, for Locust's master and workers to meet on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _check_beforehand(experiment: Experiment, options: RunOptions) -> None:
    check_clients_can_be_shared(experiment.client, options.shares)
    destination = Destination(options.target_url or "http://127.0.0.1", options.allowed_hosts)
    if options.workers is None:  # workers elsewhere look for themselves, each with its own sockets
        check_plan_fits(experiment, destination.ip, options.processes)
    if options.target_url is not None:
        check_given_target(TargetClient(destination), experiment)


def run_experiment(
    experiment: Experiment,
    directory: Path,
    options: RunOptions,
    *,
    replace: bool = False,
    watch: Callable[[ProgressFeed], None] = lambda _feed: None,
) -> RunRecord:
    """Run an experiment into a directory; returns its record, which says how the run ended.

    Raises ``ConfigurationError`` before anything is started, contacted or written if it cannot be run.
    """
    _check_beforehand(experiment, options)
    record = RunRecord(directory, experiment, workers=options.shares, replace=replace)
    Conductor(experiment, record, options, watch).run()
    return record
