"""Seed 002's recovery times: what reproduces its own figures, and how far the fluid limit is from them."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from analysis.fluid import backlog_cleared_s, fluid_trace, last_late_s
from domain.experiment import Phase
from tests.analysis.fifo import kit, simulate
from tests.analysis.seed_002 import recovery_s

FAMILY = [
    (3, 5, 0.30, math.inf, 9756),
    (3, 5, 0.25, math.inf, 2867),
    (1, 10, 0.50, math.inf, 2398),
    (2, 10, 0.30, math.inf, 3700),
    (2, 10, 0.40, math.inf, 10386),
    (3, 10, 0.80, 0.1, 19398),
    (3, 10, 0.80, 0.2, 63881),
]


@pytest.mark.parametrize(("m", "k", "rho", "beta", "seconds"), FAMILY)
def test_a_grid_of_one_second_gives_the_seeds_own_figures(
    m: int, k: float, rho: float, beta: float, seconds: int
) -> None:
    """One rule for the whole family, within a second of each printed figure."""
    assert recovery_s(rho, factor=k, max_attempts=m, budget=beta) == pytest.approx(seconds, abs=1)


@pytest.mark.parametrize(("m", "k", "rho", "beta", "seconds"), FAMILY)
def test_the_limit_of_a_fine_grid_is_within_six_thousandths(
    m: int, k: float, rho: float, beta: float, seconds: int
) -> None:
    """What is left is the seed's step of one second: .6% where the trigger is smallest, .25% elsewhere."""
    trace = fluid_trace(
        kit(rho, factor=k, watch_s=1.05 * seconds, max_attempts=m),
        retry_budget=None if math.isinf(beta) else beta,
    )
    cleared = backlog_cleared_s(trace, 400.0)
    assert cleared is not None
    assert cleared - 400 == pytest.approx(seconds, rel=0.0062 if rho == 0.25 else 0.0025)


def test_no_trigger_and_no_recovery() -> None:
    """kρ = 1 fails nothing and Aρ = 1.2 never ends, on the coarse grid too."""
    assert recovery_s(0.2, factor=5, max_attempts=3) == -1
    assert recovery_s(0.4, factor=5, max_attempts=3, longest_s=20_000) is None


def test_a_capacity_cut_agrees_with_the_exact_simulation() -> None:
    """All but a twentieth of the capacity gone for 80 s, fifty times the kit: recovery within 5% of the queue
    followed event by event."""
    base = kit(0.28, rate_per_pod=2000.0, speedup=50.0)
    phases = (Phase("baseline", 50.0), Phase("cut", 80.0, 1.0, 0.05), Phase("watch", 1200.0))
    experiment = replace(base, demand=replace(base.demand, phases=phases))
    rows = simulate(experiment).attempts
    last = rows.loc[rows["outcome"] == "timeout", "sent_s"].max() * 50.0
    late = last_late_s(fluid_trace(experiment))
    assert late is not None
    assert late > 300
    assert late == pytest.approx(last, rel=0.05)
