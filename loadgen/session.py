"""One worker's run from start to end: the storm, its recorder's flushes, its progress, its health file."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gevent
from gevent import get_hub

from domain.experiment import Experiment
from domain.observer import AttemptObserver
from domain.trace import ATTEMPTS_DIRECTORY
from loadgen.health import Health
from loadgen.progress_pipe import ProgressPipe
from loadgen.recorder import Recorder
from loadgen.shared_directory import GENERATOR_DIRECTORY
from loadgen.storm import Storm

FLUSH_EVERY_S = 2.0
HEALTH_EVERY_S = 1.0
PROGRESS_EVERY_S = 0.25


@dataclass(frozen=True, slots=True)
class Share:
    """Which part of the load a process makes, and when time zero is on CLOCK_MONOTONIC."""

    worker: int
    workers: int
    start_monotonic_s: float


class Session:
    """Runs one share of an experiment; ``finished`` is called once, when everything is on disk.

    ``make_sender(health)`` builds what sends. ``out`` is the run directory or None for no trace.
    ``tell`` is given a line about the load every quarter of a second; if it raises ``OSError``, whoever
    started the load is gone, and the load stops. ``progress_fd`` is a pipe for such lines. ``make_storm``
    makes the storm, with the arguments of ``Storm``.
    """

    def __init__(
        self,
        experiment: Experiment,
        share: Share,
        make_sender: Callable[[Health], Any],
        *,
        out: Path | None = None,
        progress_fd: int | None = None,
        tell: Callable[[dict[str, Any]], None] | None = None,
        observer: AttemptObserver | None = None,
        on_attempt_end: Callable[..., None] | None = None,
        finished: Callable[[Session], None] = lambda _session: None,
        make_storm: Callable[..., Storm] = Storm,
    ) -> None:
        self._out = out
        health_path = None
        if out is not None:
            for folder in (ATTEMPTS_DIRECTORY, GENERATOR_DIRECTORY):
                (out / folder).mkdir(parents=True, exist_ok=True)
            health_path = out / GENERATOR_DIRECTORY / f"worker-{share.worker:02d}.json"
        self.health = Health(share.worker, share.workers, health_path)
        self.recorder = Recorder(out / ATTEMPTS_DIRECTORY if out else None, share.worker, _in_thread)
        self._sender = make_sender(self.health)
        self.storm = make_storm(
            experiment,
            self._sender,
            self.recorder,
            self.health,
            start_monotonic_s=share.start_monotonic_s,
            observer=observer,
            on_attempt_end=on_attempt_end,
        )
        self._tell = tell if progress_fd is None else ProgressPipe(progress_fd)
        self._finished = finished
        self._greenlet: gevent.Greenlet | None = None

    def start(self) -> None:
        """Begin; returns at once."""
        self._greenlet = gevent.spawn(self._run)

    def stop(self, reason: str) -> None:
        """End the load now; the trace is completed in the background (``join``)."""
        self.storm.stop(reason)

    def join(self, timeout_s: float | None = None) -> None:
        """Wait until everything is on disk."""
        if self._greenlet is not None:
            self._greenlet.join(timeout_s)

    @property
    def fault(self) -> str | None:
        """What makes this run worthless, in one sentence."""
        if self.storm.fault is not None:
            return f"the generator failed: {type(self.storm.fault).__name__}: {self.storm.fault}"
        return self.health.recorder_fault

    def _run(self) -> None:
        self.health.write()
        # Everything loaded so far stays: without this each full collection walks it all, some 50 ms in
        # which nothing is sent.
        gc.collect()
        gc.freeze()
        self.storm.start()
        tick = 0
        while not self.storm.over.wait(PROGRESS_EVERY_S):
            tick += 1
            self._report("running")
            self._every_tick(tick)
        self._flush(final=True)
        self.health.sample_cpu()
        if self.health.recorder_fault:
            self._flush(final=True)  # the disk may have room again
        self.health.write(finished=True)
        self._sender.close()
        self._report("finished")
        self._finished(self)

    def _every_tick(self, tick: int) -> None:
        if tick % round(HEALTH_EVERY_S / PROGRESS_EVERY_S) == 0:
            self.health.sample_cpu()
            self.storm.note_planned()
            self.health.write()
        if tick % round(FLUSH_EVERY_S / PROGRESS_EVERY_S) == 0:
            self._flush(final=False)
        if self.health.recorder_fault:
            self.storm.stop(self.health.recorder_fault)

    def _flush(self, final: bool) -> None:
        self.recorder.flush(self.storm.now_s, final)
        self.health.recorder_fault = self.health.recorder_fault or self.recorder.fault

    def _report(self, state: str) -> None:
        if self._tell is None:
            return
        storm = self.storm
        storm.note_planned()
        line = {
            "worker": self.health.worker,
            "workers": self.health.workers,
            "state": state,
            "start_monotonic_s": storm.start_monotonic_s,
            "t_s": storm.now_s,
            "planned": self.health.planned,
            "first": storm.counts.first,
            "retries": storm.counts.retries,
            "answered": storm.counts.answered,
            "failed": storm.counts.failed,
            "open": storm.open_attempts,
            "lag_p99_s": self.health.lag.quantile_s(0.99),
        }
        try:
            self._tell(line)
        except OSError:
            self._tell = None
            storm.stop("whoever started the load is gone")


def _in_thread(call: Callable[..., Any], *arguments: Any) -> Any:
    return get_hub().threadpool.apply(call, arguments)
