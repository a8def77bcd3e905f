"""Absolute arrival times of jobs under phases of load.

A unit-rate process is mapped through the inverse of the cumulative rate Λ(t), which is piecewise
linear. That makes a Poisson process of any phase pattern exact, and the same seed gives the same
underlying draws whatever the phases. Source: Çinlar, "Introduction to Stochastic Processes" (1975),
the time-change of a Poisson process.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ArrivalKind = Literal["poisson", "uniform"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of constant arrival rate: from ``start_s`` to ``end_s``, ``rate_per_s`` jobs/s."""

    start_s: float
    end_s: float
    rate_per_s: float


@dataclass(frozen=True, slots=True)
class ArrivalPlan:
    """When jobs arrive, as absolute offsets from the start.

    With ``workers`` > 1 each worker gets its share: independent Poisson streams of a ``1/workers``
    rate each, whose superposition is Poisson at the whole rate; for ``uniform``, every ``workers``-th
    arrival.
    """

    segments: tuple[Segment, ...]
    kind: ArrivalKind = "poisson"

    def __post_init__(self) -> None:
        if not self.segments:
            raise ValueError("an arrival plan needs at least one segment")

    @property
    def end_s(self) -> float:
        """When the last segment ends."""
        return self.segments[-1].end_s

    @property
    def expected_jobs(self) -> float:
        """Mean number of jobs: the integral of the rate."""
        return sum(s.rate_per_s * (s.end_s - s.start_s) for s in self.segments)

    def offsets(
        self, rng: np.random.Generator, worker: int = 0, workers: int = 1, chunk: int = 8192
    ) -> Iterator[Floats]:
        """Ascending arrival times in seconds, in chunks, so that hours of load need little memory."""
        rising = [s for s in self.segments if s.rate_per_s > 0 and s.end_s > s.start_s]
        starts = np.array([s.start_s for s in rising])
        rates = np.array([s.rate_per_s for s in rising])
        jobs = [s.rate_per_s * (s.end_s - s.start_s) for s in rising]
        ends_jobs: Floats = np.cumsum(jobs, dtype=np.float64)
        starts_jobs = np.concatenate([[0.0], ends_jobs[:-1]])
        total = float(ends_jobs[-1]) if rising else 0.0
        marks: Floats
        position = 0.0
        index = worker
        while total > 0:
            if self.kind == "poisson":
                marks = rng.exponential(workers, chunk)
                np.cumsum(marks, out=marks)
                marks += position
                position = float(marks[-1])
            else:
                marks = index + 0.5 + workers * np.arange(chunk, dtype=np.float64)
                index += workers * chunk
                position = float(marks[-1])
            bounds = np.searchsorted(marks, ends_jobs, side="left")
            for first, last, start, earlier, rate in zip(
                np.concatenate([[0], bounds[:-1]]), bounds, starts, starts_jobs, rates, strict=True
            ):
                part = marks[first:last]
                part -= earlier
                part /= rate
                part += start
            inside = marks[: bounds[-1]]
            if inside.size:
                yield inside
            if inside.size < chunk:
                return

    def draw(self, rng: np.random.Generator, worker: int = 0, workers: int = 1) -> Floats:
        """Every arrival time at once (for analysis and tests)."""
        chunks = list(self.offsets(rng, worker, workers))
        return np.concatenate(chunks) if chunks else np.empty(0)


def segments(
    durations_s: Sequence[float], factors: Sequence[float], rate_per_s: float
) -> tuple[Segment, ...]:
    """Segments that follow one another from time zero at ``rate_per_s`` times each factor."""
    built = []
    start = 0.0
    for duration, factor in zip(durations_s, factors, strict=True):
        built.append(Segment(start, start + duration, rate_per_s * factor))
        start += duration
    return tuple(built)
