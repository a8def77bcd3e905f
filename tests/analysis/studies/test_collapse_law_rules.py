"""The small rules of the study: shares, ratios, bisection, and when a figure agrees."""

from __future__ import annotations

import math

import pytest

from analysis.studies.claims import Claim
from analysis.studies.collapse_law.bisection import for_each, threshold
from analysis.studies.collapse_law.caps import _readings
from analysis.studies.collapse_law.judgement import (
    above,
    descending,
    difference,
    mean_over,
    median_errors,
    share_over,
    single_run,
)
from analysis.studies.collapse_law.ratios import PooledRatio
from analysis.studies.collapse_law.rows import Row, pick, plain_attempts, plain_values
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.collapse_law.shares import Share
from analysis.studies.collapse_law.tipping import _every, half_load
from analysis.studies.sample import Sample


def test_bisection_finds_a_step() -> None:
    """Nine halvings of a bracket of 1.4 leave half of 1.4/512 either side."""
    assert threshold(lambda load: load > 0.3, 0.0, 1.4) == pytest.approx(0.3, abs=1.4 / 1024)
    assert threshold(lambda _: False, 0.0, 1.4) == pytest.approx(1.4, abs=1.4 / 512)


def test_work_comes_back_in_the_order_of_the_seeds() -> None:
    """Whatever thread was first."""
    assert for_each(range(50), lambda seed: seed * seed) == [n * n for n in range(50)]


@pytest.mark.parametrize(
    ("count", "of", "low", "high"),
    [(0, 24, 0.0, 0.1380), (12, 24, 0.3143, 0.6857), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_interval(count: int, of: int, low: float, high: float) -> None:
    """The last is Newcombe's own example (1998)."""
    assert Share(count, of).interval == pytest.approx((low, high), abs=1e-4)


def test_newcombe_interval_of_a_difference() -> None:
    """56 of 70 against 48 of 80: 0.0524 to 0.3339, method 10 of Newcombe (1998)."""
    assert Share(56, 70).difference(Share(48, 80)) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_a_share_of_few_seeds_agrees_within_chance() -> None:
    """23 of 24 is compatible with 0.85 but not with 0.5."""
    assert share_over(Share(850, 1000), 0.96, 24).agrees
    assert not share_over(Share(500, 1000), 0.96, 24).agrees


def test_a_mean_of_few_seeds_agrees_within_its_error() -> None:
    """With a spread of 1 a mean over four seeds may be 0.98 off, and no more."""
    sample = Sample.of([0.0] * 1000)
    assert mean_over(sample, 0.97, 4, 1.0).agrees
    assert mean_over(sample, 0.99, 4, 1.0).agrees is False
    assert "its spread" in mean_over(sample, 0.97, 4, 1.0).why
    assert "our spread (it gives none)" in mean_over(sample, 0.97, 4).why


def test_a_single_run_must_be_one_of_the_middle() -> None:
    """The middle 95% of 0, …, 100; a range agrees if part of it is inside."""
    sample = Sample.of(range(1000, 1101))
    assert single_run(sample, 1097.0).agrees
    assert single_run(sample, 1099.0).agrees is False
    assert single_run(sample, 1097.0, 1120.0).agrees
    assert single_run(Sample.of(range(10)), 1.0).agrees is None


def test_our_own_noise_confirms_nothing() -> None:
    """An interval of ours wider than half of the figure is no agreement, but may still refute."""
    noisy = Sample.of([0.0, 0.0, 1.0, 1.0, 0.5])
    assert mean_over(noisy, 0.45, 3).agrees is None
    assert mean_over(noisy, 9.0, 3, 0.1).agrees is False
    assert mean_over(Sample.of([0.45] * 4), 0.45, 3).agrees is None
    assert mean_over(Sample.of([-0.1, 0.1, 0.0, 0.02, -0.02]), 0.0, 3).agrees is None
    assert mean_over(Sample.of([-0.1, 0.1, 0.0, 0.02, -0.02]), 0.0, 3, scale=1.0).agrees is True
    assert share_over(Share(4, 8), 0.5, 8).agrees is None
    assert single_run(Sample.of(range(101)), 50.0).agrees is None


def test_a_difference_is_above_below_or_untold() -> None:
    """Welch's interval, t of four degrees for equal spreads; one value has none."""
    a, b = Sample.of([10.0, 11.0, 12.0]), Sample.of([1.0, 2.0, 3.0])
    low, high = difference(a, b)
    assert (low + high) / 2 == pytest.approx(9.0)
    assert (high - low) / 2 == pytest.approx(2.776445 * math.sqrt(2 / 3), rel=1e-5)
    assert above((low, high)) is True
    assert above(difference(b, a)) is False
    assert above(difference(a, a)) is None
    assert above(difference(a, Sample.of([1.0]))) is None


def test_an_order_of_means_needs_every_step() -> None:
    """By chance three means are in order once in six; so each step must be beyond its interval."""
    high, middle, low = (Sample.of([x, x + 0.1, x + 0.2]) for x in (3.0, 2.0, 1.0))
    assert descending([high, middle, low]) is True
    assert descending([high, low, middle]) is False
    assert descending([high, high, low]) is None


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([True, False, None], [True, None, None]),
        ([False, False], [False, False]),
        ([None, False], [None, False]),
    ],
)
def test_readings_refute_only_together(verdicts: list[bool | None], expected: list[bool | None]) -> None:
    """If the source's figure comes out in one reading, the others were not its reading."""
    rows = [Claim(f"{n}", "s", "1", "1", verdict, "so") for n, verdict in enumerate(verdicts)]
    assert [row.agrees for row in _readings(rows)] == expected


@pytest.mark.parametrize(("count", "of", "expected"), [(25, 25, None), (500, 500, True), (460, 500, False)])
def test_every_run_needs_many(count: int, of: int, expected: bool | None) -> None:
    """All of few runs may be all of most."""
    assert _every(Share(count, of)) is expected


def test_half_load_has_an_interval() -> None:
    """Between loads, with fewer runs wider."""
    rows: list[Row] = [
        {"theta": 2.0, "load": x, **Share(round(x * n), n).plain()} for n in (1000,) for x in (0.1, 0.5, 0.9)
    ]
    middle, low, high = half_load(rows, 2.0)
    assert middle == pytest.approx(0.5)
    assert 0.45 < low < middle < high < 0.55


def test_errors_of_groups() -> None:
    """Two groups of two seeds in each of two cells; fewer seeds than a group make one group."""
    cells = [Sample.of([1.1, 1.1, 0.8, 0.8]), Sample.of([2.0, 2.0, 2.0, 2.0])]
    assert median_errors([1.0, 2.0], cells, 2).values == pytest.approx((0.05, 0.1))
    assert median_errors([1.0, 2.0], cells, 8).values == pytest.approx((0.025,))


def test_a_pooled_ratio_weighs_runs_by_their_size() -> None:
    """1 of 1 and 0 of 9 are 1 of 10; equal shares leave no error."""
    assert PooledRatio.of([1, 0], [1, 9]).value == pytest.approx(0.1)
    assert PooledRatio.of([1, 2], [10, 20]).half_width == pytest.approx(0.0)


def test_cells_have_seeds_of_their_own() -> None:
    """The same for the same name, none shared between names, four at least."""
    assert seeds_of("a", 10) == seeds_of("a", 10)
    assert not set(seeds_of("a", 1000)) & set(seeds_of("b", 1000))
    assert len(seeds_of("a", 0.2)) == 4


def test_rows_are_found_by_their_values() -> None:
    """The first that matches; none is an error."""
    rows = [{"m": 2, "x": 1}, {"m": 4, "x": 2}]
    assert pick(rows, m=4)["x"] == 2
    with pytest.raises(KeyError):
        pick(rows, m=6)
    assert plain_attempts(float("inf")) == "inf"
    assert plain_values([1 / 3]) == [0.333333]
