"""A call chain under load: what it is made of, what is done to it, and what is seen of it.

All times are in seconds. The last service has ``pods`` workers and one first-in first-out queue; the others
have as many workers as they need unless ``workers`` says how many.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from analysis.seeds import available_cores
from analysis.studies.hop_retries import kernel
from domain.arrivals import ArrivalPlan, Segment
from domain.streams import stream

UNLIMITED = 2**31 - 1
_Case = TypeVar("_Case")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class Deadline:
    """How far a deadline of ``deadline_s`` per user request goes.

    ``tells``: what the call of each hop tells the next service (``kernel.NOTHING``, ``REQUEST``,
    ``ATTEMPT``), the user's own first. ``drops``: services drop what has ``least_s`` or less left when its
    turn comes.
    """

    deadline_s: float
    tells: tuple[int, ...]
    drops: bool = False
    least_s: float = 0.0


@dataclass(frozen=True, slots=True)
class LoadedChain:
    """H hops (one timeout each), each of ``max_attempts``, to a last service of ``pods`` workers."""

    timeouts_s: tuple[float, ...]
    max_attempts: int
    deadline: Deadline
    pods: int = 10
    rate_per_pod: float = 10.0
    own_work_s: float = 0.001
    """Mean own work of the services before the last."""
    workers: int = UNLIMITED
    held: bool = False
    places: int = UNLIMITED
    fault_s: tuple[float, float] = (math.inf, math.inf)

    @property
    def hops(self) -> int:
        """H."""
        return len(self.timeouts_s)

    @property
    def capacity_per_s(self) -> float:
        """Attempts/s of the last service."""
        return self.pods * self.rate_per_pod

    def rules(self, end_s: float, bucket_s: float) -> kernel.Rules:
        """As the compiled simulation takes it."""
        before = self.hops - 1
        return kernel.Rules(
            self.deadline.deadline_s,
            np.array([0.0, *self.timeouts_s]),
            np.array([0, *self.deadline.tells], np.int64),
            self.max_attempts,
            np.array([0, *(self.workers,) * before, self.pods], np.int64),
            self.held,
            np.array([0.0, *(self.own_work_s,) * before, 1.0 / self.rate_per_pod]),
            self.places,
            self.deadline.drops,
            self.deadline.least_s,
            *self.fault_s,
            end_s,
            bucket_s,
        )


@dataclass(frozen=True, slots=True)
class Load:
    """Calm, a spike that multiplies demand, then the rest of the run."""

    rate_per_s: float
    calm_s: float
    spike_s: float
    spike_factor: float
    watch_s: float

    @property
    def end_s(self) -> float:
        """When the run ends."""
        return self.calm_s + self.spike_s + self.watch_s

    def arrivals(self, seed: int) -> kernel.Floats:
        """When users send their requests: Poisson."""
        spike_s, watch_s = self.calm_s, self.calm_s + self.spike_s
        plan = ArrivalPlan(
            (
                Segment(0.0, spike_s, self.rate_per_s),
                Segment(spike_s, watch_s, self.rate_per_s * self.spike_factor),
                Segment(watch_s, self.end_s, self.rate_per_s),
            )
        )
        return np.concatenate([np.empty(0), *plan.offsets(stream(seed, "arrivals"))])


@dataclass(frozen=True)
class Seen:
    """One run: every job, counts per bucket, and what is left at the end."""

    arrivals_s: kernel.Floats
    answered_s: kernel.Floats
    reached: kernel.Ints
    counts: kernel.Floats
    bucket_s: float
    calls: int
    waiting: int

    def goodput(self, start_s: float, end_s: float) -> float:
        """Share of the jobs of this time that were answered while the user waited; NaN if there were none."""
        chosen = self._jobs(start_s, end_s)
        return float(np.isfinite(self.answered_s[chosen]).mean()) if chosen.any() else math.nan

    def attempts_per_job(self, start_s: float, end_s: float) -> float:
        """Attempts that came to the last service for a job of this time; NaN if there were none."""
        chosen = self._jobs(start_s, end_s)
        return float(self.reached[chosen].mean()) if chosen.any() else math.nan

    def rate(self, count: int, start_s: float, end_s: float) -> float:
        """A count per second, over the whole buckets of this time."""
        first, last = math.ceil(start_s / self.bucket_s), math.floor(end_s / self.bucket_s)
        return float(self.counts[first:last, count].sum()) / ((last - first) * self.bucket_s)

    def _jobs(self, start_s: float, end_s: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return (self.arrivals_s >= start_s) & (self.arrivals_s < end_s)


def simulate(
    chain: LoadedChain, arrivals_s: kernel.Floats, end_s: float, seed: int, bucket_s: float = 1.0
) -> Seen:
    """One run of the chain under these jobs."""
    jobs = arrivals_s.size
    per_job = 1 + sum(chain.max_attempts**hop for hop in range(1, chain.hops + 1))
    tables = kernel.new_tables(max(1, jobs * per_job), chain.hops)
    answered_s, reached = np.full(jobs, math.inf), np.zeros(jobs, np.int64)
    counts = np.zeros((math.ceil(end_s / bucket_s) + 1, kernel.COUNTS))
    calls, waiting = kernel.simulate_chain(
        chain.rules(end_s, bucket_s), tables, arrivals_s, stream(seed, "service"), answered_s, reached, counts
    )
    return Seen(arrivals_s, answered_s, reached, counts, bucket_s, int(calls), int(waiting))


def run(chain: LoadedChain, load: Load, seed: int) -> Seen:
    """One run of the chain under this load."""
    return simulate(chain, load.arrivals(seed), load.end_s, seed)


def on_all_cores(work: Callable[[_Case], _Result], cases: Sequence[_Case]) -> list[_Result]:
    """The work of every case, in their order; the compiled part holds no lock."""
    with ThreadPoolExecutor(available_cores()) as pool:
        return list(pool.map(work, cases))
