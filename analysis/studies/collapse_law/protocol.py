"""The measurement protocol of the source: the system, its policies, the run, what counts as collapsed.

One pod serves one attempt a second on average (μ = 1), so seconds are mean service times and the
timeout in seconds is θ. Source: seed 000 §3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.simulation import Counts
from domain.backoff import Backoff, ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service

WARM_UP = 0.78
"""Share of the horizon before the final window."""
HORIZON_FACTOR = 90.0
FAILS_BELOW = 0.80
CRATER_BELOW = 0.30
BUSY_FROM = 0.95
ATTEMPTS = 6
"""m in the collapse measurements."""
HIGHEST_LOAD = 1.4
"""The sweep's ceiling in §6.5; every bisection begins with the bracket from 0 to here."""

POLICIES: dict[str, Callable[[float], Backoff]] = {
    "none": lambda _: NoBackoff(),
    "fixed": lambda timeout_s: FixedBackoff(timeout_s / 2),
    "exponential": lambda timeout_s: ExponentialBackoff(timeout_s, 8 * timeout_s),
    "jitter": lambda timeout_s: FullJitterBackoff(timeout_s, 8 * timeout_s),
}


def horizon_s(theta: float, factor: float = HORIZON_FACTOR) -> float:
    """Length of a run: 90(θ + 1) + 150, or with another factor."""
    return factor * (theta + 1) + 150


def staged(
    theta: float, max_attempts: float, policy: str, stages: Sequence[tuple[float, float]], seed: int
) -> Experiment:
    """One run through stages of (duration, load λ/μ)."""
    phases = tuple(Phase(f"stage {i}", length, load) for i, (length, load) in enumerate(stages, 1))
    return Experiment(
        "collapse-law",
        "The collapse law",
        Client(theta, max_attempts, POLICIES[policy](theta)),
        Demand(1.0, phases),
        Service(1, 1.0),
        RunSettings(seed=seed),
    )


def steady(
    load: float,
    *,
    theta: float,
    seed: int,
    max_attempts: float = ATTEMPTS,
    policy: str = "jitter",
    length_s: float | None = None,
) -> Experiment:
    """One run at a constant load from an empty queue, as long as the protocol says."""
    return staged(
        theta, max_attempts, policy, [(horizon_s(theta) if length_s is None else length_s, load)], seed
    )


def windows_s(experiment: Experiment) -> list[float]:
    """The edges of warm-up and final window."""
    return [0.0, WARM_UP * experiment.duration_s, experiment.duration_s]


def final_goodput(counts: Counts) -> NDArray[np.float64]:
    """Jobs answered over jobs sent in the final window, one per seed; 1 where nothing was sent."""
    ratio = counts.goodput_ratio[:, -1]
    return np.where(np.isnan(ratio), 1.0, ratio)


def final_utilization(counts: Counts) -> NDArray[np.float64]:
    """Share of the final window in which the server was busy, one per seed."""
    return np.asarray(counts.busy_s[:, -1] / counts.length_s[-1], dtype=np.float64)


def collapsed(counts: Counts) -> NDArray[np.bool_]:
    """The classifier of §3.3 for a server without a queue cap, one verdict per seed."""
    return (final_goodput(counts) < FAILS_BELOW) | (final_utilization(counts) >= BUSY_FROM)
