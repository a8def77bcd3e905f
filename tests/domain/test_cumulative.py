"""Counters and ready pods as somebody sees them who looks now and then."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.autoscaler import Pods
from domain.cumulative import MOST_SAMPLES, Cumulative, ReadySince


def counter(*samples: tuple[float, float], keep_s: float = 1000.0, gap_s: float = math.inf) -> Cumulative:
    """One that was seen at these times with these values."""
    history = Cumulative(keep_s, gap_s=gap_s)
    for at_s, value in samples:
        history.add(at_s, value)
    return history


@pytest.mark.parametrize(
    ("start_s", "stop_s", "rate"),
    [
        (0.0, 20.0, 15.0),
        (0.0, 10.0, 10.0),
        (10.0, 20.0, 20.0),
        # edges between samples are interpolated
        (5.0, 15.0, 15.0),
        (12.0, 13.0, 20.0),
        # what began before the first sample is cut to it
        (-50.0, 10.0, 10.0),
        # nothing is left of it
        (-50.0, 0.0, None),
        (20.0, 20.0, None),
        # it ends after the newest sample
        (0.0, 20.1, None),
    ],
)
def test_mean_rate_over_a_window(start_s: float, stop_s: float, rate: float | None) -> None:
    """100 in the first ten seconds, 200 in the next ten."""
    measured = counter((0.0, 1000.0), (10.0, 1100.0), (20.0, 1300.0)).rate(start_s, stop_s)
    assert measured == (None if rate is None else pytest.approx(rate))


def test_before_two_samples_there_is_no_rate() -> None:
    assert Cumulative(10.0).rate(0.0, 1.0) is None
    assert counter((5.0, 7.0)).rate(0.0, 5.0) is None


def test_a_window_may_end_a_little_after_the_newest_sample() -> None:
    """As much as ``slack_s``; its mean is over what was seen."""
    history = counter((0.0, 0.0), (10.0, 100.0))
    assert history.rate(0.0, 15.0, slack_s=5.0) == pytest.approx(10.0)
    assert history.rate(0.0, 15.1, slack_s=5.0) is None


@pytest.mark.parametrize(("value", "rate"), [(0.0, 10.0), (50.0, 12.5), (99.0, 14.95), (100.0, 10.0)])
def test_a_counter_that_shows_less_began_again_at_nothing(value: float, rate: float) -> None:
    """100 in 10 s, then ``value`` is seen, which is a restart if it is less, and 100 more after that."""
    history = counter((0.0, 0.0), (10.0, 100.0), (15.0, value), (20.0, value + 100.0))
    grown = 100.0 + (value if value < 100.0 else 0.0) + 100.0
    assert history.rate(0.0, 20.0) == pytest.approx(grown / 20.0)
    assert rate == pytest.approx(grown / 20.0)


def test_samples_too_far_apart_are_not_joined() -> None:
    """A target that was away for long counts from where it was first seen again."""
    history = counter((0.0, 0.0), (10.0, 100.0), (200.0, 5000.0), gap_s=60.0)
    assert history.rate(150.0, 200.0) is None
    history.add(205.0, 5100.0)
    assert history.rate(150.0, 205.0) == pytest.approx(20.0)


def test_old_news_is_left_out() -> None:
    history = counter((0.0, 0.0), (10.0, 100.0), (5.0, 90.0), (10.0, 900.0))
    assert len(history) == 2
    assert history.rate(0.0, 10.0) == pytest.approx(10.0)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0])
def test_what_no_counter_shows_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="value: must be finite and at least 0"):
        Cumulative(10.0).add(0.0, value)


def test_memory_is_bounded() -> None:
    """No more than the window needs, whole windows staying whole; and never more than a limit."""
    history = Cumulative(60.0)
    for second in range(100_000):
        history.add(float(second), 3.0 * second)
        assert len(history) <= 62
    assert history.rate(99_999.0 - 60.0, 99_999.0) == pytest.approx(3.0)
    greedy = Cumulative(60.0)
    for tick in range(3 * MOST_SAMPLES):
        greedy.add(tick / 1e4, float(tick))
    assert len(greedy) == MOST_SAMPLES
    assert greedy.rate(-math.inf, 2.9) == pytest.approx(1e4)


@given(
    steps=st.lists(
        st.tuples(st.floats(0.1, 20.0), st.floats(0.0, 1000.0), st.booleans()), min_size=2, max_size=40
    ),
    ends=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)),
)
def test_it_is_the_straight_line_between_samples(
    steps: list[tuple[float, float, bool]], ends: tuple[float, float]
) -> None:
    """Against numpy, with restarts at any time: what was counted in all, whatever the counter shows."""
    history, at_s, total, shown = Cumulative(math.inf), 0.0, 0.0, 0.0
    times, totals = [0.0], [0.0]
    history.add(0.0, 0.0)
    for step_s, grown, restarts in steps:
        at_s += step_s
        # A restart is only seen where the counter shows less than before.
        shown = grown if restarts and grown < shown else shown + grown
        total += grown
        history.add(at_s, shown)
        times.append(at_s)
        totals.append(total)
    start_s, stop_s = sorted(share * at_s for share in ends)
    if stop_s - start_s < 1e-6:
        return
    low, high = np.interp([start_s, stop_s], times, totals)
    expected = (high - low) / (stop_s - start_s)
    assert history.rate(start_s, stop_s) == pytest.approx(expected, rel=1e-6, abs=1e-4)


def test_pods_count_once_they_were_ready_in_time() -> None:
    """Four for ever, six more seen at 100 s."""
    pods = ReadySince()
    pods.look(0.0, 4)
    pods.look(100.0, 10)
    assert pods.seen(12, 99.0) == Pods(4, unready=8)
    assert pods.seen(12, 100.0) == Pods(10, unready=2)


def test_the_newest_are_given_up_first() -> None:
    pods = ReadySince()
    pods.look(0.0, 4)
    pods.look(50.0, 8)
    pods.look(60.0, 6)
    pods.look(70.0, 9)
    assert pods.seen(9, 49.0) == Pods(4, unready=5)
    assert pods.seen(9, 50.0) == Pods(6, unready=3)
    pods.look(80.0, 2)
    assert pods.seen(2, 50.0) == Pods(2)


def test_when_starting_pods_will_be_ready_is_believed() -> None:
    """They need not be looked at in that moment; what has not come after all is not counted."""
    pods = ReadySince()
    pods.look(0.0, 4, [(2, 20.0), (6, 10.0)])
    assert pods.seen(12, 9.9) == Pods(4, unready=8)
    pods.look(30.0, 12)
    assert pods.seen(12, 10.0) == Pods(10, unready=2)
    assert pods.seen(12, 20.0) == Pods(12)
    late = ReadySince()
    late.look(0.0, 4, [(6, 10.0)])
    late.look(15.0, 4, [(6, 16.0)])
    assert late.seen(10, 15.0) == Pods(4, unready=6)
    late.look(20.0, 10)
    assert late.seen(10, 16.0) == Pods(10)


def test_more_ready_than_there_should_be_are_no_more_than_there_should_be() -> None:
    """Pods that drain are still ready for a while."""
    pods = ReadySince()
    pods.look(0.0, 10)
    assert pods.seen(6, 0.0) == Pods(6)


def test_what_is_remembered_of_pods_is_bounded() -> None:
    """A thousand changes, asked for each time, leave one group of old pods and a few newer ones."""
    pods = ReadySince()
    for second in range(1000):
        pods.look(float(second), 4 + second % 2 + second // 10)
        pods.seen(500, second - 30.0)
        assert len(pods._roster.groups) < 40
