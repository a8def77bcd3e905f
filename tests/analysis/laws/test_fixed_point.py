from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis import laws

DECIMALS = st.integers(1, 1500).map(lambda n: Fraction(n, 1000))
BASES = st.integers(0, 99).map(lambda n: Fraction(n, 100))


def fed_back(load: Fraction, demand: Fraction, m: int, base: Fraction) -> Fraction:
    """λ(1 + p + … + p^(m−1)), term by term."""
    p = base + (1 - base) * max(Fraction(0), (load - 1) / load)
    return demand * sum((p**i for i in range(m)), Fraction(0))


@pytest.mark.parametrize(
    ("demand", "m", "base", "settled", "failing"),
    [
        ("0.95", 4, "0.1", 1.72736, 0.4790),
        ("0.95", 3, "0.1", 1.43944, None),
        ("0.95", 2, "0.1", 1.16794, None),
        ("0.98", 3, "0.05", 1.38247, None),
        ("0.98", 4, "0.05", 1.63311, None),
        ("0.95", 1, "0.1", 0.95, 0.1),
        ("0.80", 4, "0.1", 0.8888, 0.1),
        ("0.90", 4, "0.1", 0.9999, 0.1),
    ],
)
def test_the_fixed_points_of_seed_004(
    demand: str, m: int, base: str, settled: float, failing: float | None
) -> None:
    """Five digits of the enclosure and of the closed form."""
    ends = laws.fixed_point_enclosure(demand, m, base, "1e-12")
    assert ends.middle == pytest.approx(settled, abs=5e-6)
    assert laws.fixed_point_load(float(demand), m, float(base)) == pytest.approx(ends.middle, abs=1e-11)
    if failing is not None:
        p = laws.overload_failure_probability(ends.middle, float(base))
        assert p == pytest.approx(failing, abs=5e-5)


@given(demand=DECIMALS, m=st.integers(1, 12), base=BASES, exponent=st.integers(0, 12))
def test_the_enclosure_encloses(demand: Fraction, m: int, base: Fraction, exponent: int) -> None:
    """Exactly: the loop pushes the lower end up, the upper one down, and they are close enough."""
    width = Fraction(1, 10**exponent)
    ends = laws.fixed_point_enclosure(demand, m, base, width)
    assert fed_back(ends.low, demand, m, base) >= ends.low
    assert fed_back(ends.high, demand, m, base) <= ends.high
    assert 0 <= ends.width <= width
    assert demand <= ends.low
    assert ends.high <= demand * m


@given(demand=DECIMALS, m=st.integers(1, 40), base=BASES)
def test_the_closed_form_is_inside(demand: Fraction, m: int, base: Fraction) -> None:
    """Up to the rounding of floats."""
    ends = laws.fixed_point_enclosure(demand, m, base, "1e-10")
    closed = laws.fixed_point_load(float(demand), m, float(base))
    assert closed == pytest.approx(ends.middle, rel=1e-9, abs=1e-10)


def test_ends_are_exact_and_do_not_grow() -> None:
    """A load within capacity is known as a fraction; otherwise the denominators are powers of two."""
    assert laws.fixed_point_enclosure("0.8", 4, "0.1") == laws.Enclosure(
        Fraction(1111, 1250), Fraction(1111, 1250)
    )
    ends = laws.fixed_point_enclosure("0.95", 4, "0.1", "1e-30")
    for end in (ends.low, ends.high):
        assert end.denominator <= 2**102
        assert end.denominator.bit_count() == 1


def test_decimals_floats_and_fractions_are_taken_exactly() -> None:
    """ "0.1" is a tenth, the float is its binary self, and 1/10 may be written as such."""
    tenth = laws.fixed_point_enclosure("0.1", 1, 0).low
    assert tenth == Fraction(1, 10) == laws.fixed_point_enclosure("1/10", 1, 0).low
    assert laws.fixed_point_enclosure(0.1, 1, 0).low == Fraction(0.1) != tenth


def test_the_turns_of_the_loop() -> None:
    """0.95 → 1.06 → 1.11 → 1.17 → 1.24, and the failure rate worked by hand in the source."""
    turns = laws.feedback_steps(0.95, 4, 0.1, 4)
    assert [round(turn.next_load, 2) for turn in turns] == [1.06, 1.11, 1.17, 1.24]
    assert turns[1].load == pytest.approx(1.05545)
    assert turns[1].failure_probability == pytest.approx(0.14728, abs=5e-6)
    assert turns[1].amplification == pytest.approx(1.1722, abs=5e-5)
    assert [turn.load for turn in turns[1:]] == [turn.next_load for turn in turns[:-1]]


@given(m=st.integers(1, 30), base=st.floats(0.001, 0.9))
def test_the_first_overload(m: int, base: float) -> None:
    """On either side of (1 − b)/(1 − b^m) the fixed point is on either side of capacity."""
    edge = laws.first_overload_utilization(m, base)
    assert laws.fixed_point_load(edge * (1 - 1e-9), m, base) <= 1
    assert laws.fixed_point_load(edge * (1 + 1e-6), m, base) > 1


def test_the_rehearsal_of_seed_004() -> None:
    """base .05 and two retries: 1/1.0525."""
    assert laws.first_overload_utilization(3, 0.05) == pytest.approx(1 / 1.0525, rel=1e-12)


def test_endless_clients_settle_only_while_all_is_served() -> None:
    """λ/(1 − b) up to capacity, without bound beyond it."""
    assert laws.fixed_point_load(0.8, math.inf, 0.1) == pytest.approx(0.8 / 0.9)
    assert math.isinf(laws.fixed_point_load(0.95, math.inf, 0.1))


def test_demand_without_measure_fails_all_of_its_attempts() -> None:
    """The load nears λm, and is infinite once that is more than a float holds."""
    assert laws.fixed_point_load(1e300, 3, 0) == pytest.approx(3e300, rel=1e-12)
    assert laws.fixed_point_load(1e17, 3, 0.1) == pytest.approx(3e17, rel=1e-12)
    assert math.isinf(laws.fixed_point_load(1e308, 1e308, 0))


@pytest.mark.parametrize(
    ("demand", "m", "base", "width", "fields"),
    [
        ("x", math.inf, "1", "0", ["utilization", "base_failure", "width", "max_attempts"]),
        ("nan", 4, "0.1", "1e-9", ["utilization"]),
        (math.inf, 4, 0.1, "1e-9", ["utilization"]),
        ("-1", 2.5, "0.1", "-1", ["utilization", "width", "max_attempts"]),
        ("1/0", 10_001, "0.1", "1", ["utilization", "max_attempts"]),
    ],
)
def test_every_bad_input_is_named_at_once(
    demand: str, m: float, base: str, width: str, fields: list[str]
) -> None:
    """Shown as it was given, not as a fraction."""
    with pytest.raises(laws.DomainError) as raised:
        laws.fixed_point_enclosure(demand, m, base, width)
    assert sorted(fault.field for fault in raised.value.faults) == sorted(fields)
    shown = {fault.field: fault.value for fault in raised.value.faults}
    assert shown["utilization"] == demand or math.isinf(m)


@pytest.mark.parametrize(
    ("demand", "m", "base", "width", "fields"),
    [
        ("1e400", 4, "0.1", "1e-9", ["utilization"]),
        ("1e-61", 4, "0.1", "1e-9", ["utilization"]),
        ("0.9", 4, "1e-999999999999", "1e-999999999999", ["base_failure", "width"]),
        ("0.9", 4, "0.1", "1e999999999999", ["width"]),
        ("0.9", 4, "0.1", "0." + 600 * "0" + "1", ["width"]),
        ("0.9", 10_000, "0.1", "1e-30", ["width"]),
    ],
)
def test_more_digits_than_can_be_computed_with_are_refused_at_once(
    demand: str, m: float, base: str, width: str, fields: list[str]
) -> None:
    """None of these is even written out."""
    with pytest.raises(laws.DomainError) as raised:
        laws.fixed_point_enclosure(demand, m, base, width)
    assert sorted(fault.field for fault in raised.value.faults) == fields


def test_the_finest_width() -> None:
    """1e-60, and a third is as wide as it is."""
    assert laws.fixed_point_enclosure("0.95", 4, "0.1", "1e-60").width <= Fraction(1, 10**60)
    assert laws.fixed_point_enclosure("0.95", 4, "0.1", "1/3").width <= Fraction(1, 3)
