"""The arrivals of one worker, one by one, with a count of how many are due."""

from __future__ import annotations

from bisect import bisect_right
from typing import Protocol

from domain.experiment import Experiment
from domain.streams import stream


class Arrivals(Protocol):
    """When the jobs of one worker start, in seconds from the run's start, ascending."""

    @property
    def next_s(self) -> float | None:
        """When the next job is due; None when there is none to come."""

    def take(self) -> float:
        """The next planned start, which is then behind us."""

    def due_by(self, now_s: float) -> int:
        """How many jobs are due by now, taken or not."""


class Schedule:
    """The planned start times of one worker's jobs, in seconds from the run's start, ascending."""

    def __init__(self, experiment: Experiment, worker: int, workers: int) -> None:
        rng = stream(experiment.run.seed, "arrivals", worker)
        self._chunks = experiment.arrival_plan.offsets(rng, worker, workers)
        self._chunk: list[float] = []
        self._position = 0
        self._before = 0
        self._load()

    @property
    def next_s(self) -> float | None:
        """When the next job is due; None when all have been taken."""
        return self._chunk[self._position] if self._position < len(self._chunk) else None

    def take(self) -> float:
        """The next planned start, which is then behind us."""
        planned_s = self._chunk[self._position]
        self._position += 1
        if self._position == len(self._chunk):
            self._load()
        return planned_s

    def due_by(self, now_s: float) -> int:
        """How many jobs are due by now, taken or not; exact up to a chunk of thousands not yet taken."""
        return self._before + max(self._position, bisect_right(self._chunk, now_s))

    def _load(self) -> None:
        self._before += self._position
        self._position = 0
        found = next(self._chunks, None)
        self._chunk = [] if found is None else found.tolist()
