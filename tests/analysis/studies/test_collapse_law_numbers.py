"""The numbers of the collapse law at several hundred fixed seeds, each within a stated interval.

Intervals are so wide that 1 in 1,000 choices of seeds at most would miss one; the seeds are fixed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis import laws
from analysis.simulation import simulate_seeds
from analysis.studies.collapse_law import ceilings, recovery
from analysis.studies.collapse_law.caps import CHOICES, ROW
from analysis.studies.collapse_law.protocol import (
    collapsed,
    final_goodput,
    final_utilization,
    horizon_s,
    steady,
    windows_s,
)
from domain.queue_cap import OnRejection, QueueCap

Z = 3.29
"""Normal quantile of 99.9%, two-sided."""


@pytest.mark.parametrize(
    ("theta", "load", "probability"),
    [
        (5.0, 0.30, 0.06),
        (5.0, 0.40, 0.33),
        (5.0, 0.45, 0.55),
        (5.0, 0.525, 0.84),
        (2.0, 0.15, 0.07),
        (2.0, 0.22, 0.50),
        (2.0, 0.30, 0.90),
    ],
)
def test_tipping_probabilities(theta: float, load: float, probability: float) -> None:
    """P(collapse) over 500 seeds against the recomputed figures, which come from 2,000."""
    count = 500
    run = steady(load, theta=theta, seed=0)
    share = collapsed(simulate_seeds(run, range(count), edges_s=windows_s(run))).mean()
    error = math.sqrt(probability * (1 - probability) * (1 / count + 1 / 2000))
    # The figures are rounded to two digits.
    assert abs(share - probability) <= Z * error + 0.005


@pytest.mark.parametrize(("load", "formula"), [(0.46, 0.0672), (0.92, 0.6703)])
def test_late_share_without_retries(load: float, formula: float) -> None:
    """Long runs that retry nothing are late as often as the M/M/1 sojourn tail says."""
    run = steady(load, theta=5.0, seed=0, max_attempts=1, policy="none", length_s=50_000.0)
    late = simulate_seeds(run, range(40), edges_s=windows_s(run)).late_ratio[:, -1]
    assert laws.timeout_kernel(load, 5.0) == pytest.approx(formula, abs=5e-5)
    assert abs(late.mean() - formula) <= Z * late.std(ddof=1) / math.sqrt(late.size)


def test_healthy_utilization() -> None:
    """Runs of jitter at θ = 5 and λ = 0.15μ settle on the good root; hardly any tips."""
    run = steady(0.15, theta=5.0, seed=0)
    counts = simulate_seeds(run, range(400), edges_s=windows_s(run))
    busy = final_utilization(counts)[~collapsed(counts)]
    root = laws.healthy_offered_utilization(0.15, 5.0, 6)
    assert busy.size >= 395
    assert abs(busy.mean() - root) <= Z * busy.std(ddof=1) / math.sqrt(busy.size) + 0.01


def test_endless_clients_are_trapped() -> None:
    """m = ∞, shed from 0.9μ to 0.05μ: the queue grows about twentyfold in 3,000/μ, in every seed manyfold."""
    run, edges = recovery.collapse_then_shed(recovery.TRAP_LOAD, math.inf, 0)
    depth = simulate_seeds(run, range(30), edges_s=edges).depth
    growth = depth[:, -1] / depth[:, 0]
    assert growth.min() > 10
    assert 17 < growth.mean() < 23
    assert 40_000 < depth[:, -1].mean() < 55_000


def test_six_attempts_drain() -> None:
    """m = 6 under the same protocol runs empty within the hold, in every seed."""
    run, edges = recovery.collapse_then_shed(recovery.TRAP_LOAD, 6, 0)
    counts = simulate_seeds(run, range(60), edges_s=edges)
    assert counts.depth[:, 0].min() > 500
    assert not np.isnan(recovery.drain_times_s(counts)).any()


def test_drains_take_what_the_law_says() -> None:
    """Without backoff D/(μ − λm) is right to a tenth; with jitter the retries to come add a good tenth."""
    ratios = {row["policy"]: row["over_law"] for row in recovery.measure_drains(0.3) if row["load"] == 0.05}
    assert 0.98 < np.mean(ratios["none"]) < 1.10
    assert 1.05 < np.mean(ratios["jitter"]) < 1.22


EXPECTED: dict[OnRejection, tuple[float, ...]] = {
    "retry": (1.00, 0.98, 0.89, 0.69),
    "after-timeout": (1.00, 0.98, 0.88, 0.69),
    "give-up": (0.92, 0.80, 0.72, 0.61),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_goodput_under_a_cap(choice: OnRejection) -> None:
    """L = 2 at 0.5, 0.8, 1.0, 1.3μ, by what a rejected attempt does: the source's row is nobody's."""
    means = []
    for load in ROW:
        run = steady(load, theta=5.0, seed=0)
        counts = simulate_seeds(run, range(150), edges_s=windows_s(run), queue_cap=QueueCap(2, choice))
        means.append(final_goodput(counts).mean())
    assert means == pytest.approx(EXPECTED[choice], abs=0.035)
    gaps = np.abs(np.array(means) - list(ROW.values()))
    if choice == "give-up":
        assert gaps[1] > 0.1
    else:
        assert gaps[[0, 1, 3]].max() < 0.05
        assert gaps[2] > 0.06


def test_a_cap_of_ten_does_not_help() -> None:
    """L = 10 has the crater of no cap at 0.7μ, L = 2 has none."""
    run = steady(0.7, theta=5.0, seed=0)
    goodput = {
        places: final_goodput(
            simulate_seeds(run, range(60), edges_s=windows_s(run), queue_cap=QueueCap(places, "retry"))
        ).mean()
        for places in (2, 10)
    }
    assert goodput[10] < 0.1
    assert goodput[2] > 0.95


def test_the_curve_folds_where_the_rule_says() -> None:
    """(m − 1)θ > 2 at all 288 points of the lattice."""
    scan = ceilings.measure()["scan"]
    assert len(scan) == 288
    assert all(row["folds"] == row["rule"] for row in scan)


def test_the_horizon_of_the_protocol() -> None:
    """90(θ + 1) + 150, with a final window of its last 22%."""
    assert [horizon_s(theta) for theta in (2, 5, 20)] == [420, 690, 2040]
    warm_up, final = windows_s(steady(0.3, theta=5.0, seed=1))[1:]
    assert (final - warm_up) / final == pytest.approx(0.22)
