"""A from a Prometheus counter of what the service received."""

from __future__ import annotations

import pytest

from analysis.trigger.observations import Observations
from analysis.trigger.received import received_amplification
from analysis.trigger.result import Interval
from domain.trigger.messages import Tick


def seen(jobs_per_s: int = 100, probes_per_s: int = 10, length_s: int = 20) -> Observations:
    made = Observations()
    for t in range(length_s + 1):
        jobs = jobs_per_s * t
        counts = (jobs, jobs, 2 * jobs, 0, 0, 0, 0, 0, 0, 0, 0, 0, probes_per_s * t, 0)
        made.take(Tick(float(t), *counts, lag_p99_s=0.0, lag_max_s=0.0))
    return made


def amplification(counts: list[tuple[float, float]], jobs_per_s: int = 100) -> Interval | None:
    return received_amplification(counts, seen(jobs_per_s), 5.0, timeout_s=0.5)


def test_received_over_jobs_without_the_probes() -> None:
    found = amplification([(float(t), 7.0 + 610.0 * t) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(6.0)
    assert 5.0 < found.low < 6.0 < found.high < 7.0


def test_a_counter_that_was_reset_counts_from_there() -> None:
    found = amplification([(float(t), 610.0 * (t if t < 12 else t - 12)) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(6.0)


def test_what_was_counted_before_does_not_count() -> None:
    found = amplification([(float(t), 610.0 * t if t >= 5 else 0.0) for t in range(21)])
    assert found is not None
    assert found.value == pytest.approx(6.0)


def test_none_from_too_little() -> None:
    assert amplification([]) is None
    assert amplification([(6.0, 10.0)]) is None
    assert amplification([(6.0, 10.0), (7.0, 20.0)], jobs_per_s=10) is None
