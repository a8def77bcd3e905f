from __future__ import annotations

import math

import pytest

from analysis import laws


def test_spread_of_the_recovery_time() -> None:
    """√((A²λ+C)·T_rec + A²kλ(Δ−t0) + CΔ)/(C(1−Aρ)), worked out by hand for f2-30 run ten times as fast."""
    sd = laws.recovery_sd_s(
        arrival_rate_per_s=48,
        capacity_per_s=160,
        amplification=3,
        spike_factor=5,
        spike_duration_s=30,
        timeout_s=1,
    )
    variance = (9 * 48 + 160) * 981.4286 + 9 * 5 * 48 * 28 + 160 * 30
    assert sd == pytest.approx(math.sqrt(variance) / 16, rel=1e-6)


def test_spread_is_nothing_untriggered_and_without_end_when_trapped() -> None:
    """The spread follows the recovery time to 0 and to infinity."""
    spike = {
        "capacity_per_s": 160,
        "amplification": 3,
        "spike_factor": 5,
        "spike_duration_s": 30,
        "timeout_s": 1,
    }
    assert laws.recovery_sd_s(arrival_rate_per_s=32, **spike) == 0
    assert math.isinf(laws.recovery_sd_s(arrival_rate_per_s=64, **spike))


def test_a_service_that_is_off_gathers_only_its_arrivals() -> None:
    """A²λ + c²C with C = 0."""
    assert laws.failing_variance_per_s(arrival_rate_per_s=5, capacity_per_s=0, amplification=3) == 45


def test_service_times_bring_their_own_spread() -> None:
    """3²·5 + 9·10, and with c² = 0 the arrivals alone."""
    rates = {"arrival_rate_per_s": 5, "capacity_per_s": 10, "amplification": 3}
    assert laws.failing_variance_per_s(**rates, squared_variation=9) == 135
    assert laws.failing_variance_per_s(**rates, squared_variation=0) == 45
    with pytest.raises(ValueError, match="squared_variation: must be finite"):
        laws.failing_variance_per_s(**rates, squared_variation=math.inf)
