"""Deadlines: how much time is left, and the two ways to say so."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.deadlines import (
    attempt_timeout_s,
    expired,
    grpc_timeout,
    grpc_timeout_s,
    x_deadline,
    x_deadline_s,
)

UNIT_S = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "S": 1.0, "M": 60.0, "H": 3600.0}


@pytest.mark.parametrize(
    ("timeout_s", "until_s", "now_s", "left_s"),
    [(2, math.inf, 5, 2), (2, 10, 5, 2), (2, 7, 5, 2), (2, 6.5, 5, 1.5), (2, 5, 5, 0), (2, 4, 5, -1)],
)
def test_an_attempt_may_take_the_smaller_of_both(
    timeout_s: float, until_s: float, now_s: float, left_s: float
) -> None:
    """The client's timeout, or what is left of the job's deadline; negative once that has passed."""
    assert attempt_timeout_s(timeout_s, until_s, now_s) == left_s
    assert compiled_rule(attempt_timeout_s)(float(timeout_s), float(until_s), float(now_s)) == left_s


@pytest.mark.parametrize(
    ("deadline_s", "now_s", "least_s", "is_expired"),
    [
        (10, 9.999, 0, False),
        (10, 10, 0, True),
        (10, 11, 0, True),
        (10, 8, 1, False),
        (10, 9, 1, True),
        (math.inf, 1e18, 5, False),
    ],
)
def test_expired_at_the_very_moment(
    deadline_s: float, now_s: float, least_s: float, is_expired: bool
) -> None:
    """With exactly the least left it is too late; without a deadline it never is."""
    assert expired(deadline_s, now_s, least_s) is is_expired
    assert compiled_rule(expired)(float(deadline_s), float(now_s), float(least_s)) == is_expired


# ---- X-Deadline


def test_a_deadline_is_written_in_microseconds() -> None:
    """Decimal, never with an exponent."""
    assert x_deadline(1764515000.1234567) == "1764515000.123457"
    assert x_deadline(0.0) == "0.000000"
    assert x_deadline(1e10) == "10000000000.000000"


@given(at_s=st.floats(0, 99_999_999_999))
def test_a_deadline_comes_back_to_the_microsecond(at_s: float) -> None:
    """What is written can be read, half a microsecond or one step of a float away."""
    back_s = x_deadline_s(x_deadline(at_s))
    assert back_s is not None
    assert abs(back_s - at_s) <= max(0.5000001e-6, math.ulp(at_s))


@pytest.mark.parametrize(
    ("text", "at_s"),
    [
        ("1764515000", 1764515000.0),
        ("1764515000.5", 1764515000.5),
        ("1764515000.123456789", 1764515000.123456789),
        ("0", 0.0),
        ("99999999999.999", 99999999999.999),
    ],
)
def test_deadlines_others_write(text: str, at_s: float) -> None:
    """Whole seconds and up to nanoseconds are read too."""
    assert x_deadline_s(text) == at_s


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "-1",
        "+1",
        "1e9",
        "nan",
        "inf",
        "Infinity",
        "0x10",
        "1_000",
        "1,5",
        "1.",
        ".5",
        "1.5.5",
        " 1764515000",
        "1764515000 ",
        "1764515000\n",
        "soon",
        "1764515000s",
        "1764515000123",  # milliseconds
        "100000000000",
        "1764515000.1234567890",
        "9" * 5000,
        "٣٤٥",
        "１２３",
        "²",
        "1764515000.٣",
    ],
)
def test_nonsense_is_no_deadline(text: str) -> None:
    """Neither moments that are none, nor other notations, nor what is longer than any moment."""
    assert x_deadline_s(text) is None


# ---- grpc-timeout


@pytest.mark.parametrize(
    ("left_s", "text"),
    [
        (1e-12, "1n"),
        (1e-9, "1n"),
        (0.0625, "62500000n"),
        (0.099999999, "99999999n"),
        (0.1, "100000u"),
        (0.25, "250000u"),
        (2.0, "2000000u"),
        (2.0000001, "2000001u"),
        (99.999999, "99999999u"),
        (100.0, "100000m"),
        (99_999.999, "99999999m"),
        (100_000.0, "100000S"),
        (99_999_999.0, "99999999S"),
        (99_999_999.5, "1666667M"),
        (6e9, "1666667H"),
        (1e12, "99999999H"),
        (math.inf, "99999999H"),
        (0.0, "1n"),
        (-5.0, "1n"),
    ],
)
def test_time_left_in_the_finest_unit_that_fits(left_s: float, text: str) -> None:
    """At most eight digits, rounded up."""
    assert grpc_timeout(left_s) == text


@given(left_s=st.floats(1e-9, 3.5e11))
def test_time_left_is_rounded_up_by_less_than_its_unit(left_s: float) -> None:
    """What is read again is never less (but for a float's own rounding), nor more than one unit more."""
    text = grpc_timeout(left_s)
    back_s = grpc_timeout_s(text)
    assert back_s is not None
    assert left_s * (1 - 1e-15) <= back_s <= left_s + UNIT_S[text[-1]] * (1 + 1e-6)
    assert 1 <= int(text[:-1]) <= 99_999_999


@given(count=st.integers(0, 99_999_999), unit=st.sampled_from(list(UNIT_S)))
def test_every_timeout_of_the_specification_is_read(count: int, unit: str) -> None:
    """One to eight digits and a unit."""
    assert grpc_timeout_s(f"{count}{unit}") == pytest.approx(count * UNIT_S[unit], rel=1e-15)
    assert grpc_timeout_s(f"{count:08}{unit}") == grpc_timeout_s(f"{count}{unit}")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "S",
        "5",
        "5s",
        "5 S",
        " 5S",
        "5S\n",
        "-5S",
        "+5S",
        "1.5S",
        "1e3S",
        "1_0S",
        "123456789n",
        "000000001S",
        "5SS",
        "nanS",
        "infS",
        "٥S",
        "５S",
        "5µ",
        "9" * 5000 + "S",
    ],
)
def test_nonsense_is_no_timeout(text: str) -> None:
    """Nine digits, other units, signs, fractions and foreign digits are not read."""
    assert grpc_timeout_s(text) is None


@given(text=st.text(max_size=30))
def test_no_text_breaks_a_parser(text: str) -> None:
    """Whatever a client sends, it is a finite number of at least 0 or nothing."""
    for found in (x_deadline_s(text), grpc_timeout_s(text), grpc_timeout_s(text + "S")):
        assert found is None or 0.0 <= found < math.inf
