"""Arrivals whose rate changes while they come: Poisson at any rate, fixed by the seed, all counted."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from domain.streams import stream
from loadgen.steered.schedule import SteeredSchedule

Changes = list[tuple[float, float]]


def _schedule(seed: int = 1) -> SteeredSchedule:
    return SteeredSchedule(stream(seed, "arrivals"))


def _arrivals(schedule: SteeredSchedule, changes: Changes, end_s: float) -> list[float]:
    """All arrivals up to ``end_s`` under changes (time, rate), each taken the moment it is due."""
    taken = []
    for (at_s, rate), (until_s, _) in zip(changes, [*changes[1:], (end_s, 0.0)], strict=True):
        schedule.change(at_s, rate)
        while schedule.next_s is not None and schedule.next_s <= until_s:
            taken.append(schedule.take())
    return taken


def test_every_stretch_is_poisson_at_its_rate() -> None:
    """Over 100,000 arrivals: counts near rate × time, and exponential gaps through all changes."""
    rng = np.random.default_rng(7)
    rates = [100.0, 900.0, 0.0, 450.0, 3.5]
    times = np.cumsum(rng.uniform(0.2, 3.0, 250)) - 0.2
    changes = [(float(at), rates[i % len(rates)]) for i, at in enumerate(times)]
    end_s = float(times[-1]) + 1.0
    arrivals = np.array(_arrivals(_schedule(), changes, end_s))
    assert len(arrivals) > 1e5
    assert (np.diff(arrivals) >= 0).all()
    edges = np.array([at for at, _ in changes] + [end_s])
    for rate in set(rates):
        stretches = [(a, b) for a, b, (_, r) in zip(edges[:-1], edges[1:], changes, strict=True) if r == rate]
        expected = rate * sum(b - a for a, b in stretches)
        found = sum(int(((arrivals > a) & (arrivals <= b)).sum()) for a, b in stretches)
        assert abs(found - expected) <= 5 * math.sqrt(expected)
    cumulative = np.concatenate([[0.0], np.cumsum(np.diff(edges) * [r for _, r in changes])])
    gaps = np.diff(np.interp(arrivals, edges, cumulative))
    assert stats.kstest(gaps, "expon").pvalue > 1e-3


def test_changes_that_follow_what_happened_leave_it_poisson() -> None:
    """A rate that is changed right after every arrival, by how long it took, still has exponential gaps."""
    schedule, now_s, rate = _schedule(3), 0.0, 50.0
    schedule.change(0.0, rate)
    scaled = []
    for _ in range(20_000):
        assert schedule.next_s is not None
        arrived_s = schedule.take()
        scaled.append((arrived_s - now_s) * rate)
        rate = 20.0 if scaled[-1] > 1.0 else 400.0
        now_s = arrived_s
        schedule.change(now_s, rate)
    assert stats.kstest(scaled, "expon").pvalue > 1e-3


def test_the_seed_fixes_the_arrivals() -> None:
    """The same seed and changes give the same times; a later change leaves the earlier ones alone."""
    changes = [(0.0, 100.0), (2.0, 300.0)]
    first = _arrivals(_schedule(), changes, 4.0)
    assert _arrivals(_schedule(), changes, 4.0) == first
    assert _arrivals(_schedule(2), changes, 4.0) != first
    other = _arrivals(_schedule(), [(0.0, 100.0), (2.0, 30.0)], 4.0)
    assert [t for t in other if t <= 2] == [t for t in first if t <= 2] != []


def test_no_rate_no_arrival() -> None:
    """Before the first change and at rate zero nothing is to come; a rate brings it back from then on."""
    schedule = _schedule()
    assert schedule.next_s is None
    schedule.change(1.0, 10.0)
    schedule.change(1.0, 0.0)
    assert schedule.next_s is None
    schedule.change(5.0, 10.0)
    assert schedule.next_s is not None
    assert schedule.next_s > 5.0


def test_what_was_due_before_a_change_stays_due() -> None:
    """Late jobs keep their planned times, come first, and are counted, whatever the rate is changed to."""
    planned = _arrivals(_schedule(), [(0.0, 100.0)], 1.0)
    schedule = _schedule()
    schedule.change(0.0, 100.0)
    taken = [schedule.take() for _ in range(10)]
    schedule.change(1.0, 0.0)
    assert schedule.due_by(1.0) == schedule.due_by(50.0) == len(planned)
    while schedule.next_s is not None:
        taken.append(schedule.take())
    assert taken == pytest.approx(planned, abs=1e-9)
    assert schedule.due_by(50.0) == len(planned)


def test_cleared_jobs_are_neither_sent_nor_counted() -> None:
    """After ``clear`` what was late is not wanted any more; only what was taken counts as due."""
    schedule = _schedule()
    schedule.change(0.0, 100.0)
    for _ in range(10):
        schedule.take()
    schedule.clear(1.0)
    assert schedule.next_s is None
    assert schedule.due_by(2.0) == 10
    schedule.change(3.0, 100.0)
    assert schedule.next_s is not None
    assert schedule.next_s > 3.0


def test_jobs_are_counted_as_due_when_they_are() -> None:
    """``due_by`` counts arrivals up to now, taken or not, across a change of rate."""
    changes = [(0.0, 200.0), (1.0, 50.0)]
    arrivals = _arrivals(_schedule(), changes, 3.0)
    schedule = _schedule()
    schedule.change(0.0, 200.0)
    for at_s in (0.25, 0.5, 1.0):
        assert schedule.due_by(at_s) == sum(t <= at_s for t in arrivals)
    schedule.change(1.0, 50.0)
    for _ in range(5):
        schedule.take()
    for at_s in (1.0, 2.0, 3.0):
        assert schedule.due_by(at_s) == sum(t <= at_s for t in arrivals)
