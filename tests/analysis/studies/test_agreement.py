"""When two figures agree, and what is known from several seeds."""

from __future__ import annotations

import math

import pytest

from analysis.studies.agreement import as_printed, between, close, one_run, same, spanned
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


def test_a_figure_inside_the_span_of_an_open_parameter_agrees() -> None:
    """Off by more than the tolerance, it still agrees when another setting of ours gives it."""
    assert spanned(100, [90, 130], 125, 0.05, "with others").agrees
    assert not spanned(100, [90, 120], 127, 0.05, "with others").agrees
    assert spanned(100, [90, 120], 104, 0.05, "with others").agrees
    assert not spanned(math.inf, [math.inf], 270.0, 0.05, "with others").agrees


def test_one_run_of_the_source_against_several_seeds() -> None:
    """A single run may lie as far off as one more of ours would, and no further."""
    sample = Sample.of([98, 100, 102, 99, 101])
    low, high = sample.prediction
    assert low < 98
    assert high > 102
    assert one_run(sample, 103).agrees
    assert not one_run(sample, 112).agrees
    assert one_run(sample, 80, 97).agrees
    assert not one_run(sample, 80, 90).agrees


def test_a_sample_in_words() -> None:
    """Mean, half of the 95% interval, how many of what."""
    sample = Sample.of([2398, 2402, 2400])
    assert sample.mean == 2400
    assert sample.half_width == pytest.approx(2 / math.sqrt(3) * 4.302653, rel=1e-5)
    assert sample.words(" s") == "2,400 ± 5 s (3 seeds)"
    assert Sample.of([7]).words("×", of="request") == "7× (1 request)"
    assert math.isnan(Sample.of([]).mean)


def test_equality_of_outcomes() -> None:
    """Counts and words are the same or not."""
    assert same([1, 2], [1, 2]).agrees
    assert same("never", "270 s").agrees is False
