from __future__ import annotations

import math

import pytest

from analysis import laws


@pytest.mark.parametrize(
    ("k", "rho", "duration", "triggers"),
    [
        (5, 0.2, 300, False),
        (5, 0.25, 300, True),
        (5, 0.25, 40, False),
        (5, 0.25, 40.1, True),
        (2, 0.9, 1, False),
    ],
)
def test_a_spike_triggers_iff_it_builds_more_than_the_timeout(
    k: float, rho: float, duration: float, triggers: bool
) -> None:
    """(kρ − 1)Δ > T, strictly."""
    assert (
        laws.spike_triggers(spike_factor=k, utilization=rho, spike_duration_s=duration, timeout_s=10)
        is triggers
    )


def test_a_capacity_cut_is_not_a_spike_of_the_same_factor() -> None:
    """A cut to a fifth at 40% leaves (ρ − 1/k)Δ of wait, a fivefold spike (kρ − 1)Δ."""
    assert laws.capacity_cut_wait_s(cut_factor=5, utilization=0.4, cut_duration_s=300) == pytest.approx(60)
    assert laws.spike_wait_s(5, 0.4, 300) == pytest.approx(300)
    assert laws.capacity_cut_wait_s(cut_factor=math.inf, utilization=0.4, cut_duration_s=60) == pytest.approx(
        24
    )


def test_first_timeout_comes_after_twenty_seconds_of_f2_30() -> None:
    """t0 = T/(kρ − 1)."""
    assert laws.time_to_first_timeout_s(spike_factor=5, utilization=0.3, timeout_s=10) == pytest.approx(20)
    assert math.isinf(laws.time_to_first_timeout_s(spike_factor=5, utilization=0.2, timeout_s=10))
