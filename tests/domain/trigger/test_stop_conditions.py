"""When a test stops itself, on made-up clocks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.trigger.stop_conditions import (
    SILENCE_S,
    ForWindow,
    Sample,
    judge_health,
    judge_query,
)


def sample(t_s: float, well: bool) -> Sample:
    """A look at health."""
    return Sample(t_s, "health", well, "status 200" if well else "status 503")


def fed(*samples: tuple[float, bool], for_s: float = 5.0) -> ForWindow:
    """A window that has seen these."""
    window = ForWindow("health", "2xx within 1 s", for_s)
    for t_s, well in samples:
        window.take(sample(t_s, well))
    return window


def test_a_condition_trips_when_it_has_failed_for_its_window() -> None:
    """The sentence holds the value, the limit and since when."""
    window = fed((1.0, True), (2.0, False), (4.0, False), (6.9, False))
    assert window.tripped(6.9) is None
    said = window.tripped(7.0)
    assert said is not None
    for part in ("health", "status 503", "2xx within 1 s", "5.0 s", "since 2.0 s"):
        assert part in said


def test_one_good_sample_starts_the_window_again() -> None:
    window = fed((1.0, False), (4.0, False), (5.0, True), (6.0, False))
    assert window.tripped(10.9) is None
    assert window.tripped(11.0) is not None


def test_a_failure_followed_by_silence_still_trips() -> None:
    assert fed((1.0, True), (2.0, False)).tripped(7.0) is not None


def test_silence_counts_as_failing() -> None:
    """No sample in the window, from the start or after a good one."""
    said = fed().tripped(5.0)
    assert said is not None
    assert "no sample" in said
    assert fed().tripped(4.9) is None
    assert fed((3.0, True)).tripped(7.9) is None
    assert fed((3.0, True)).tripped(8.0) is not None


def test_a_window_of_zero_trips_at_the_first_failure_and_not_before() -> None:
    assert fed((1.0, True), for_s=0.0).tripped(1.4) is None
    assert fed((1.0, True), (1.5, False), for_s=0.0).tripped(1.5) is not None
    assert fed((1.0, True), for_s=0.0).tripped(1.0 + SILENCE_S) is not None


@given(
    looks=st.lists(st.booleans(), min_size=1, max_size=40),
    for_s=st.floats(0.0, 10.0),
    after_s=st.floats(0.0, 12.0),
)
def test_a_window_says_what_the_definition_says(looks: list[bool], for_s: float, after_s: float) -> None:
    """Against the definition, worked out over all samples at once."""
    times = [0.5 * (index + 1) for index in range(len(looks))]
    window = fed(*zip(times, looks, strict=True), for_s=for_s)
    now_s = times[-1] + after_s
    well = [t_s for t_s, good in zip(times, looks, strict=True) if good]
    failing = [
        t_s for t_s, good in zip(times, looks, strict=True) if not good and t_s > max(well, default=0.0)
    ]
    failed = bool(failing) and now_s - failing[0] >= for_s
    silent = now_s - times[-1] >= max(for_s, SILENCE_S)
    assert (window.tripped(now_s) is not None) == (failed or silent)


@pytest.mark.parametrize(
    ("status", "well"),
    [
        (200, True),
        (204, True),
        (299, True),
        (301, False),
        (302, False),
        (404, False),
        (503, False),
        (199, False),
    ],
)
def test_health_is_2xx_and_a_redirect_is_not(status: int, well: bool) -> None:
    judged = judge_health(1.0, "health", status)
    assert judged.well is well
    assert str(status) in judged.seen


def test_no_answer_is_not_healthy() -> None:
    judged = judge_health(1.0, "health", None, "no answer within 1 s")
    assert not judged.well
    assert judged.seen == "no answer within 1 s"


@pytest.mark.parametrize(
    ("value", "well"),
    [
        (0.0, True),
        (-1.0, True),
        (1e-9, False),
        (3.0, False),
        (math.nan, False),
        (math.inf, False),
        (-math.inf, False),
    ],
)
def test_a_query_is_well_at_zero_and_below(value: float, well: bool) -> None:
    """NaN and infinities are no numbers to go by."""
    judged = judge_query(1.0, "query", value)
    assert judged.well is well
    assert "value" in judged.seen


def test_a_query_without_a_value_fails() -> None:
    judged = judge_query(1.0, "query", None, "an empty vector")
    assert not judged.well
    assert judged.seen == "an empty vector"
