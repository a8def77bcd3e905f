"""Pods ordered, starting, given up: on the queue's own clock, with one queue and with a queue each."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.roster import Roster
from target_service.pod_queues import PodQueues
from target_service.queue import ServiceQueue
from target_service.schedule import Schedule
from target_service.settings import CapacityChange

KINDS = ["shared", "round-robin", "random", "shortest-queue"]


def fleet(routing="shared", pods=2, dead_time_s=10.0, demand=None, rate=1.0):
    schedule = Schedule(pods, 0.0, dead_time_s)
    demand = itertools.repeat(1.0) if demand is None else iter(map(float, demand))
    if routing == "shared":
        return ServiceQueue(pods, rate, demand, schedule=schedule), schedule
    choices = itertools.cycle([0.1, 0.9, 0.4, 0.6, 0.2])
    return PodQueues(routing, pods, rate, demand, choices, schedule=schedule), schedule


def counts(queue, now):
    state = queue.state(now)
    return state.replicas, state.pods, state.starting


def ends(queue, until):
    return {departure.item: departure.ideal_end_s for departure in queue.advance(until)}


every_kind = pytest.mark.parametrize("routing", KINDS)


@every_kind
def test_pods_ordered_serve_exactly_after_the_dead_time(routing):
    """Two more ordered at 3 serve from 13 and not before, whenever anyone looks; then nothing is to come."""
    queue, schedule = fleet(routing)
    queue.scale(3.0, 4)
    assert counts(queue, 3.0) == (4, 2, 2)
    assert (schedule.starting(), queue.next_event_s) == ([(13.0, 2)], 13.0)
    assert counts(queue, math.nextafter(13.0, 0.0)) == (4, 2, 2)
    assert counts(queue, 13.0) == (4, 4, 0)
    assert (schedule.starting(), queue.next_event_s) == ([], math.inf)
    assert queue.state(20.0).pod_s == 13 * 2 + 7 * 4


@every_kind
def test_without_a_dead_time_they_serve_at_once(routing):
    """Ordered and ready in the same instant, as are those given up gone."""
    queue, _ = fleet(routing, dead_time_s=0.0)
    queue.scale(3.0, 5)
    assert counts(queue, 3.0) == (5, 5, 0)
    queue.scale(4.0, 1)
    assert counts(queue, 4.0) == (1, 1, 0)
    assert queue.state(6.0).pod_s == 3 * 2 + 5 + 2


@every_kind
def test_the_same_number_again_is_no_order(routing):
    """Neither while pods start nor at rest: they come when they would have come."""
    queue, schedule = fleet(routing)
    queue.scale(0.0, 2)
    assert queue.next_event_s == math.inf
    queue.scale(1.0, 5)
    queue.scale(6.0, 5)
    assert schedule.starting() == [(11.0, 3)]


@every_kind
def test_a_change_of_mind_takes_the_newest_first(routing):
    """Of three groups the last ordered go first; who starts already goes on; new ones wait their own time."""
    queue, schedule = fleet(routing)
    queue.scale(0.0, 4)
    queue.scale(2.0, 7)
    queue.scale(5.0, 5)
    assert schedule.starting() == [(10.0, 2), (12.0, 1)]
    queue.scale(6.0, 6)
    assert schedule.starting() == [(10.0, 2), (12.0, 1), (16.0, 1)]
    found = {at: counts(queue, at)[1] for at in (9.0, 10.0, 12.0, 15.9, 16.0)}
    assert found == {9.0: 2, 10.0: 4, 12.0: 5, 15.9: 5, 16.0: 6}


@every_kind
def test_giving_up_goes_through_those_that_start_to_those_that_serve(routing):
    """From three serving and three starting to two: at once, and nobody starts any more."""
    queue, schedule = fleet(routing, pods=3)
    queue.scale(0.0, 6)
    queue.scale(4.0, 2)
    assert counts(queue, 4.0) == (2, 2, 0)
    assert (schedule.starting(), queue.next_event_s) == ([], math.inf)
    assert queue.state(10.0).pod_s == 4 * 3 + 6 * 2


@every_kind
def test_work_waits_for_the_pods_that_start(routing):
    """Ten pieces of work of 100 s before one pod; a pod that starts at 10 works from exactly then."""
    queue, _ = fleet(routing, pods=1, demand=itertools.repeat(100.0))
    queue.scale(0.0, 2)
    for number in range(3):
        queue.arrive(1.0, number)
    # Behind one queue it takes what waits; with a queue of its own it has what is sent to it.
    state = queue.state(10.0)
    assert (state.in_service, state.queue_depth) == ((2, 1) if routing == "shared" else (1, 2))
    for number in range(3, 9):
        queue.arrive(10.0, number)
    assert queue.state(10.0).in_service == 2
    done = ends(queue, 1e4)
    assert {100.0 + 1, 100.0 + 10} <= set(done.values())
    assert len(done) == 9


def test_one_queue_drains_what_is_in_service_beyond_its_size():
    """Three in service, shrunk to one: two drain, and end when they would have ended."""
    queue, _ = fleet(pods=3, demand=[5, 6, 7, 1])
    for number in range(4):
        queue.arrive(0.0, number)
    queue.scale(1.0, 1)
    state = queue.state(1.0)
    assert (state.pods, state.in_service, state.draining, state.queue_depth) == (1, 3, 2, 1)
    assert ends(queue, 100.0) == {0: 5, 1: 6, 2: 7, 3: 8}
    assert queue.state(100.0).draining == 0


def test_a_pod_with_a_queue_of_its_own_drains_all_of_it():
    """Given up at 1 it serves its three to the end, gets nothing new, and its sums stay when it is gone."""
    queue, _ = fleet("round-robin", pods=2, demand=[4] * 8, dead_time_s=0.0)
    for number in range(6):
        queue.arrive(0.0, number)
    queue.scale(1.0, 1)
    queue.arrive(2.0, 6)
    state = queue.state(2.0)
    assert (state.pods, state.draining, state.in_service, state.queue_depth) == (1, 1, 2, 5)
    queue.scale(3.0, 2)  # a new one, which is empty
    queue.arrive(3.0, 7)
    assert queue.state(3.0).in_service == 3
    assert ends(queue, 100.0) == {0: 4, 1: 4, 2: 8, 3: 8, 4: 12, 5: 12, 6: 16, 7: 7}
    state = queue.state(100.0)
    assert (state.arrived, state.completed, state.draining, state.busy_s) == (8, 8, 0, 32)


@every_kind
def test_control_sets_the_serving_pods_and_gives_up_those_that_start(routing):
    """At its time, not before; a scale after it works from what it left."""
    queue, schedule = fleet(routing)
    queue.scale(0.0, 5)
    queue.set_capacity(8.0, CapacityChange(pods=3))
    assert (schedule.pending, counts(queue, 7.0)) == (1, (5, 2, 3))
    assert counts(queue, 8.0) == (3, 3, 0)
    assert queue.next_event_s == math.inf
    assert counts(queue, 12.0) == (3, 3, 0)
    queue.scale(12.0, 4)
    assert counts(queue, 12.0) == (4, 3, 1)
    assert counts(queue, 22.0) == (4, 4, 0)
    assert queue.state(22.0).pod_s == 8 * 2 + 14 * 3


@every_kind
def test_orders_taken_back_leave_the_pods_that_start(routing):
    """``DELETE /control`` is for what ``PUT /control`` ordered."""
    queue, schedule = fleet(routing)
    queue.scale(0.0, 3)
    queue.set_capacity(5.0, CapacityChange(pods=9, capacity_factor=0.5))
    queue.cancel_changes()
    assert (schedule.pending, queue.next_event_s) == (0, 10.0)
    state = queue.state(11.0)
    assert (state.pods, state.capacity_factor) == (3, 1.0)


@every_kind
def test_pods_change_during_an_outage(routing):
    """Pods become ready and are given up while the rate is 0; what they then have, they serve afterwards."""
    queue, _ = fleet(routing, pods=1, dead_time_s=2.0)
    queue.set_capacity(0.5, CapacityChange(capacity_factor=0.0))
    queue.scale(1.0, 2)
    for number in range(4):
        queue.arrive(3.0 + number, number)
    state = queue.state(10.0)
    assert (state.pods, state.in_service, state.busy_s) == (2, 2, 0)
    queue.set_capacity(10.0, CapacityChange(capacity_factor=2.0))
    done = ends(queue, 100.0)
    assert len(done) == 4
    assert min(done.values()) == 10.5
    assert queue.state(100.0).busy_s == pytest.approx(2.0)
    assert queue.state(100.0).pod_s == 3 + 97 * 2


@every_kind
def test_a_change_that_is_told_late_corrects_the_pod_seconds(routing):
    """Told at 5 that there were four from 3 on: as if it had been known, and never before the last change."""
    queue, _ = fleet(routing)
    assert queue.state(5.0).pod_s == 10
    queue.set_capacity(3.0, CapacityChange(pods=4))
    assert queue.state(5.0).pod_s == 3 * 2 + 2 * 4
    queue.set_capacity(2.0, CapacityChange(pods=1))  # counts as 3
    assert queue.state(5.0).pod_s == 3 * 2 + 2 * 1


@every_kind
def test_an_order_by_a_clock_that_lags_counts_from_the_last_change(routing):
    """Pods that were seen ready at 13 are not taken back by an order of 12.9."""
    queue, schedule = fleet(routing)
    queue.scale(3.0, 4)
    assert counts(queue, 13.0) == (4, 4, 0)
    queue.scale(12.9, 5)
    assert counts(queue, 13.0) == (5, 4, 1)
    assert schedule.starting() == [(23.0, 1)]


steps = st.tuples(
    st.integers(0, 12),
    st.sampled_from(["scale", "scale", "control", "later", "cancel", "arrive", "outage"]),
    st.integers(1, 6),
)


@given(
    routing=st.sampled_from(KINDS),
    pods=st.integers(1, 4),
    dead=st.sampled_from([0, 1, 7, 20]),
    sequence=st.lists(steps, min_size=1, max_size=25),
)
def test_whoever_serves_is_who_the_roster_says(routing, pods, dead, sequence):
    """At every tick of a sequence of orders: serving, starting, all, and pod-seconds, by a plain roster."""
    tick = 0.25
    queue, schedule = fleet(routing, pods, dead * tick)
    roster, controls, pod_s, arrived = Roster.of(pods), [], 0.0, 0
    now = 0

    def check():
        while controls and controls[0][0] <= now:
            roster.serve(controls.pop(0)[1], now * tick)
        state = queue.state(now * tick)
        assert state.pods == schedule.serving == roster.ready(now * tick)
        assert (state.replicas, state.starting) == (roster.total, roster.total - state.pods)
        assert schedule.starting() == roster.starting(now * tick)
        assert state.pod_s == pod_s
        assert state.arrived == arrived == state.completed + state.queue_depth + state.in_service
        assert state.in_service - state.draining <= state.pods

    for wait, kind, number in [*sequence, (30, "arrive", 1)]:
        for _ in range(wait):
            pod_s += roster.ready(now * tick) * tick
            now += 1
            check()
        at_s = now * tick
        if kind == "scale":
            queue.scale(at_s, number)
            roster.set(number, at_s + dead * tick)
        elif kind in ("control", "later"):
            at = now + (number * 2 if kind == "later" else 0)
            queue.set_capacity(at * tick, CapacityChange(pods=number))
            controls.append((at, number))
            controls.sort(key=lambda control: control[0])
        elif kind == "cancel":
            queue.state(at_s)
            queue.cancel_changes()
            controls.clear()
        elif kind == "outage":
            queue.set_capacity(at_s, CapacityChange(capacity_factor=number % 2))
        else:
            for _ in range(number):
                queue.arrive(at_s, None)
            arrived += number
        check()
