"""The small rules of the study: shares, ratios, bisection, and when a figure agrees."""

from __future__ import annotations

import pytest

from analysis.studies.collapse_law.bisection import for_each, threshold
from analysis.studies.collapse_law.judgement import mean_over, median_errors, share_over, single_run
from analysis.studies.collapse_law.ratios import PooledRatio
from analysis.studies.collapse_law.rows import pick, plain_attempts, plain_values
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.collapse_law.shares import Share
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
    assert not mean_over(sample, 0.99, 4, 1.0).agrees
    assert "its spread" in mean_over(sample, 0.97, 4, 1.0).why
    assert "our spread" in mean_over(sample, 0.97, 4).why


def test_a_single_run_must_be_one_of_the_middle() -> None:
    """The middle 95% of 0, …, 100; a range agrees if part of it is inside."""
    sample = Sample.of(range(101))
    assert single_run(sample, 97.0).agrees
    assert not single_run(sample, 99.0).agrees
    assert single_run(sample, 97.0, 120.0).agrees
    assert single_run(Sample.of(range(10)), 1.0).agrees is None


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
