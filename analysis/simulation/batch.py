"""Many seeds of one experiment, in parallel over the cores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np

from analysis.seeds import available_cores
from analysis.simulation.counts import Counts, Floats
from analysis.simulation.runs import simulate
from domain.experiment import Experiment
from domain.queue_cap import QueueCap


def simulate_seeds(
    experiment: Experiment,
    seeds: Sequence[int],
    *,
    edges_s: Sequence[float] | Floats | None = None,
    queue_cap: QueueCap | None = None,
    retry_budget: float | None = None,
    preload: int = 0,
    cores: int | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Counts:
    """``simulate`` at each of the seeds; the same numbers whatever ``cores`` is (default: all there are).

    ``on_done`` is told how many seeds are finished, from one thread.
    """
    if not seeds:
        raise ValueError("seeds: must name at least one (got none)")

    def one(seed: int) -> Counts:
        return simulate(
            experiment.with_run(seed=seed),
            edges_s=edges_s,
            queue_cap=queue_cap,
            retry_budget=retry_budget,
            preload=preload,
        )

    rows = []
    # Threads are enough: the kernel runs without the GIL.
    with ThreadPoolExecutor(cores or available_cores()) as pool:
        for row in pool.map(one, seeds):
            rows.append(row)
            if on_done is not None:
                on_done(len(rows))
    return stacked(rows)


def stacked(rows: Sequence[Counts]) -> Counts:
    """Counts of the same windows put under one another."""
    columns = {
        field.name: np.concatenate([getattr(row, field.name) for row in rows])
        for field in fields(rows[0])
        if field.name not in ("seeds", "edges_s")
    }
    return type(rows[0])(
        seeds=tuple(s for row in rows for s in row.seeds), edges_s=rows[0].edges_s, **columns
    )
