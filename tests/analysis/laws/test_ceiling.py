from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import wrightomega

from analysis import laws
from tests.analysis.laws import exact

SLACKS = st.floats(0.01, 1000)
ATTEMPTS = st.integers(1, 40)


@pytest.mark.parametrize(
    ("theta", "x", "ceiling"),
    [
        (0.25, 0.515295187970493261, 0.05880659396377014325),
        (0.5, 0.529919440251001083, 0.11099745260191914523),
        (1, 0.557145598997611416, 0.19934630305748523587),
        (2, 0.603970015784661499, 0.33042544158923749230),
        (4, 0.673360339740162451, 0.49104789064535702260),
        (5, 0.699332834601232259, 0.54381024992626724296),
        (20, 0.855193702439304407, 0.80795554224581546937),
        (100, 0.954311705051591835, 0.94441540596020483370),
    ],
)
def test_the_ceiling_of_endless_clients(theta: float, x: float, ceiling: float) -> None:
    """Constants from a ternary search in 60-digit decimals."""
    assert laws.ceiling_offered_utilization(theta) == pytest.approx(x, rel=1e-14)
    assert laws.collapse_ceiling(theta) == pytest.approx(ceiling, rel=1e-14)


@pytest.mark.parametrize(
    ("theta", "printed"),
    [(0.25, 0.0588), (0.5, 0.1110), (1, 0.1993), (4, 0.4910), (20, 0.8080), (100, 0.9444)],
)
def test_the_ceilings_of_the_theory_page(theta: float, printed: float) -> None:
    """Four digits, as they are to be reproduced."""
    assert laws.collapse_ceiling(theta) == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize("theta", ["0.01", "0.03", "0.1", "0.7", "3", "8", "33", "150", "400", "1000"])
def test_the_closed_form_is_the_brute_force_maximum(theta: str) -> None:
    """Within 1e-12 from θ = .01 to 1,000, against decimals that know nothing of omega."""
    _, ceiling = exact.ceiling(theta)
    assert laws.collapse_ceiling(float(theta)) == pytest.approx(ceiling, rel=1e-12)


@given(theta=st.floats(0.1, 1000))
def test_the_root_is_wright_omega(theta: float) -> None:
    """x* = (ω(θ+1) − 1)/θ, to the digits that this form keeps."""
    assert laws.ceiling_offered_utilization(theta) == pytest.approx(
        (float(wrightomega(theta + 1)) - 1) / theta, rel=1e-13
    )


def test_tiny_timeouts_keep_their_digits() -> None:
    """θ/4 and x* = 1/2 where ω(θ+1) − 1 would have none left."""
    for theta in (1e-9, 1e-100, 1e-300):
        assert laws.collapse_ceiling(theta) == pytest.approx(theta / 4, rel=1e-9)
        assert laws.ceiling_offered_utilization(theta) == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("theta", "m", "ceiling"),
    [
        (5, 1, 1.0),
        (5, 2, 0.58525421248870018258),
        (5, 3, 0.55071942303055078161),
        (5, 4, 0.54520706870761344981),
        (5, 6, 0.54387636115316038156),
        (5, 10, 0.54381041082672067657),
        (5, math.inf, 0.54381024992626724296),
        (2, 1, 1.0),
        (2, 2, 0.5),
        (2, 3, 0.37989212261862111909),
        (2, 4, 0.34861633183534955403),
        (2, 6, 0.33354278538360511000),
        (2, 10, 0.33054649888171012953),
        (2, math.inf, 0.33042544158923749230),
    ],
)
def test_the_ceiling_of_m_attempts(theta: float, m: float, ceiling: float) -> None:
    """The two rows of the theory page, to 1e-12: 1.000 .5853 .5452 .5439 .5438 .5438 and so on."""
    assert laws.collapse_ceiling(theta, m) == pytest.approx(ceiling, rel=1e-12)


@pytest.mark.parametrize(("theta", "m"), [("0.5", 6), ("2.1", 2), ("40", 2), ("1000", 3), ("0.02", 400)])
def test_the_ceiling_of_m_attempts_is_the_brute_force_maximum(theta: str, m: int) -> None:
    """Also next to the bistability boundary and far from it."""
    x, ceiling = exact.ceiling(theta, m)
    assert laws.collapse_ceiling(float(theta), m) == pytest.approx(ceiling, rel=1e-12)
    assert laws.ceiling_offered_utilization(float(theta), m) == pytest.approx(x, rel=1e-7)


def test_bistability_at_the_288_points_of_seed_000() -> None:
    """A point of the curve above its end 1/m is found iff (m − 1)θ > 2."""
    near = [1 - 10 ** (-i / 10) for i in range(1, 51)]
    for theta in (0.25 * i for i in range(1, 25)):
        for m in range(1, 13):
            top = max(laws.steady_utilization(x, theta, m) for x in near)
            assert (top > (1 + 1e-9) / m) == ((m - 1) * theta > 2) == laws.is_bistable(theta, m)
            assert (laws.hysteresis_width(theta, m) > 1e-9) == laws.is_bistable(theta, m)


@given(theta=SLACKS, m=ATTEMPTS)
def test_the_ceiling_falls_with_every_attempt_and_stays_above_both_ends(theta: float, m: int) -> None:
    """Seed 000 Prop. 3c, and λ_c ≥ λ_r."""
    here, next_, last = (laws.collapse_ceiling(theta, k) for k in (m, m + 1, math.inf))
    assert here >= next_ * (1 - 1e-14)
    assert next_ >= last * (1 - 1e-14)
    assert here >= laws.recovery_threshold(m)


@given(theta=st.floats(0.01, 900), more=st.floats(1.001, 2))
def test_patience_raises_the_ceiling(theta: float, more: float) -> None:
    """λ_c grows with θ."""
    assert laws.collapse_ceiling(theta * more) > laws.collapse_ceiling(theta)


@pytest.mark.parametrize(
    ("limit", "theta", "off"),
    [
        (laws.tight_ceiling, 0.5, 0.015),
        (laws.tight_ceiling, 1, 0.06),
        (laws.patient_ceiling, 20, 0.01),
        (laws.patient_ceiling, 100, 0.0005),
    ],
)
def test_the_limits_are_as_close_as_seed_000_says(limit: object, theta: float, off: float) -> None:
    """1.5% and 5.9% for tight timeouts, 1% and .05% for patient ones: no better by half, no worse."""
    error = abs(limit(theta) / laws.collapse_ceiling(theta) - 1)  # type: ignore[operator]
    assert off / 3 < error < off


@given(theta=st.floats(0.01, 100))
def test_the_rule_of_independence_gives_one_per_cent(theta: float) -> None:
    """The ceiling at m = ⌈5.3/ln(1 + θx*)⌉ is within 1% of that of m = ∞ for θ up to 100."""
    m = math.ceil(laws.independence_rule(theta))
    assert laws.collapse_ceiling(theta, m) <= laws.collapse_ceiling(theta) * 1.01


def test_the_rule_of_independence_fails_where_it_reaches_one_attempt() -> None:
    """From θ ≈ 205 on it says m = 1, whose ceiling is 1: 3% off there."""
    assert math.ceil(laws.independence_rule(204)) == 2
    assert math.ceil(laws.independence_rule(205)) == 1
    assert laws.collapse_ceiling(205, 1) / laws.collapse_ceiling(205) > 1.03


@pytest.mark.parametrize(("theta", "rule", "least"), [(2, 7, 6), (5, 4, 4), (20, 2, 2), (208, 1, 2)])
def test_the_least_attempts_for_independence(theta: float, rule: int, least: int) -> None:
    """Seed 000 rounds its rule to 7, 4 and 2; at θ = 2 six attempts do."""
    assert math.ceil(laws.independence_rule(theta)) == rule
    assert laws.independent_attempts(theta) == least
    limit = 1.01 * laws.collapse_ceiling(theta)
    assert laws.collapse_ceiling(theta, least) <= limit < laws.collapse_ceiling(theta, least - 1)


def test_the_loop_of_seed_000() -> None:
    """θ = 5, m = 6: .544 − .167 = .377."""
    assert laws.hysteresis_width(5, 6) == pytest.approx(0.3772, abs=5e-5)
    assert laws.recovery_threshold(6) == pytest.approx(1 / 6)
    assert laws.recovery_threshold(math.inf) == 0
