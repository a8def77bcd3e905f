from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import laws


@pytest.mark.parametrize(
    ("cap", "late", "gain"),
    [
        (2, 0.12465201948308113, 0.75),
        (5, 0.6159606548330632, 3.7),
        (10, 0.9863047314016172, 5.92),
    ],
)
def test_caps_of_seed_000(cap: int, late: float, gain: float) -> None:
    """θ = 5: .1247 .6160 .9863; at m = 6 the loop gain is .75, 3.7 and 5.9."""
    assert laws.capped_timeout_probability(cap, 5) == pytest.approx(late, rel=1e-12)
    assert laws.loop_gain(cap, 5, 6) == pytest.approx(gain, abs=0.005)
    assert laws.cap_breaks_loop(cap, 5, 6) is (gain < 1)


@given(cap=st.integers(0, 30), theta=st.integers(1, 40))
def test_the_erlang_tail_is_a_poisson_sum(cap: int, theta: int) -> None:
    """P(Erlang(L+1) > θ) = e^−θ Σ θ^k/k!, k ≤ L, summed in fractions."""
    total = sum(Fraction(theta**k, math.factorial(k)) for k in range(cap + 1))
    assert laws.capped_timeout_probability(cap, theta) == pytest.approx(
        math.exp(-theta) * float(total), rel=1e-10
    )


@pytest.mark.parametrize(("theta", "cap"), [(2, 0), (5, 2), (10, 6), (20, 15)])
def test_the_largest_cap_is_below_the_rule_of_thumb(theta: float, cap: int) -> None:
    """Seed 000 says L ≲ θ − 1 at m = 6: 1, 4, 9 and 19, each of which reopens the loop."""
    assert laws.largest_breaking_cap(theta, 6) == cap
    assert laws.cap_breaks_loop(cap, theta, 6)
    assert not laws.cap_breaks_loop(cap + 1, theta, 6)
    assert not laws.cap_breaks_loop(int(theta) - 1, theta, 6)


def test_endless_clients_are_stopped_by_no_cap() -> None:
    """m = ∞: the gain is infinite."""
    assert math.isinf(laws.loop_gain(0, 5, math.inf))
