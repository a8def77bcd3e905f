"""Collapse loads by bisection: policies (F2, F4), timeouts (F5), attempts (F7) and horizons (F2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from analysis import laws
from analysis.simulation import simulate
from analysis.studies.collapse_law.bisection import for_each, threshold
from analysis.studies.collapse_law.protocol import (
    ATTEMPTS,
    HIGHEST_LOAD,
    POLICIES,
    collapsed,
    horizon_s,
    steady,
    windows_s,
)
from analysis.studies.collapse_law.rows import plain_values
from analysis.studies.collapse_law.seeds import seeds_of

SEEDS = 160
THETAS = (2.0, 5.0, 20.0)
SWEEP_THETAS = (1.0, 2.0, 5.0, 10.0, 20.0)
SWEEP_ATTEMPTS: tuple[tuple[float, float], ...] = ((2.0, 2), (2.0, 4), (2.0, 8), (5.0, 2))
"""(θ, m)."""
HORIZON_FACTORS = (30.0, 60.0, 120.0, 240.0)


def measure_policies(effort: float) -> list[dict[str, Any]]:
    """The grid of policies and timeouts, m = 6."""
    return [_row(theta, ATTEMPTS, policy, SEEDS * effort) for theta in THETAS for policy in POLICIES]


def measure_timeouts(effort: float, grid: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Jitter over the timeouts; those in the grid of policies are taken from it."""
    known = {row["theta"]: row for row in grid if row["policy"] == "jitter"}
    return [known.get(theta) or _row(theta, ATTEMPTS, "jitter", SEEDS * effort) for theta in SWEEP_THETAS]


def measure_attempts(effort: float) -> list[dict[str, Any]]:
    """Jitter over the attempts a job may make."""
    return [_row(theta, m, "jitter", SEEDS * effort) for theta, m in SWEEP_ATTEMPTS]


def measure_horizons(effort: float) -> list[dict[str, Any]]:
    """Jitter at θ = 5 over the length of the run."""
    return [
        {"factor": factor, **_row(5.0, ATTEMPTS, "jitter", SEEDS * effort, horizon_s(5.0, factor))}
        for factor in HORIZON_FACTORS
    ]


def _row(
    theta: float, max_attempts: float, policy: str, count: float, length_s: float | None = None
) -> dict[str, Any]:
    length_s = horizon_s(theta) if length_s is None else length_s

    def collapse_load(seed: int) -> float:
        def fails(load: float) -> bool:
            run = steady(
                load, theta=theta, seed=seed, max_attempts=max_attempts, policy=policy, length_s=length_s
            )
            return bool(collapsed(simulate(run, edges_s=windows_s(run)))[0])

        return threshold(fails, 0.0, HIGHEST_LOAD)

    seeds = seeds_of(f"collapse load {theta} {max_attempts} {policy} {length_s}", count)
    return {
        "theta": theta,
        "max_attempts": max_attempts,
        "policy": policy,
        "length_s": length_s,
        "ceiling": laws.collapse_ceiling(theta, max_attempts),
        "ceiling_endless": laws.collapse_ceiling(theta),
        "values": plain_values(for_each(seeds, collapse_load)),
    }
