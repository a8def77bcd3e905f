from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import laws


def token_change(p: Fraction, cost: int, m: int) -> Fraction:
    """Expected change of the AWS quota per job, by following every outcome of the protocol."""
    change = Fraction(0)
    for failed in range(m + 1):
        chance = p**m if failed == m else p**failed * (1 - p)
        retries = min(failed, m - 1)
        tokens = -cost * retries
        if failed < m:
            tokens += cost if retries else 1
        change += chance * tokens
    return change


@given(percent=st.integers(0, 100), cost=st.integers(1, 20), m=st.integers(1, 8))
def test_the_drift_of_the_aws_quota(percent: int, cost: int, m: int) -> None:
    """(1 − p) − c(p² + … + p^m), against outcomes summed one by one."""
    p = Fraction(percent, 100)
    assert laws.aws_drift(float(p), cost, m) == pytest.approx(
        float(token_change(p, cost, m)), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize(("cost", "point"), [(14, 0.2149), (5, 0.3207)])
def test_the_aws_drain_points(cost: float, point: float) -> None:
    """The root of (1 − p) = c·p²(1 + p) for three attempts."""
    p = laws.aws_drain_point(cost)
    assert p == pytest.approx(point, abs=5e-5)
    assert 1 - p == pytest.approx(cost * p**2 * (1 + p), rel=1e-12)


def test_other_numbers_of_attempts() -> None:
    """c·p² = 1 − p for two; 1/(1 + √c) for endless ones."""
    p = laws.aws_drain_point(5, 2)
    assert 5 * p**2 == pytest.approx(1 - p, rel=1e-12)
    assert laws.aws_drain_point(5, math.inf) == pytest.approx(1 / (1 + math.sqrt(5)), rel=1e-12)


def test_the_grpc_throttle_drains_above_one_failure_in_eleven() -> None:
    """Ratio .1: 9.1%."""
    assert laws.grpc_drain_point(0.1) == pytest.approx(1 / 11, rel=1e-12)


@given(p=st.floats(0.01, 0.99), m=st.integers(2, 10))
def test_a_ratio_budget_refuses_from_its_own_retries_on(p: float, m: int) -> None:
    """The root of p + … + p^(m−1) = β is the p it was made from."""
    budget = sum(p**i for i in range(1, m))
    assert laws.budget_drain_point(budget, m) == pytest.approx(p, rel=1e-9)


def test_a_budget_that_is_never_asked_for() -> None:
    """β ≥ m − 1 never refuses: there is no root."""
    with pytest.raises(laws.DomainError, match=r"^budget: must be below m − 1 = 2: .*got 2\)"):
        laws.budget_drain_point(2, 3)
    assert laws.budget_drain_point(0.1) == pytest.approx(0.1 / 1.1)
