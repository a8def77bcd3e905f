from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import laws


@pytest.mark.parametrize(("p", "load"), [(0.1, 1.11), (0.7, 2.19), (1.0, 3.0), (0.0, 1.0)])
def test_capped_retries(p: float, load: float) -> None:
    """(1 − p^m)/(1 − p) for m = 3."""
    assert laws.retry_amplification(3, p) == pytest.approx(load)


@given(p=st.floats(0, 1), m=st.integers(1, 20))
def test_capped_retries_are_the_geometric_sum(p: float, m: int) -> None:
    """The closed form equals 1 + p + … + p^(m−1) wherever it is evaluated."""
    assert laws.retry_amplification(m, p) == pytest.approx(sum(p**i for i in range(m)), rel=1e-9)


@given(p=st.floats(0, 1), m=st.integers(1, 30))
def test_another_attempt_never_costs_less(p: float, m: int) -> None:
    """The amplification grows with m, from 1 up to m."""
    now, more = laws.retry_amplification(m, p), laws.retry_amplification(m + 1, p)
    assert 1 <= now <= more * (1 + 1e-15)
    assert now <= m * (1 + 1e-12)


def test_endless_clients() -> None:
    """m = ∞ costs 1/(1 − p), and no end of attempts when each fails."""
    assert laws.retry_amplification(math.inf, 0.75) == 4
    assert math.isinf(laws.retry_amplification(math.inf))
    assert math.isinf(laws.hop_amplification(math.inf, 2))


@pytest.mark.parametrize(
    ("layers", "amplification", "threshold"),
    [([3], 3, 1 / 3), ([3, 3], 9, 1 / 9), ([3, laws.budget_amplification(0.2)], 3.6, 1 / 3.6), ([], 1, 1)],
)
def test_stacks_of_seed_002(layers: list[float], amplification: float, threshold: float) -> None:
    """Layers multiply: 3, 9 and 3.6, with thresholds of 33.3%, 11.1% and 27.8%."""
    product = laws.layered_amplification(layers)
    assert product == pytest.approx(amplification, rel=1e-12)
    assert laws.trap_threshold(product) == pytest.approx(threshold, rel=1e-12)


@pytest.mark.parametrize(("m", "hops", "fan_out"), [(3, 4, 81), (4, 4, 256), (1, 9, 1)])
def test_hops_are_powers(m: float, hops: int, fan_out: float) -> None:
    """Seed 001's ceiling of 81 and seed 003's 256."""
    assert laws.hop_amplification(m, hops) == fan_out
