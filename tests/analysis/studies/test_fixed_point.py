"""Seed 004: the fixed point of load and failures."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from analysis import laws
from analysis.studies import fixed_point
from analysis.studies.claims import StudyResult
from tests.analysis.studies.checks import check_result, silent, verdicts


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return fixed_point.run(1.0, silent)


def test_the_study_is_complete(result: StudyResult, tmp_path: Path) -> None:
    """Claims, data and figures are there."""
    assert result.name == "fixed-point"
    check_result(result, tmp_path)


@pytest.mark.parametrize(
    ("utilization", "attempts", "base", "load"),
    [
        ("0.95", 4, "0.1", 1.72736),
        ("0.95", 3, "0.1", 1.43944),
        ("0.95", 2, "0.1", 1.16794),
        ("0.98", 3, "0.05", 1.38247),
        ("0.98", 4, "0.05", 1.63311),
    ],
)
def test_where_the_load_settles(
    result: StudyResult, utilization: str, attempts: int, base: str, load: float
) -> None:
    """The recomputed table, to half a unit of its fifth digit; enclosure and closed form say the same."""
    rows = [
        row
        for row in result.data["fixed_points"]
        if (row["utilization"], row["max_attempts"], row["base_failure"])
        == (float(utilization), attempts, float(base))
    ]
    assert len(rows) == 1
    assert rows[0]["low"] == pytest.approx(load, abs=5.1e-6)
    assert rows[0]["low"] <= rows[0]["closed_form"] <= rows[0]["high"]
    assert rows[0]["high"] - rows[0]["low"] <= 1e-9


def test_the_failure_rate_there() -> None:
    """.4790 at λ = .95, three retries, base .1."""
    load = laws.fixed_point_load(0.95, 4, 0.1)
    assert laws.overload_failure_probability(load, 0.1) == pytest.approx(0.4790, abs=5e-5)


def test_iterates_are_exact() -> None:
    """The first iterate is 19/20 · 1.111, and each further one about triples the digits."""
    turns = fixed_point.exact_steps("0.95", 4, "0.1", 4)
    assert turns[0].next_load == Fraction(21109, 20000)
    assert [turn.digits for turn in turns] == [5, 13, 39, 119]
    for turn, following in pairwise(turns):
        assert following.load == turn.next_load


def test_what_is_refuted(result: StudyResult) -> None:
    """Eighty per cent is over the offered load, not over capacity; and the model has no memory."""
    refuted = {statement for statement, agrees in verdicts(result).items() if agrees is False}
    assert refuted == {
        '"and then eighty per cent over capacity"',
        'The overload "does not end when the original trigger does"',
    }
