"""What is going on right now, from the generator's progress lines."""

from __future__ import annotations

import json
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_COUNTERS = ("planned", "first", "retries", "answered", "failed")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Rates over the last second or so, summed over the workers; times in live seconds."""

    t_s: float
    demand_per_s: float
    ingress_per_s: float
    goodput_per_s: float
    failures_per_s: float
    open_attempts: int
    lag_p99_s: float

    @property
    def state(self) -> str:
        """The service's state in a word."""
        ended = self.goodput_per_s + self.failures_per_s
        if ended <= 0:
            return "silent" if self.open_attempts else "waiting"
        ratio = self.failures_per_s / ended
        if ratio > 0.9:
            return "failing"
        return "healthy" if ratio < 0.05 else "struggling"


@dataclass(frozen=True, slots=True)
class PodsSeen:
    """The pods of the target at its last scrape: ``ready`` serve, ``ordered`` are all there are to be."""

    ready: int
    ordered: int


@dataclass
class ProgressFeed:
    """Collects the lines that all workers write into one pipe; thread-safe. ``pods`` is what the target said
    last, None while it has said nothing."""

    workers: int
    _latest: dict[int, dict[str, Any]] = field(default_factory=dict)
    _heard: dict[int, float] = field(default_factory=dict)
    _history: deque[tuple[float, dict[str, float]]] = field(default_factory=lambda: deque(maxlen=64))
    _lock: threading.Lock = field(default_factory=threading.Lock)
    closed: bool = False
    pods: PodsSeen | None = None
    gathering: tuple[int, int] | None = None
    """Workers that have come and workers that are wanted, while a master waits for them."""
    generators: list[dict[str, Any]] = field(default_factory=list)
    """Who makes the load, as the master has said: worker, host, same_clock."""

    def follow(self, descriptor: int) -> None:
        """Start reading the pipe in a thread until every writer has closed it."""
        threading.Thread(target=self._read, args=(descriptor,), name="progress", daemon=True).start()

    def _read(self, descriptor: int) -> None:
        with os.fdopen(descriptor, "rb") as stream:
            for line in stream:
                self.take(json.loads(line))
        self.closed = True

    def take_server_state(self, state: Mapping[str, Any]) -> None:
        """Note what the target says of itself."""
        ready = state.get("pods")
        if isinstance(ready, int):
            self.pods = PodsSeen(ready, int(state.get("replicas", ready)))

    def take(self, line: dict[str, Any]) -> None:
        """Note one worker's line, or one of the master's."""
        with self._lock:
            if line["state"] == "gathering":
                self.gathering = line["here"], line["wanted"]
                return
            self.gathering = None
            if line["state"] == "begun":
                self.generators = line["generators"]
                return
            self._latest[line["worker"]] = line
            self._heard[line["worker"]] = time.monotonic()
            totals: dict[str, float] = {key: sum(w[key] for w in self._latest.values()) for key in _COUNTERS}
            self._history.append((line["t_s"], totals))

    @property
    def start_monotonic_s(self) -> float | None:
        """Time zero, once a worker has said so."""
        with self._lock:
            return next((float(w["start_monotonic_s"]) for w in self._latest.values()), None)

    def silent_worker(self, patience_s: float) -> int | None:
        """A worker that has begun and not been heard for too long while its load should be running."""
        now = time.monotonic()
        with self._lock:
            for worker, line in self._latest.items():
                if line["state"] == "running" and now - self._heard[worker] > patience_s:
                    return worker
        return None

    def snapshot(self) -> Snapshot | None:
        """Rates over the last second; None before there is anything to tell."""
        with self._lock:
            if len(self._history) < 2:
                return None
            (t1, last) = self._history[-1]
            (t0, first) = next(
                (entry for entry in reversed(self._history) if t1 - entry[0] >= 1.0), self._history[0]
            )
            span = max(t1 - t0, 1e-9)
            rate = {key: (last[key] - first[key]) / span for key in _COUNTERS}
            return Snapshot(
                t_s=t1,
                demand_per_s=rate["first"],
                ingress_per_s=rate["first"] + rate["retries"],
                goodput_per_s=rate["answered"],
                failures_per_s=rate["failed"],
                open_attempts=sum(w["open"] for w in self._latest.values()),
                lag_p99_s=max(w["lag_p99_s"] for w in self._latest.values()),
            )
