"""Finding the capacity with a closed loop, against simulated services of known capacity."""

from __future__ import annotations

from itertools import pairwise

import pytest

from analysis.trigger.capacity import CapacitySearch, Throughput, capacity_found, throughput
from analysis.trigger.course import Halted, Journal
from analysis.trigger.observations import Observations
from analysis.trigger.probe_rate import probe_rate
from analysis.trigger.result import Interval
from domain.trigger.messages import Load, Saturate, Tick
from domain.trigger.plan import Probing, TriggerPlan
from tests.analysis.trigger.simulated_run import plan_for, run
from tests.analysis.trigger.simulated_service import Fifo, SimulatedTest


def found(plan: TriggerPlan, service: Fifo) -> tuple[Interval, SimulatedTest]:
    """What the course finds, and the generator it was found with."""
    test, journal = SimulatedTest(service), Journal()
    course = capacity_found(journal, plan)
    while test.now_s < 200.0:
        for line in test.lines():
            journal.seen.take(line)
        journal.now_s = journal.seen.now_s
        try:
            test.give(list(next(course)))
        except StopIteration as done:
            return done.value.capacity, test
    raise AssertionError("it does not come to an end")


@pytest.mark.parametrize(
    ("service", "capacity"),
    [
        (Fifo(rate_per_worker=200.0), 200.0),
        (Fifo(rate_per_worker=200.0, exponential=True), 200.0),
        (Fifo(rate_per_worker=200.0, overhead_s=0.02), 200.0),
        (Fifo(rate_per_worker=25.0, workers=8), 200.0),
        (Fifo(rate_per_worker=5.0, workers=40, exponential=True), 200.0),
        (Fifo(rate_per_worker=5.0, workers=40), 200.0),
        (Fifo(rate_per_worker=10.0), 10.0),
        (Fifo(rate_per_worker=1000.0), 1000.0),
    ],
    ids=["one", "exponential", "far away", "eight", "forty", "forty in step", "slow", "fast"],
)
def test_the_capacity_is_found_however_many_workers_make_it(service: Fifo, capacity: float) -> None:
    """Within 5%, and without ever pushing deeper than a timeout."""
    interval, test = found(plan_for(), service)
    assert interval.value == pytest.approx(capacity, rel=0.05)
    assert interval.low < interval.value < interval.high
    widest = max(c.in_flight for _, c in test.commands if isinstance(c, Saturate))
    assert widest / capacity - 1.0 / service.rate_per_worker < test.timeout_s


def test_its_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    """Twenty exponential services: at most four outside 95%, which chance exceeds once in 400 times."""
    intervals = [found(plan_for(), Fifo(exponential=True, seed=seed))[0] for seed in range(20)]
    assert sum(not one.low <= 200.0 <= one.high for one in intervals) <= 4


def test_a_service_that_rejects_under_a_wider_loop_is_measured_with_a_narrower_one() -> None:
    """Failing answers end the ramp, not the test."""
    interval, test = found(plan_for(), Fifo(rate_per_worker=50.0, workers=4, queue_cap=2))
    assert interval.value == pytest.approx(200.0, rel=0.05)
    assert test.commands[-1][1] == Saturate(4, "capacity")


def test_a_service_that_rejects_every_second_request_stops_the_test() -> None:
    """There is no load under which it is well."""
    with pytest.raises(Halted) as halted:
        found(plan_for(), Fifo(fails_share=0.5))
    assert halted.value.safety_stop is not None


def test_a_throughput_that_rises_to_the_widest_loop_is_a_fault() -> None:
    """The capacity was not found, so nothing is said about it."""
    with pytest.raises(Halted) as halted:
        found(plan_for(), Fifo(rate_per_worker=4.0, workers=600))
    assert "--capacity" in str(halted.value)


def test_one_flat_step_is_not_enough_if_it_is_noisy() -> None:
    """One clear step is, and so are two that gain nothing."""
    search = CapacitySearch(1.0)
    search.note(Throughput(1, 100.0, 5.0, 400))
    search.note(Throughput(2, 103.0, 5.0, 400))
    assert search.next_in_flight == 4
    search.note(Throughput(4, 102.0, 5.0, 400))
    assert search.next_in_flight is None
    clear = CapacitySearch(1.0)
    clear.note(Throughput(1, 100.0, 0.5, 40_000))
    clear.note(Throughput(2, 101.0, 0.5, 40_000))
    assert clear.knee


def test_no_step_is_taken_beyond_one_that_waits_too_long() -> None:
    """Even if it still gains."""
    search = CapacitySearch(0.1)
    search.note(Throughput(1, 10.0, 0.1, 900))
    search.note(Throughput(2, 15.0, 0.1, 900))
    assert search.next_in_flight == 4
    search.note(Throughput(4, 18.0, 0.1, 900))
    assert search.deep
    assert search.next_in_flight is None
    assert search.best.in_flight == 2


def test_a_slow_service_is_not_pushed_deeper_because_its_latency_is_not_known_well() -> None:
    """5/s and a timeout of 2 s: eight in flight wait 1.4 s, give or take; sixteen would wait 3 s."""
    search = CapacitySearch(2.0 / 3.0)
    for in_flight, rate, answers in ((1, 4.1, 8), (2, 3.72, 8), (4, 10.0, 4), (8, 5.0, 16)):
        assert search.next_in_flight == in_flight
        search.note(Throughput(in_flight, rate, 0.25 * rate, answers))
    assert search.deep
    assert search.next_in_flight is None


def test_many_slow_workers_do_not_look_like_a_queue() -> None:
    """Each doubling gains: nobody waits, though an answer takes most of the timeout."""
    search = CapacitySearch(1.0 / 3.0)
    for in_flight in (1, 2, 4, 8, 16):
        assert search.next_in_flight == in_flight
        search.note(Throughput(in_flight, in_flight / 0.8, 0.02 * in_flight, 100))
    assert not search.deep


def test_the_baseline_does_not_begin_with_what_the_search_has_in_flight() -> None:
    """What is open with so many slow workers takes most of a timeout to go."""
    search = run(plan_for(0.2), Fifo(rate_per_worker=2.5, workers=40))
    saturated = [(t_s, c.in_flight) for t_s, c in search.commands(Saturate) if isinstance(c, Saturate)]
    ended_s, held = next(
        (after[0], before[1]) for before, after in pairwise(saturated) if before[1] > 1 and after[1] == 0
    )
    first_load_s = next(t_s for t_s, _ in search.commands(Load))
    assert first_load_s - ended_s >= 0.9 * held / 100.0


def test_workers_in_step_are_counted_by_whole_rounds() -> None:
    """Bursts of 64 every .4 s: 160/s, whichever ticks the window happens to hold."""
    seen = Observations()
    for i in range(60):
        t_s = 0.05 * i
        seen.take(_tick(t_s, 64 * int(t_s / 0.4 + 1e-9)))
    for end_s in (1.7, 2.0, 2.3, 2.9):
        rate = throughput(seen, 64, 0.0, end_s)
        assert rate is not None
        assert rate.rate_per_s == pytest.approx(160.0, rel=0.05)
    assert throughput(seen, 64, 0.0, 0.5) is None


def test_the_rate_of_probes_says_where_it_comes_from() -> None:
    """Four a timeout, at most 3% of capacity, at least one a timeout; or as asked."""
    assert probe_rate(plan_for(), 1000.0).rate_per_s == pytest.approx(8.0)
    few = probe_rate(plan_for(), 100.0)
    assert few.rate_per_s == pytest.approx(3.0)
    assert "3% of capacity" in few.said
    assert probe_rate(plan_for(), 10.0).rate_per_s == pytest.approx(2.0)
    asked = probe_rate(plan_for(probing=Probing(rate_per_s=1.5)), 1000.0)
    assert (asked.rate_per_s, "as asked" in asked.said) == (1.5, True)


def _tick(t_s: float, saturated: int) -> Tick:
    zeros = dict.fromkeys(
        ("planned", "first", "retries", "answered", "failed", "rejected", "timeouts", "errors", "refused"), 0
    )
    return Tick(
        t_s=t_s,
        **zeros,
        open_attempts=0,
        saturated=saturated,
        saturated_failed=0,
        probes_sent=0,
        probes_open=0,
        lag_p99_s=0.0,
        lag_max_s=0.0,
    )
