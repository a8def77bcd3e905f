"""Attempts received per attempt sent, from a Prometheus counter."""

from __future__ import annotations

import pytest

from analysis.trigger.observations import Observations
from analysis.trigger.received import counts_only_begun, received_per_attempt
from analysis.trigger.result import Interval
from domain.trigger.messages import Tick


def seen(jobs_per_s: int = 100, probes_per_s: int = 10, length_s: int = 20) -> Observations:
    made = Observations()
    for t in range(length_s + 1):
        jobs = jobs_per_s * t
        counts = (jobs, jobs, 2 * jobs, 0, 0, 0, 0, 0, 0, 0, 0, 0, probes_per_s * t, 0)
        made.take(Tick(float(t), *counts, lag_p99_s=0.0, lag_max_s=0.0))
    return made


def each(
    counts: list[tuple[float, float]], jobs_per_s: int = 100, *, probes_pass: bool = True
) -> Interval | None:
    """Of jobs of three attempts, and of ten probes a second."""
    return received_per_attempt(counts, seen(jobs_per_s), 5.0, timeout_s=0.5, probes_pass=probes_pass)


def test_received_over_sent_with_the_probes() -> None:
    found = each([(float(t), 7.0 + 620.0 * t) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(2.0)
    assert 1.8 < found.low < 2.0 < found.high < 2.2


def test_probes_that_go_past_the_gateway_are_counted_once() -> None:
    found = each([(float(t), 7.0 + 610.0 * t) for t in range(21)], probes_pass=False)
    assert found is not None
    assert found.value == pytest.approx(2.0)


def test_a_counter_that_was_reset_counts_from_there() -> None:
    found = each([(float(t), 620.0 * (t if t < 12 else t - 12)) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(2.0)


def test_what_was_counted_before_does_not_count() -> None:
    found = each([(float(t), 620.0 * t if t >= 5 else 0.0) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(2.0)


def test_a_value_that_stands_between_scrapes_is_taken_when_it_moves() -> None:
    """Scraped every four seconds, asked for every second."""
    found = each([(float(t), 620.0 * (t - t % 4)) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(2.0)


def test_none_from_too_little() -> None:
    assert each([]) is None
    assert each([(6.0, 10.0)]) is None
    assert each([(6.0, 10.0), (7.0, 20.0)]) is None
    assert each([(6.0, 10.0), (7.0, 20.0), (8.0, 30.0)], jobs_per_s=10) is None


@pytest.mark.parametrize(("per_s", "begun"), [(150.0, True), (310.0, False), (620.0, False), (40.0, False)])
def test_a_counter_at_the_rate_of_the_capacity_in_a_storm_is_of_what_is_begun(
    per_s: float, begun: bool
) -> None:
    """300 attempts a second are sent to a service of 150 a second; less than that is a gateway's shedding."""
    said = counts_only_begun([(float(t), per_s * t) for t in range(21)], seen(), 5.0, 9.0, 150.0)
    assert (said is not None) == begun
    if said is not None:
        assert "50%" in said
        assert "--received" in said


def test_without_a_count_before_the_push_nothing_is_said_of_the_counter() -> None:
    assert counts_only_begun([(6.0, 10.0), (7.0, 160.0)], seen(), 5.0, 9.0, 150.0) is None
