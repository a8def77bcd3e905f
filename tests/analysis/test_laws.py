from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import laws


@pytest.mark.parametrize(
    ("amplification", "threshold"), [(1.0, 1.0), (3.0, 1 / 3), (3.6, 1 / 3.6), (math.inf, 0.0)]
)
def test_threshold_is_one_over_the_amplification(amplification: float, threshold: float) -> None:
    """Seed 002's table of thresholds."""
    assert laws.trap_threshold(amplification) == pytest.approx(threshold)


@pytest.mark.parametrize(
    ("amplification", "utilization", "trapped"),
    [
        (3, 0.4, True),
        (3, 0.3, False),
        (3, 1 / 3, True),
        (1.2, 0.8, False),
        (1.5, 0.8, True),
        (math.inf, 0, False),
    ],
)
def test_trap_condition(amplification: float, utilization: float, trapped: bool) -> None:
    """Failed for ever iff Aρ ≥ 1, the boundary included."""
    assert laws.is_trap(amplification, utilization) is trapped


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


def test_first_timeout_comes_after_twenty_seconds_of_f2_30() -> None:
    """t0 = T/(kρ − 1)."""
    assert laws.time_to_first_timeout_s(spike_factor=5, utilization=0.3, timeout_s=10) == pytest.approx(20)
    assert math.isinf(laws.time_to_first_timeout_s(spike_factor=5, utilization=0.2, timeout_s=10))


@pytest.mark.parametrize(("p", "load"), [(0.1, 1.11), (0.7, 2.19), (1.0, 3.0), (0.0, 1.0)])
def test_capped_retries(p: float, load: float) -> None:
    """(1 − p^m)/(1 − p) for m = 3."""
    assert laws.retry_amplification(3, p) == pytest.approx(load)


@given(p=st.floats(0, 1), m=st.integers(1, 20))
def test_capped_retries_are_the_geometric_sum(p: float, m: int) -> None:
    """The closed form equals 1 + p + … + p^(m−1) wherever it is evaluated."""
    assert laws.retry_amplification(m, p) == pytest.approx(sum(p**i for i in range(m)), rel=1e-9)


def test_layers_multiply_and_hops_are_powers() -> None:
    """Seed 001's ceiling of 81, seed 002's 3 × 1.2, seed 003's rule."""
    assert laws.hop_amplification(3, 4) == 81
    assert laws.layered_amplification([3, laws.budget_amplification(0.2)]) == pytest.approx(3.6)
    assert laws.layered_amplification([]) == 1
    assert laws.retries_are_safe(3, 2, 9)
    assert not laws.retries_are_safe(3, 2, 8.9)


def test_drain_and_ingress() -> None:
    """D/(μ − λm), and Aλ."""
    drain = {"depth": 100, "capacity_per_s": 10, "amplification": 3}
    assert laws.drain_time_s(**drain, arrival_rate_per_s=2) == pytest.approx(25)
    assert math.isinf(laws.drain_time_s(**drain, arrival_rate_per_s=4))
    assert laws.drain_time_s(depth=0, capacity_per_s=1, arrival_rate_per_s=9, amplification=3) == 0
    assert laws.trapped_ingress_per_s(3, 64) == 192
    assert laws.trapped_ingress_per_s(math.inf, 0) == 0


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


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: laws.trap_threshold(0.5), "amplification"),
        (lambda: laws.is_trap(2, -1), "utilization"),
        (lambda: laws.spike_wait_s(0, 0.5, 1), "spike_factor"),
        (lambda: laws.capacity_cut_wait_s(cut_factor=0, utilization=1, cut_duration_s=1), "cut_factor"),
        (lambda: laws.retry_amplification(3, 1.5), "failure_probability"),
        (lambda: laws.retry_amplification(0), "max_attempts"),
        (lambda: laws.hop_amplification(3, 0), "hops"),
        (lambda: laws.budget_amplification(-0.1), "budget"),
        (lambda: laws.retries_are_safe(3, 1, 0), "slack"),
        (lambda: laws.first_passage_sd_s(variance=1, drift_per_s=0), "drift_per_s"),
        (
            lambda: laws.drain_time_s(
                depth=math.nan, capacity_per_s=1, arrival_rate_per_s=0, amplification=1
            ),
            "depth",
        ),
    ],
)
def test_errors_name_field_rule_and_value(call: object, field: str) -> None:
    """A value outside the domain is refused by name."""
    with pytest.raises(ValueError, match=rf"^{field}: must .* \(got "):
        call()  # type: ignore[operator]
