"""Whether all tools answer alike: how far each is off the simulator's mean, in standard deviations.

The spread comes from seeds of the simulator's own, each as long as the other tool's run.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from analysis.simulation import simulate_seeds
from tests.bench.simulation.cases import Settings, peer_experiment

QUANTITIES = ("attempts_per_job", "late_share", "sojourn_s")
SEEDS = 32
_LOOK_EVERY_S = 2.0
_FIRST_SEED = 1_000_000

Measured = dict[str, float]


def readings(jobs: float, attempts: float, late: float, sojourn_s: float) -> Measured:
    """What is compared."""
    return {"attempts_per_job": attempts / jobs, "late_share": late / attempts, "sojourn_s": sojourn_s}


def spread(load: str, peer: str, settings: Settings) -> dict[str, tuple[float, float]]:
    """Mean and standard deviation of each quantity over seeds of one run of the peer's length."""
    experiment = peer_experiment(load, peer, settings.scale)
    edges_s = np.arange(0.0, experiment.duration_s, _LOOK_EVERY_S)
    counts = simulate_seeds(experiment, range(_FIRST_SEED, _FIRST_SEED + SEEDS), edges_s=edges_s)
    attempts = counts.attempts.sum(axis=1)
    # Little's law: the mean number in the system over the attempts per second.
    sojourns_s = counts.depth.mean(axis=1) * edges_s[-1] / attempts
    columns: dict[str, NDArray[np.float64]] = {
        "attempts_per_job": attempts / counts.jobs.sum(axis=1),
        "late_share": counts.late.sum(axis=1) / attempts,
        "sojourn_s": sojourns_s,
    }
    return {name: (float(values.mean()), float(values.std(ddof=1))) for name, values in columns.items()}


def deviation(found: list[Measured], expected: dict[str, tuple[float, float]]) -> float:
    """The largest distance of the mean over the rounds, in standard errors."""
    rounds = len(found)
    distances = []
    for name, (mean, sd) in expected.items():
        ours = sum(one[name] for one in found) / rounds
        # The expected mean is itself one of SEEDS seeds.
        error = sd * np.sqrt(1 / rounds + 1 / SEEDS)
        if error > 0:
            distances.append(abs(ours - mean) / error)
    return float(max(distances))
