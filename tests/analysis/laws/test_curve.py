from __future__ import annotations

import contextlib
import math
from decimal import Decimal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis import laws
from tests.analysis.laws import exact

ATTEMPTS = st.one_of(st.integers(1, 30).map(float), st.just(math.inf))


@pytest.mark.parametrize(
    ("x", "kernel"),
    [(0.46, 0.06720551273974978), (0.92, 0.6703200460356393), (0, 0.006737946999085467), (1, 1)],
)
def test_kernel_of_the_theory_page(x: float, kernel: float) -> None:
    """θ = 5: .0672 and .6703."""
    assert laws.timeout_kernel(x, 5) == pytest.approx(kernel, rel=1e-14)


@pytest.mark.parametrize("m", [1, 2, 6, 40])
@pytest.mark.parametrize("x", ["0.1", "0.7", "0.999", "0.99999999999"])
def test_the_curve_keeps_its_digits_next_to_its_end(x: str, m: int) -> None:
    """Against 28-digit decimals of the definition, where floats would subtract themselves away."""
    from_definition = float(exact.curve(Decimal(x), Decimal(5), m))
    # x itself is a float, and 1 − x has that much fewer digits.
    assert laws.steady_utilization(float(x), 5, m) == pytest.approx(from_definition, rel=1e-12)


@given(x=st.floats(0, 1), theta=st.floats(0.01, 1000))
def test_one_attempt_is_the_diagonal(x: float, theta: float) -> None:
    """g_1(x) = x."""
    assert laws.steady_utilization(x, theta, 1) == pytest.approx(x, rel=1e-12)


@given(theta=st.floats(0.01, 1000), m=ATTEMPTS)
def test_the_curve_ends_at_the_recovery_threshold(theta: float, m: float) -> None:
    """g_m(1) = 1/m, and it is continuous there."""
    assert laws.steady_utilization(1, theta, m) == laws.recovery_threshold(m)
    near = laws.steady_utilization(1 - 1e-12, theta, m)
    assert near == pytest.approx(1 / m, rel=1e-6, abs=2e-9)


@pytest.mark.parametrize(("m", "x"), [(1, 0.28), (2, 0.357), (4, 0.396), (math.inf, 0.401)])
def test_the_shift_of_the_fixed_point_of_seed_000(m: float, x: float) -> None:
    """θ = 2, λ = .28: its predicted utilizations."""
    assert laws.healthy_offered_utilization(0.28, 2, m) == pytest.approx(x, abs=5e-4)


@given(theta=st.floats(0.05, 200), m=ATTEMPTS, share=st.floats(1e-6, 1))
def test_the_healthy_root_solves_the_equation(theta: float, m: float, share: float) -> None:
    """g_m(x) = λ/μ, on the rising part of the curve."""
    demand = share * laws.collapse_ceiling(theta, m)
    x = laws.healthy_offered_utilization(demand, theta, m)
    assert x <= laws.ceiling_offered_utilization(theta, m)
    assert laws.steady_utilization(x, theta, m) == pytest.approx(demand, rel=1e-9)


@given(theta=st.floats(0.05, 200), m=ATTEMPTS, share=st.floats(0.001, 0.999))
def test_the_separatrix_solves_it_on_the_other_side(theta: float, m: float, share: float) -> None:
    """Inside the loop there is a second root, beyond the peak."""
    assume((m - 1) * theta > 2.1)
    end = laws.recovery_threshold(m)
    demand = end + share * laws.hysteresis_width(theta, m)
    x = laws.separatrix_offered_utilization(demand, theta, m)
    assert x >= laws.ceiling_offered_utilization(theta, m)
    assert laws.steady_utilization(x, theta, m) == pytest.approx(demand, rel=1e-6)
    assert laws.separatrix_depth(demand, theta, m) == pytest.approx(x / (1 - x), rel=1e-6)


def test_the_depth_of_the_separatrix_of_seed_000() -> None:
    """18.7 at θ = 5 and half the ceiling is the root for m = 6; the 13.5 of its first draft is m = ∞."""
    assert laws.separatrix_depth(laws.collapse_ceiling(5, 6) / 2, 5, 6) == pytest.approx(18.7, abs=0.05)
    assert laws.separatrix_depth(laws.collapse_ceiling(5) / 2, 5) == pytest.approx(13.5, abs=0.05)


@given(theta=st.floats(0.05, 200), m=ATTEMPTS)
def test_at_the_ceiling_both_roots_meet(theta: float, m: float) -> None:
    """The saddle-node: the healthy state and the separatrix are one point."""
    assume((m - 1) * theta > 2.1)
    top = laws.collapse_ceiling(theta, m)
    assert laws.healthy_offered_utilization(top, theta, m) == pytest.approx(
        laws.separatrix_offered_utilization(top, theta, m), abs=1e-6
    )


def test_no_demand_is_an_idle_server() -> None:
    """x = 0 at λ = 0."""
    assert laws.healthy_offered_utilization(0, 5, 6) == 0


@pytest.mark.parametrize(
    ("law", "demand", "m", "rule"),
    [
        (laws.healthy_offered_utilization, 0.55, 6, "must be at most the ceiling 0.543876"),
        (laws.separatrix_offered_utilization, 0.55, 6, "must be at most the ceiling 0.543876"),
        (laws.separatrix_offered_utilization, 0.1, 6, "must be above the recovery threshold 1/m = 0.166667"),
        (laws.separatrix_depth, 0.5, 1, "must be above the recovery threshold 1/m = 1"),
    ],
)
def test_where_there_is_no_root(law: object, demand: float, m: float, rule: str) -> None:
    """The error says which end of the curve was passed, and where it is."""
    with pytest.raises(laws.DomainError, match=f"^utilization: {rule}.*got {demand}"):
        law(demand, 5, m)  # type: ignore[operator]


@pytest.mark.parametrize(("theta", "m"), [(1e18, 3), (1e300, 1e300), (1e300, 3), (1e300, math.inf)])
def test_the_separatrix_of_a_timeout_without_measure(theta: float, m: float) -> None:
    """Where x is 1 to the last bit its depth still has all digits: with a = θ(1−x) the root is
    (1 − e^−a)/(1 − e^−ma) = λ, so a = ln 2 for λ = ½ and many attempts, and the depth θ/a."""
    gap = math.log(2 / (math.sqrt(5) - 1)) if m == 3 else math.log(2)
    assert laws.separatrix_depth(0.5, theta, m) == pytest.approx(theta / gap, rel=1e-12)
    assert laws.separatrix_offered_utilization(0.5, theta, m) == 1.0


@given(
    demand=st.floats(min_value=0, allow_infinity=False),
    theta=st.floats(min_value=0, exclude_min=True, allow_infinity=False),
    m=st.one_of(st.floats(min_value=1), st.just(math.inf)),
)
def test_the_separatrix_is_a_number_or_outside_the_domain(demand: float, theta: float, m: float) -> None:
    """Whatever the magnitudes, and next to the threshold too."""
    for utilization in (demand, math.nextafter(1 / m, 1.0)):
        with contextlib.suppress(laws.DomainError):
            assert laws.separatrix_depth(utilization, theta, m) >= 0
