"""The simulator's own speed, and that of the plain heap."""

from __future__ import annotations

import time
from typing import Any

from analysis.simulation import simulate, simulate_seeds
from tests.bench.simulation import heap
from tests.bench.simulation.cases import ENGINE_LOADS, SEED_LOADS, TIPOVER, Settings


def run_engine(load_name: str, variant: str, settings: Settings, seed: int) -> dict[str, Any]:
    """Attempts and late attempts of all runs of a load, and the CPU seconds they took."""
    load = ENGINE_LOADS[load_name](settings.scale)
    attempts = late = 0
    begun_s = time.process_time()
    for number in range(load.runs):
        experiment = load.experiment.with_run(seed=seed + number)
        if variant == TIPOVER:
            counts = simulate(experiment, **load.options)
            sent, overdue = int(counts.attempts.sum()), int(counts.late.sum())
        else:
            sent, overdue = heap.simulate(experiment)
        attempts, late = attempts + sent, late + overdue
    return {"attempts": attempts, "late": late, "cpu_s": time.process_time() - begun_s}


def run_seeds(length: str, cores: int, settings: Settings) -> dict[str, Any]:
    """Many seeds of the storm on so many cores: how long it takes by the clock."""
    experiment, count = SEED_LOADS[length]
    seeds = range(1, max(16, int(count * settings.scale)) + 1)
    begun_s = time.monotonic()
    simulate_seeds(experiment, seeds, cores=cores)
    return {"seeds": len(seeds), "wall_s": time.monotonic() - begun_s}
