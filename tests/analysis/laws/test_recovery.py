from __future__ import annotations

import math

import pytest

from analysis import laws


@pytest.mark.parametrize(
    ("amplification", "k", "rho", "full", "long"),
    [
        (3, 5, 0.30, 9814.3, 10500),
        (3, 5, 0.25, 2873.3, 3300),
        (1, 10, 0.50, 2400, 2400),
        (2, 10, 0.25, 2360, 2400),
        (2, 10, 0.30, 3701.8, 3750),
        (2, 10, 0.40, 10400, 10500),
        (1.1, 10, 0.8, 19457, 19500),
        (1.2, 10, 0.8, 64243, 64500),
    ],
)
def test_recovery_time_of_seed_002(
    amplification: float, k: float, rho: float, full: float, long: float
) -> None:
    """Proposition 7 in both forms, with the numbers the seed prints."""
    given_values = {
        "amplification": amplification,
        "spike_factor": k,
        "utilization": rho,
        "spike_duration_s": 300,
    }
    assert laws.recovery_time_s(**given_values, timeout_s=10) == pytest.approx(full, rel=1e-3)
    assert laws.long_spike_recovery_time_s(**given_values) == pytest.approx(long)


def test_recovery_is_nothing_without_a_trigger_and_never_in_the_trap() -> None:
    """Zero when no attempt times out, infinite when Aρ ≥ 1."""
    assert (
        laws.recovery_time_s(
            amplification=3, spike_factor=5, utilization=0.2, spike_duration_s=300, timeout_s=10
        )
        == 0
    )
    trapped = laws.recovery_time_s(
        amplification=3, spike_factor=5, utilization=0.4, spike_duration_s=300, timeout_s=10
    )
    assert math.isinf(trapped)


@pytest.mark.parametrize(
    ("rate", "depth", "seconds"), [(0.05, 1800, 2571.4), (0.05, 1732, 2474), (0.10, 1798, 4496)]
)
def test_drain_times_of_seed_000(rate: float, depth: float, seconds: float) -> None:
    """D/(μ − λm) at m = 6: the prediction, and its two measured drains at the depths they imply."""
    drained = laws.drain_time_s(depth=depth, capacity_per_s=1, arrival_rate_per_s=rate, amplification=6)
    assert drained == pytest.approx(seconds, rel=1e-3)


def test_what_does_not_drain() -> None:
    """λm ≥ μ never drains; an empty queue is drained at once."""
    assert math.isinf(laws.drain_time_s(depth=1, capacity_per_s=10, arrival_rate_per_s=4, amplification=3))
    assert laws.drain_time_s(depth=0, capacity_per_s=1, arrival_rate_per_s=9, amplification=3) == 0


def test_a_spike_on_no_demand_is_nothing() -> None:
    """Endless clients that ask for nothing leave nothing to drain."""
    assert (
        laws.long_spike_recovery_time_s(
            amplification=math.inf, spike_factor=10, utilization=0, spike_duration_s=300
        )
        == 0
    )
