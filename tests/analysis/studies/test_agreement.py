"""When two figures agree, and what is known from several seeds."""

from __future__ import annotations

import math

import pytest

from analysis.studies.agreement import (
    Agreement,
    all_hold,
    as_printed,
    between,
    close,
    interval_within,
    mean_within,
    one_run,
    same,
    spanned,
    wide,
)
from analysis.studies.sample import Sample


@pytest.mark.parametrize(
    ("ours", "claimed", "agrees"),
    [
        (1.7273610, "1.727", True),
        (1.7275, "1.727", True),
        (1.72751, "1.727", False),
        (47.9, "48", True),
        (0.9999, "1.0000", False),
        (2400.4, "2400", True),
        (2401, "2400", False),
    ],
)
def test_as_printed(ours: float, claimed: str, agrees: bool) -> None:
    """A figure agrees with a printed one within half a unit of its last digit."""
    assert as_printed(ours, claimed).agrees is agrees


def test_close_says_how_far_off() -> None:
    """The words name the sign, the distance and the tolerance."""
    assert close(101, 100, 0.02).agrees
    assert close(101, 100, 0.02).why == "off by +1%: within 2%"
    assert not close(97, 100, 0.02).agrees
    assert close(97, 100, 0.02).why == "off by −3%: outside 2%"
    assert close(100, 100, 0.0).why == "equal"


def test_a_range_is_judged_at_its_nearer_end() -> None:
    """Inside it agrees; outside, the distance to the nearer end counts."""
    assert between(5, 4, 6, 0.0).agrees
    assert between(6.1, 4, 6, 0.02).agrees
    assert not between(6.2, 4, 6, 0.02).agrees
    assert not between(3.8, 4, 6, 0.02).agrees


@pytest.mark.parametrize(
    ("ours", "others", "claimed", "agrees", "words"),
    [
        (100, [90, 130], 125, True, "outside 5%; with 2 other lags and windows it is 90 to 130, which holds"),
        (100, [90, 120], 127, False, "which does not hold the source's figure"),
        (100, [90, 120], 104, True, "with windows of 30 s ours is off by −3.8%: within 5%"),
        (100, [100, 100], 100, True, "with 2 other lags and windows it is the same"),
        (math.inf, [math.inf], 270.0, False, "no finite value"),
    ],
)
def test_a_figure_that_an_open_parameter_decides_is_fitted(
    ours: float, others: list[float], claimed: float, agrees: bool, words: str
) -> None:
    """Near by our setting or inside the span of others: either way it is never plain agreement."""
    judged = spanned(ours, others, claimed, 0.05, left_open="metric window", setting="windows of 30 s")
    assert judged.agrees is agrees
    assert judged.fitted == "metric window"
    assert judged.why.startswith("the source does not state its metric window; with windows of 30 s ours is ")
    assert words in judged.why


def test_an_interval_is_within_or_beyond_or_undecided() -> None:
    """A straddling interval is no agreement, however wide."""
    assert interval_within(0.98, 1.01, 0.97, 1.02) is True
    assert interval_within(1.03, 1.05, 0.97, 1.02) is False
    assert interval_within(0.5, 1.5, 0.97, 1.02) is None
    assert all_hold([True, True]) is True
    assert all_hold([True, None]) is None
    assert all_hold([None, False]) is False


def test_more_noise_never_makes_a_mean_agree() -> None:
    """All of the interval of the mean must be within the tolerance."""
    assert mean_within(Sample.of([99, 100, 101, 100, 100]), 100, 0.02).agrees is True
    assert mean_within(Sample.of([80, 100, 120, 90, 110]), 100, 0.02).agrees is None
    assert mean_within(Sample.of([80, 100, 120, 90, 110]), 103, 0.001).agrees is None
    assert mean_within(Sample.of([109, 110, 111, 110, 110]), 100, 0.02).agrees is False
    assert mean_within(Sample.of([100, 100, 100]), 100, 0.02).agrees is None


def test_an_interval_wider_than_half_of_the_figure_says_so() -> None:
    """And one that is not says nothing."""
    assert wide(5.0, 10.0) == ""
    assert wide(5.1, -10.0) == "our own interval is 5.1 wide, more than half of 10"


def test_a_verdict_keeps_its_parameter() -> None:
    """Remarks do not lose what was fitted."""
    judged = Agreement(True, "equal").fitted_to("the window").because("So it is")
    assert judged == Agreement(True, "equal. So it is", "the window")


def test_one_run_of_the_source_against_several_seeds() -> None:
    """A single run may lie as far off as one more of ours would, and no further."""
    sample = Sample.of([98, 100, 102, 99, 101])
    low, high = sample.prediction
    assert low < 98
    assert high > 102
    assert one_run(sample, 103).agrees
    assert not one_run(sample, 112).agrees
    assert one_run(sample, 80, 97).agrees
    assert one_run(sample, 80, 90).agrees is False


def test_a_run_at_a_higher_rate_scatters_less() -> None:
    """The interval is of the source's chance and of how sure our mean is, not of our chance."""
    sample = Sample.of([98, 100, 102, 99, 101])
    assert one_run(sample, 104).agrees
    assert one_run(sample, 104, source_spread=0.2).agrees is False
    low, high = sample.further_run(0.0)
    assert high - low == pytest.approx(2 * sample.half_width)


def test_both_ends_of_a_range_of_runs() -> None:
    """Two runs, one of which we make unlikely, are undecided; neither likely is a refutation."""
    sample = Sample.of([98, 100, 102, 99, 101])
    assert one_run(sample, 99, 102, both_ends=True).agrees is True
    assert one_run(sample, 80, 97, both_ends=True).agrees is None
    assert one_run(sample, 80, 90, both_ends=True).agrees is False


@pytest.mark.parametrize(
    ("values", "agrees", "words"),
    [
        ([98, 100, 102], None, "3 seeds are too few"),
        ([10, 100, 190, 60, 140], None, "our own interval is"),
        ([98, 100, math.inf, 99, 101], None, "no finite value in 1 of 5 seeds"),
        ([math.inf] * 5, False, "no finite value in any of 5 seeds"),
    ],
)
def test_what_seeds_cannot_tell(values: list[float], agrees: bool | None, words: str) -> None:
    """Too few, too wide apart, or without a value: nobody is confirmed by that."""
    judged = one_run(Sample.of(values), 100)
    assert judged.agrees is agrees
    assert words in judged.why


def test_a_sample_in_words() -> None:
    """Mean, half of the 95% interval, how many of what."""
    sample = Sample.of([2398, 2402, 2400])
    assert sample.mean == 2400
    assert sample.half_width == pytest.approx(2 / math.sqrt(3) * 4.302653, rel=1e-5)
    assert sample.words(" s") == "2,400 ± 5 s (3 seeds)"
    assert Sample.of([7]).words("×", of="request") == "7× (1 request)"
    assert math.isnan(Sample.of([]).mean)


def test_infinite_values_are_counted() -> None:
    """They have no mean and no interval; the others have."""
    sample = Sample.of([2398, math.inf, 2402])
    assert sample.infinite == 1
    assert sample.words(" s") == "2,400 ± 25 s (2 seeds), never in 1 of 3 seeds"
    assert Sample.of([math.inf] * 3).words(" s") == "never in 3 of 3 seeds"
    assert math.isinf(sample.mean)
    assert math.isnan(sample.half_width)


def test_equality_of_outcomes() -> None:
    """Counts and words are the same or not."""
    assert same([1, 2], [1, 2]).agrees
    assert same("never", "270 s").agrees is False
