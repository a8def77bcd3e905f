"""F3 and F7: the load at which a collapsed system drains while one watches, and how long that takes."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis import laws
from analysis.simulation import Counts, simulate, simulate_seeds
from analysis.studies.collapse_law.bisection import for_each, threshold
from analysis.studies.collapse_law.protocol import (
    ATTEMPTS,
    FAILS_BELOW,
    final_goodput,
    staged,
    steady,
    windows_s,
)
from analysis.studies.collapse_law.rows import plain_values
from analysis.studies.collapse_law.seeds import seeds_of
from domain.experiment import Experiment

THETA = 5.0
COLLAPSE_LOAD, COLLAPSE_S = 0.9, 400.0
"""How it is made to collapse. The source gives no duration; this one leaves the depths it reports."""
HOLD_S = 3000.0
"""How long it is watched after shedding: the source's hold in the trap, for want of another figure."""
STEP_S = 5.0
"""How often the depth is read."""
DRAINED_ATTEMPTS = (4, 6, 10)
DRAIN_LOADS = (0.05, 0.10)
DRAIN_COLLAPSES_S = {"jitter": 490.0, "none": 440.0}
"""By policy: so long that the depth is about the source's 1,750."""
DRAIN_HOLD_S = 12_000.0
TRAP_LOAD = 0.05
THRESHOLD_SEEDS, DRAIN_SEEDS, TRAP_SEEDS, BAND_SEEDS = 100, 100, 100, 100


def collapse_then_shed(
    load: float,
    max_attempts: float,
    seed: int,
    *,
    theta: float = THETA,
    collapse_s: float = COLLAPSE_S,
    hold_s: float = HOLD_S,
    policy: str = "jitter",
) -> tuple[Experiment, list[float]]:
    """The run, and the edges at which its depth is read from the moment of shedding on."""
    stages = [(collapse_s, COLLAPSE_LOAD), (hold_s, load)]
    edges = np.arange(collapse_s, collapse_s + hold_s + STEP_S / 2, STEP_S)
    return staged(theta, max_attempts, policy, stages, seed), [0.0, *map(float, edges)]


def drain_times_s(counts: Counts) -> NDArray[np.float64]:
    """Time from shedding to the first reading of an empty queue, one per seed; NaN if there is none."""
    empty = counts.depth[:, 1:] == 0
    return np.where(empty.any(axis=1), (empty.argmax(axis=1) + 1) * STEP_S, np.nan)


def measure_thresholds(effort: float) -> list[dict[str, Any]]:
    """The highest load at which the queue runs empty within the hold, by m."""
    return [_threshold(m, THETA, THRESHOLD_SEEDS * effort) for m in DRAINED_ATTEMPTS]


def _threshold(max_attempts: float, theta: float, count: float) -> dict[str, Any]:
    def still_full(seed: int, load: float) -> bool:
        run, edges = collapse_then_shed(load, max_attempts, seed, theta=theta)
        return bool(np.isnan(drain_times_s(simulate(run, edges_s=edges))[0]))

    def drains_below(seed: int) -> float:
        return threshold(lambda load: still_full(seed, load), 0.0, 1.5 * bound)

    seeds = seeds_of(f"recovery threshold {theta} {max_attempts}", count)
    bound = laws.recovery_threshold(max_attempts)
    run, edges = collapse_then_shed(bound, max_attempts, 0, theta=theta)
    depth = float(simulate_seeds(run, seeds, edges_s=edges[:2]).depth[:, 0].mean())
    return {
        "theta": theta,
        "max_attempts": max_attempts,
        "law": bound,
        "depth": depth,
        "law_within_hold": (1 - depth / HOLD_S) / max_attempts,
        "values": plain_values(for_each(seeds, drains_below)),
    }


def measure_drains(effort: float) -> list[dict[str, Any]]:
    """How long a storm of the source's depth takes to drain at its two loads, m = 6, by policy."""
    rows = []
    for load, policy in product(DRAIN_LOADS, DRAIN_COLLAPSES_S):
        seeds = seeds_of(f"drain {load} {policy}", DRAIN_SEEDS * effort)
        run, edges = collapse_then_shed(
            load, ATTEMPTS, 0, collapse_s=DRAIN_COLLAPSES_S[policy], hold_s=DRAIN_HOLD_S, policy=policy
        )
        counts = simulate_seeds(run, seeds, edges_s=edges)
        times = drain_times_s(counts)
        drained = ~np.isnan(times)
        depths, times = counts.depth[drained, 0].astype(np.float64), times[drained]
        law = np.array([_law_s(float(depth), load) for depth in depths])
        rows.append(
            {
                "load": load,
                "policy": policy,
                "never": int((~drained).sum()),
                "depths": plain_values(depths),
                "times_s": plain_values(times),
                "law_s": plain_values(law),
                "over_law": plain_values(times / law),
            }
        )
    return rows


def _law_s(depth: float, load: float) -> float:
    return laws.drain_time_s(depth=depth, capacity_per_s=1.0, arrival_rate_per_s=load, amplification=ATTEMPTS)


def measure_trap(effort: float) -> list[dict[str, Any]]:
    """Collapse, shed to 0.05μ, hold: what is queued at the end, for m = 6 and for m = ∞."""
    rows = []
    for m in (float(ATTEMPTS), float("inf")):
        seeds = seeds_of(f"trap {m}", TRAP_SEEDS * effort)
        run, edges = collapse_then_shed(TRAP_LOAD, m, 0)
        depth = simulate_seeds(run, seeds, edges_s=edges).depth
        rows.append(
            {
                "max_attempts": "inf" if m == float("inf") else m,
                "depths": depth[:, 0].tolist(),
                "ends": depth[:, -1].tolist(),
                "growth": plain_values(depth[:, -1] / depth[:, 0]),
                "emptied": int((depth[:, 1:] == 0).any(axis=1).sum()),
                "t_s": [edge - COLLAPSE_S for edge in edges[1::10]],
                "mean_depth": plain_values(depth[:, ::10].mean(axis=0)),
            }
        )
    return rows


def measure_band(effort: float) -> dict[str, Any]:
    """θ = 2, m = 2, where the band is empty: the 80% threshold, and the recovery threshold."""

    def degrades_at(seed: int) -> float:
        def fails(load: float) -> bool:
            run = steady(load, theta=2.0, seed=seed, max_attempts=2)
            return bool(final_goodput(simulate(run, edges_s=windows_s(run)))[0] < FAILS_BELOW)

        return threshold(fails, 0.0, 1.0)

    return {
        "boundary": laws.recovery_threshold(2),
        "ceiling": laws.collapse_ceiling(2.0, 2),
        "degrades": plain_values(for_each(seeds_of("band degrades", BAND_SEEDS * effort), degrades_at)),
        "recovers": _threshold(2, 2.0, BAND_SEEDS * effort),
    }
