"""The obvious compiled simulator: Lindley's recursion and one binary heap of (time, attempt)."""

from __future__ import annotations

import heapq
import math

import numpy as np
from numpy.typing import NDArray

from analysis.compiled import compiled
from domain.backoff import FullJitterBackoff
from domain.experiment import Experiment
from domain.streams import stream


def simulate(experiment: Experiment) -> tuple[int, int]:
    """Attempts and late attempts of one server of rate 1 with full jitter, at the experiment's seed."""
    client, seed = experiment.client, experiment.run.seed
    assert isinstance(client.backoff, FullJitterBackoff)
    attempts, late = _run(
        experiment.arrival_plan.draw(stream(seed, "arrivals")),
        experiment.duration_s,
        client.timeout_s,
        client.max_attempts,
        client.backoff.base_s,
        client.backoff.cap_s,
        stream(seed, "service"),
        stream(seed, "jitter"),
    )
    return int(attempts), int(late)


@compiled
def _run(
    arrivals_s: NDArray[np.float64],
    end_s: float,
    timeout_s: float,
    max_attempts: int,
    base_s: float,
    cap_s: float,
    works: np.random.Generator,
    jitters: np.random.Generator,
) -> tuple[int, int]:
    retries = [(math.inf, 0)]
    arrived = attempts = late = 0
    free_s = 0.0
    while True:
        arrival_s = arrivals_s[arrived] if arrived < arrivals_s.size else math.inf
        if min(arrival_s, retries[0][0]) >= end_s:
            return attempts, late
        if retries[0][0] <= arrival_s:
            now_s, attempt = heapq.heappop(retries)
        else:
            now_s, attempt = arrival_s, 1
            arrived += 1
        attempts += 1
        free_s = max(free_s, now_s) + works.standard_exponential()
        if free_s - now_s > timeout_s:
            late += 1
            if attempt < max_attempts:
                delay_s = jitters.random() * min(math.ldexp(base_s, attempt), cap_s)
                heapq.heappush(retries, (now_s + timeout_s + delay_s, attempt + 1))
