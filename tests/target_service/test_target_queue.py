import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain.streams import stream
from target_service.draws import demands
from target_service.queue import ServiceQueue
from target_service.settings import CapacityChange

OUTAGE = CapacityChange(capacity_factor=0.0)
RESTORED = CapacityChange(capacity_factor=1.0)


def ends(queue, now):
    return {done.item: pytest.approx(done.ideal_end_s, abs=1e-12) for done in queue.advance(now)}


def test_demands_are_the_service_stream_in_order():
    """Blocks change nothing: the draws are those of the service stream, one by one."""
    drawn = demands(7)
    rng = stream(7, "service")
    assert [next(drawn) for _ in range(10_000)] == [rng.standard_exponential() for _ in range(10_000)]


@pytest.mark.parametrize(
    ("pods", "rate", "arrivals", "work", "expected"),
    [
        (1, 1.0, [0, 0, 0], [1, 2, 3], [1, 3, 6]),
        (1, 2.0, [0, 10, 10.5], [4, 2, 2], [2, 11, 12]),
        (2, 1.0, [0, 0, 0, 0], [5, 1, 1, 1], [5, 1, 2, 3]),
        (2, 1.0, [0, 1, 2, 3], [4, 1, 1, 2], [4, 2, 3, 5]),
        (3, 0.5, [0, 0, 0, 1], [1, 2, 3, 1], [2, 4, 6, 4]),
    ],
)
def test_hand_computed_ends(pods, rate, arrivals, work, expected):
    """FIFO over N pods, worked out on paper."""
    queue = ServiceQueue(pods, rate, iter(map(float, work)))
    for number, arrived in enumerate(arrivals):
        queue.arrive(arrived, number)
    assert ends(queue, 100) == dict(enumerate(expected))


def test_completions_come_in_the_order_of_their_ideal_ends():
    """A long piece of work that began first is returned after the short one that ended first."""
    queue = ServiceQueue(2, 1.0, iter([5.0, 1.0, 1.0]))
    for name in "abc":
        queue.arrive(0, name)
    assert [done.item for done in queue.advance(100)] == ["b", "c", "a"]


def test_work_begins_where_the_last_ended_however_late_the_timer():
    """Advancing an hour late moves no completion."""
    queue = ServiceQueue(1, 1.0, iter([1.0, 1.0]))
    queue.arrive(0, "a")
    queue.arrive(0.5, "b")
    assert ends(queue, 3600) == {"a": 1, "b": 2}
    assert queue.next_event_s == math.inf


@pytest.mark.parametrize(
    ("changes", "expected_end", "expected_service"),
    [
        ([(1, CapacityChange(rate_per_pod=2.0))], 2.5, 2.5),
        ([(1, CapacityChange(rate_per_pod=0.5))], 7, 7),
        ([(1, OUTAGE), (11, RESTORED)], 14, 4),
        ([(1, OUTAGE), (2, CapacityChange(rate_per_pod=3.0)), (5, RESTORED)], 6, 2),
        ([(4, OUTAGE), (9, RESTORED)], 4, 4),
    ],
)
def test_changes_in_mid_service(changes, expected_end, expected_service):
    """Four seconds of work at rate 1 that begin at 0, under changes of rate and outages."""
    queue = ServiceQueue(1, 1.0, iter([4.0]))
    queue.arrive(0, "a")
    for at, change in reversed(changes):  # the order of asking does not matter, the times do
        queue.set_capacity(at, change)
    (done,) = queue.advance(100)
    assert done.ideal_end_s == pytest.approx(expected_end)
    assert done.service_s == pytest.approx(expected_service)


def test_an_outage_freezes_work_and_counts_as_neither_busy_nor_saturated():
    """What is in service stays, the backlog stands still, and no completion is planned."""
    queue = ServiceQueue(1, 1.0, iter([4.0, 1.0]))
    queue.arrive(0, "a")
    queue.arrive(0, "b")
    queue.set_capacity(1, OUTAGE)
    for now in (2, 50):
        state = queue.state(now)
        assert (state.busy_s, state.saturated_s, state.backlog_s) == (1, 1, 4)
        assert (state.queue_depth, state.in_service, queue.advance(now)) == (1, 1, [])
    assert queue.next_event_s == math.inf


def test_arrivals_during_an_outage_wait_for_its_end():
    """An idle pod takes the arrival at once, but its service begins when capacity is back."""
    queue = ServiceQueue(1, 1.0, iter([2.0]))
    queue.set_capacity(1, OUTAGE)
    queue.set_capacity(5, RESTORED)
    queue.arrive(3, "a")
    assert ends(queue, 100) == {"a": 7}


@pytest.mark.parametrize("told_at", [0.5, 1.0, 1.5])
def test_a_change_in_the_past_is_exact_for_work_in_service(told_at):
    """Work begun before the outage and work that arrived in it end as if the outage had been foreseen."""
    queue = ServiceQueue(2, 1.0, iter([2.0, 1.0]))
    queue.arrive(0, "before")
    queue.arrive(0.8, "within")
    assert queue.advance(told_at) == []
    queue.set_capacity(0.5, OUTAGE)
    queue.set_capacity(3.0, RESTORED)
    assert ends(queue, 100) == {"before": 4.5, "within": 4}
    assert queue.state(100).busy_s == pytest.approx(3)


def test_a_restoration_told_late_is_exact_for_arrivals_since():
    """An arrival after the true end of an outage begins on arrival."""
    queue = ServiceQueue(1, 1.0, iter([2.0]))
    queue.set_capacity(1, OUTAGE)
    queue.arrive(5.5, "a")
    assert queue.advance(6) == []
    queue.set_capacity(5, RESTORED)
    assert ends(queue, 100) == {"a": 7.5}


def test_work_given_too_early_is_not_given_again():
    """One completion slips out before a late change is known; the next ones are where they belong."""
    queue = ServiceQueue(1, 1.0, iter([1.0, 1.0, 1.0]))
    for name in "abc":
        queue.arrive(0, name)
    assert ends(queue, 1.2) == {"a": 1}
    queue.set_capacity(0.8, CapacityChange(rate_per_pod=0.5))
    # Foreseen, W(t) = 0.8 + (t − 0.8)/2 reaches 2 at 3.2 and 3 at 5.2.
    assert ends(queue, 100) == {"b": 3.2, "c": 5.2}


def test_a_speed_up_told_late_starts_nothing_before_it_arrived():
    """The first piece turns out to have ended at 5.5; the one that arrived at 9 begins at 9."""
    queue = ServiceQueue(1, 1.0, iter([10.0, 1.0]))
    queue.arrive(0, "a")
    queue.arrive(9, "b")
    queue.set_capacity(1, CapacityChange(rate_per_pod=2.0))
    assert ends(queue, 100) == {"a": 5.5, "b": 9.5}


def test_more_pods_take_waiting_work_at_once():
    """Growing from one pod to three at t = 1 begins two more pieces of work then."""
    queue = ServiceQueue(1, 1.0, iter([4.0, 4.0, 4.0, 1.0]))
    for name in "abcd":
        queue.arrive(0, name)
    queue.set_capacity(1, CapacityChange(pods=3))
    assert ends(queue, 100) == {"a": 4, "b": 5, "c": 5, "d": 5}


def test_fewer_pods_let_the_running_finish():
    """Shrinking from three pods to one takes nothing out of service, and starts nothing until one is left."""
    queue = ServiceQueue(3, 1.0, iter([2.0, 3.0, 4.0, 1.0]))
    for name in "abcd":
        queue.arrive(0, name)
    queue.set_capacity(1, CapacityChange(pods=1))
    assert queue.state(1.5).in_service == 3
    assert ends(queue, 100) == {"a": 2, "b": 3, "c": 4, "d": 5}
    # Saturated: all three in [0, 1), none while more than the fleet is in service, one in [3, 5).
    state = queue.state(100)
    assert (state.saturated_s, state.saturated_completed) == (pytest.approx(3), 2)


def test_state_by_hand():
    """Two pods at rate 2 under five pieces of work, a quarter second in and after everything."""
    queue = ServiceQueue(2, 2.0, iter([1.0, 2.0, 1.0, 1.0, 1.0]))
    for number in range(5):
        queue.arrive(0, number)
    state = queue.state(0.25)
    assert (state.queue_depth, state.in_service, state.arrived, state.completed) == (3, 2, 5, 0)
    assert state.backlog_s == pytest.approx((3 + 0.5 + 1.5) / 4)
    assert (state.busy_s, state.saturated_s) == (pytest.approx(0.5), pytest.approx(0.25))
    state = queue.state(10)
    assert (state.queue_depth, state.in_service, state.completed, state.backlog_s) == (0, 0, 5, 0)
    # Ends at 0.5, 1, 1, 1.5, 1.5: both pods busy until the first of the two at 1.5.
    assert (state.busy_s, state.saturated_s, state.saturated_completed) == (
        pytest.approx(3),
        pytest.approx(1.5),
        4,
    )


def test_outstanding_is_whatever_has_not_ended():
    """In service first, then the queue, oldest first."""
    queue = ServiceQueue(2, 1.0, iter([9.0, 1.0, 5.0, 5.0]))
    for name in "abcd":
        queue.arrive(0, name)
    queue.advance(2)
    assert queue.outstanding() == ["a", "c", "d"]


class WorkClock:
    """W(t) under rate changes, inverted by search: the reference for the property test."""

    def __init__(self, changes):
        self.times = [0.0, *(at for at, _ in changes), 1e6]
        self.rates = [1.0, *(rate for _, rate in changes)]
        steps = [r * (b - a) for r, (a, b) in zip(self.rates, pairwise(self.times), strict=True)]
        self.work = [0.0, *np.cumsum(steps)]

    def at(self, time):
        return float(np.interp(time, self.times, self.work))

    def when(self, work):
        piece = next(i for i in range(len(self.rates)) if self.work[i + 1] >= work)
        return self.times[piece] + (work - self.work[piece]) / self.rates[piece]


positive = st.floats(0.01, 5.0)


@settings(deadline=None)  # other people's load is no fault of the queue
@given(
    gaps=st.lists(st.floats(0.0, 2.0), min_size=1, max_size=30),
    work=st.lists(positive, min_size=30, max_size=30),
    pods=st.integers(1, 5),
    changes=st.lists(st.tuples(positive, st.sampled_from([0.0, 0.3, 1.0, 4.0])), max_size=5),
    jitter=st.randoms(use_true_random=False),
)
def test_agrees_with_the_recursion(gaps, work, pods, changes, jitter):
    """Whenever it is advanced, every end is D = W⁻¹(max(W(a), earliest free pod) + E)."""
    at, told = 0.0, []
    for gap, rate in changes:
        at += gap
        told.append((at, rate))
    told.append((at + 1.0, 1.0))
    arrivals = np.cumsum(gaps)
    clock, free, expected = WorkClock(told), [0.0] * pods, []
    for arrived, demand in zip(arrivals, work, strict=False):
        pod = free.index(min(free))
        free[pod] = max(clock.at(arrived), free[pod]) + demand
        expected.append(clock.when(free[pod]))

    queue, done = ServiceQueue(pods, 1.0, iter(work)), []
    for when, rate in told:
        queue.set_capacity(when, CapacityChange(capacity_factor=rate))
    for number, arrived in enumerate(arrivals):
        queue.arrive(arrived, number)
        if jitter.random() < 0.5:
            done += queue.advance(arrived)
    done += queue.advance(1e6)
    found = {one.item: one.ideal_end_s for one in done}
    assert [found[number] for number in range(len(arrivals))] == pytest.approx(expected, abs=1e-9)
    assert [one.ideal_end_s for one in done] == sorted(one.ideal_end_s for one in done)
    state = queue.state(1e6)
    assert state.busy_s == pytest.approx(sum(one.service_s for one in done))
    assert state.backlog_s == 0


def test_the_long_run_rate_is_exact_under_a_jittery_clock():
    """200,000 completions: no service is lost between them, and the rate is the one that was set."""
    pods, rate, wanted = 3, 40.0, 200_000
    queue, late = ServiceQueue(pods, rate, demands(3), 1e6), random.Random(5)
    given_s, now, offered = 0.0, 1e6, 0
    while queue.completed < wanted:
        now += late.expovariate(20.0) + (0.5 if late.random() < 0.01 else 0.0)
        # Kept full, in lumps, by a clock that is sometimes half a second late.
        while offered < queue.completed + 200:
            queue.arrive(now if offered >= 200 else 1e6, offered)
            offered += 1
        given_s += sum(done.service_s for done in queue.advance(now))
    state = queue.state(now)
    assert state.queue_depth > 0, "the queue ran empty, which this test must not let happen"
    assert state.busy_s / (pods * (now - 1e6)) == pytest.approx(1, rel=1e-9)
    assert state.saturated_s == pytest.approx(now - 1e6, rel=1e-9)
    assert given_s <= state.busy_s
    assert state.completed / state.busy_s == pytest.approx(rate, rel=0.01)
    assert state.saturated_completed == state.completed


def test_saturated_completions_give_the_rate_also_below_saturation():
    """At 80% load, completions per saturated second are the capacity (within 2% of 60,000 arrivals)."""
    pods, rate = 4, 40.0
    queue = ServiceQueue(pods, rate, demands(11))
    times = np.cumsum(stream(11, "arrivals").exponential(1 / (0.8 * pods * rate), 60_000))
    for now in times.tolist():
        queue.arrive(now, None)
    state = queue.state(float(times[-1]))
    assert state.saturated_completed / state.saturated_s == pytest.approx(pods * rate, rel=0.02)
    assert state.busy_s / (pods * float(times[-1])) == pytest.approx(0.8, rel=0.02)
