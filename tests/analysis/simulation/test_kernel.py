"""The simulation against an independent exact simulator, the target's queue, and what must always hold."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from analysis.simulation import kernel, simulate
from analysis.simulation.observed import observe
from analysis.simulation.run import SimulatedRun
from domain.backoff import Backoff, ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff, delay_s
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.queue_cap import QueueCap
from domain.service_time import KINDS, ServiceTime
from domain.streams import stream
from target_service.draws import demands
from target_service.queue import ServiceQueue
from tests.analysis import fifo

BACKOFFS: tuple[Backoff, ...] = (
    NoBackoff(),
    FixedBackoff(2.5),
    ExponentialBackoff(5.0, 40.0),
    FullJitterBackoff(5.0, 40.0),
)


def mm1(
    load: float,
    theta: float = 5.0,
    m: float = 1,
    backoff: Backoff | None = None,
    horizon_s: float = 1000.0,
    pods: int = 1,
    service_time: ServiceTime | None = None,
    seed: int = 1,
) -> Experiment:
    """``pods`` servers of rate 1 at this load each, one phase."""
    return Experiment(
        "mm1",
        "",
        Client(theta, m, backoff or NoBackoff()),
        Demand(load * pods, (Phase("steady", horizon_s),)),
        Service(pods, 1.0, service_time or ServiceTime()),
        RunSettings(1.0, seed),
    )


def one_fast_pod(experiment: Experiment) -> Experiment:
    service = experiment.service
    assert service is not None
    return replace(experiment, service=replace(service, pods=1, rate_per_pod=service.capacity_per_s))


@pytest.mark.parametrize(
    "experiment",
    [
        fifo.kit(0.3, watch_s=3000),
        fifo.kit(0.3, watch_s=3000, jitter=True, seed=7),
        fifo.kit(0.4, watch_s=600, max_attempts=6, jitter=True),
        fifo.kit(0.25, watch_s=600, max_attempts=math.inf),
        fifo.outage(0.2),
        fifo.demo(),
    ],
    ids=["spike", "jitter", "storm", "endless", "outage", "demo"],
)
def test_same_attempts_as_the_event_by_event_simulator(experiment: Experiment) -> None:
    """Attempt by attempt: when it was sent, when it ended, and how."""
    theirs = fifo.simulate(experiment).attempts
    ours = observe(one_fast_pod(experiment)).attempts
    assert ours.sent_s.size == len(theirs)
    order = np.lexsort((theirs["attempt"], theirs["job_id"]))
    mine = np.lexsort((np.arange(ours.job.size), ours.job))
    np.testing.assert_array_equal(ours.job[mine], theirs["job_id"].to_numpy()[order])
    np.testing.assert_allclose(ours.sent_s[mine], theirs["sent_s"].to_numpy()[order], rtol=1e-9)
    np.testing.assert_allclose(ours.done_s[mine], theirs["done_s"].to_numpy()[order], rtol=1e-9)
    np.testing.assert_array_equal(ours.ok[mine], (theirs["outcome"] == "ok").to_numpy()[order])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("pods", [1, 3])
def test_same_completions_as_the_queue_of_the_target(kind: str, pods: int) -> None:
    """Same seed, same works, same ends: the target serves what is simulated."""
    service_time = ServiceTime(kind)  # type: ignore[arg-type]
    experiment = mm1(0.8, theta=1e6, horizon_s=500, pods=pods, service_time=service_time, seed=3)
    arrivals = experiment.arrival_plan.draw(stream(3, "arrivals"))
    queue: ServiceQueue[int] = ServiceQueue(pods, 1.0, demands(3, service_time))
    for job, arrival in enumerate(arrivals):
        queue.arrive(float(arrival), job)
    ends = {done.item: done.ideal_end_s for done in queue.advance(1e9)}
    ours = observe(experiment).attempts
    answered = ours.ok
    assert answered.sum() > 0.9 * arrivals.size
    np.testing.assert_allclose(ours.done_s[answered], [ends[job] for job in ours.job[answered]], rtol=1e-9)


@pytest.mark.parametrize("pods", [1, 4])
@pytest.mark.parametrize("load", [0.5, 0.95])
def test_saturation_is_counted_as_the_target_counts_it(pods: int, load: float) -> None:
    """How long every pod was busy and what was completed meanwhile, at every scrape, to the last digits."""
    experiment = mm1(load, theta=1e6, horizon_s=200, pods=pods, seed=3)
    arrivals = experiment.arrival_plan.draw(stream(3, "arrivals"))
    queue: ServiceQueue[int] = ServiceQueue(pods, 1.0, demands(3))
    edges = np.linspace(0.0, 200.0, 81)
    run = SimulatedRun(experiment, edges_s=edges, recording=True)
    run.advance(math.inf)
    saturated_s, saturated_completed = run.saturated()
    states = []
    coming = iter([*arrivals.tolist(), math.inf])
    arrival = next(coming)
    for edge in edges:
        while arrival <= edge:
            queue.arrive(arrival, 0)
            arrival = next(coming)
        states.append(queue.state(float(edge)))
    np.testing.assert_allclose(saturated_s, [state.saturated_s for state in states], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(saturated_completed, [state.saturated_completed for state in states])


def test_an_edge_one_rounding_beyond_the_end_is_the_end() -> None:
    """Whoever divides the duration himself may come out an ulp later."""
    experiment = fifo.kit(0.3, watch_s=100, speedup=3.0)
    end = experiment.live().duration_s
    beyond = np.nextafter(end, math.inf)
    ours = simulate(experiment, edges_s=[0.0, beyond / 2, beyond])
    exact = simulate(experiment, edges_s=[0.0, end / 2, end])
    np.testing.assert_array_equal(ours.depth, exact.depth)
    np.testing.assert_allclose(ours.busy_s, exact.busy_s, rtol=1e-9)
    assert ours.depth[0, -1] > 0


@pytest.mark.parametrize("retry_budget", [None, 1.0])
def test_an_answer_on_an_edge_belongs_to_the_window_it_opens(retry_budget: float | None) -> None:
    """Arrivals at .5, 1.5, …, works of 1 and T = 2: an answer at 2.5 counts from 2.5 on, whichever way the
    outcome is found."""
    experiment = mm1(1.0, 2.0, 2, None, 4.0, service_time=ServiceTime("deterministic"))
    experiment = replace(experiment, demand=replace(experiment.demand, arrivals="uniform"))
    counts = simulate(experiment, edges_s=[0.0, 2.5, 4.0], retry_budget=retry_budget)
    assert counts.answered.tolist() == [[1, 2]]


def test_retries_beyond_the_end_are_not_kept() -> None:
    """Backoffs of days in a run of a minute: nothing waits for what never comes."""
    run = SimulatedRun(mm1(2.0, 1.0, math.inf, FullJitterBackoff(1e5, 1e7), 60.0))
    run.advance(math.inf)
    assert run._place.numbers[kernel.RETRIES] <= 2
    assert run._place.numbers[kernel.BEYOND_END] > 20


loads = st.floats(0.05, 1.5)
caps = st.one_of(
    st.none(),
    st.builds(QueueCap, st.integers(0, 12), st.sampled_from(["retry", "after-timeout", "give-up"])),
)


@settings(max_examples=60, deadline=None)
@given(
    load=loads,
    theta=st.floats(0.2, 20.0),
    m=st.sampled_from([1, 2, 3, 6, math.inf]),
    backoff=st.sampled_from(BACKOFFS),
    pods=st.sampled_from([1, 2, 5]),
    cap=caps,
    budget=st.one_of(st.none(), st.floats(0.0, 1.0)),
    preload=st.integers(0, 300),
    seed=st.integers(0, 1000),
)
def test_attempts_are_conserved(load, theta, m, backoff, pods, cap, budget, preload, seed) -> None:
    """Nothing is lost: every attempt is accepted or rejected, every accepted one done or still there, and
    every job has one first attempt, at most m in all, and at most one answer."""
    at_once = cap is not None and cap.on_rejection == "retry" and isinstance(backoff, NoBackoff)
    assume(not (at_once and math.isinf(m)))
    experiment = mm1(load, theta, m, backoff, 120.0, pods, seed=seed)
    run = SimulatedRun(
        experiment, queue_cap=cap, retry_budget=budget, preload=preload, recording=True, edges_s=[0, 30, 120]
    )
    run.advance(math.inf)
    trace = run.recorded()
    counts = run.finish()
    jobs = int(counts.jobs.sum())
    assert trace.job.size == counts.attempts.sum()
    assert jobs == preload + experiment.arrival_plan.draw(stream(seed, "arrivals")).size
    per_job = np.bincount(trace.job, minlength=jobs)
    assert per_job.min(initial=1) >= 1
    assert per_job.max(initial=0) <= m
    answers = np.bincount(trace.job[trace.outcome == kernel.OK], minlength=jobs)
    assert answers.max(initial=0) <= 1
    assert counts.answered.sum() <= answers.sum()
    rejected, accepted = counts.rejected.sum(), (counts.attempts - counts.rejected).sum()
    if cap is not None:
        assert counts.depth.max() <= pods + cap.places
        if cap.on_rejection != "after-timeout":
            assert (trace.outcome == kernel.REJECTED).sum() == rejected
    else:
        assert rejected == 0
    assert 0 <= counts.depth[0, -1] <= accepted
    if budget is not None:
        retries = counts.attempts.sum() - jobs
        assert retries <= budget * jobs + 10 + 1e-6
    assert counts.busy_s.sum() <= pods * 120.0 + 1e-6


@settings(max_examples=40, deadline=None)
@given(load=loads, theta=st.floats(0.2, 10.0), backoff=st.sampled_from(BACKOFFS), seed=st.integers(0, 99))
def test_first_in_first_out(load, theta, backoff, seed) -> None:
    """One pod answers in the order of sending."""
    attempts = observe(mm1(load, theta, 4, backoff, 200.0, seed=seed)).attempts
    done = attempts.done_s[attempts.ok]
    assert np.all(np.diff(done) >= 0)
    assert np.all(done <= attempts.sent_s[attempts.ok] + theta + 1e-9)


@settings(max_examples=40, deadline=None)
@given(load=loads, theta=st.floats(0.5, 10.0), seed=st.integers(0, 99))
def test_more_attempts_make_more_work(load, theta, seed) -> None:
    """Monotone in m, run by run: with equal works and no backoff every wait only grows."""
    constant = ServiceTime("deterministic")
    edges = np.linspace(0.0, 150.0, 31)
    backlogs = [
        simulate(mm1(load, theta, m, None, 150.0, service_time=constant, seed=seed), edges_s=edges).backlog_s
        for m in (1, 2, 3, 6, math.inf)
    ]
    for fewer, more in itertools.pairwise(backlogs):
        assert np.all(more >= fewer - 1e-9)


def test_endless_clients_never_give_up() -> None:
    """m = ∞: every attempt that came or will come back late has been followed by another, or will be."""
    run = SimulatedRun(mm1(1.2, 2.0, math.inf, FullJitterBackoff(2.0, 16.0), 300.0), recording=True)
    run.advance(math.inf)
    rows = slice(0, int(run._place.numbers[kernel.TRACED]))
    assert run._trace is not None
    trace = kernel.Trace._make(column[rows] for column in run._trace)
    late = trace.outcome == kernel.LATE
    followed = set(zip(trace.job.tolist(), trace.attempt.tolist(), strict=True))
    missing = [
        key
        for key in zip(trace.job[late].tolist(), (trace.attempt[late] + 1).tolist(), strict=True)
        if key not in followed
    ]
    numbers = run._place.numbers
    assert len(missing) == numbers[kernel.RETRIES] + numbers[kernel.BEYOND_END] > 0


def test_synchronised_clients_return_together_and_in_order() -> None:
    """Exponential backoff without jitter: thousands of retries at one moment, in the order of failing."""
    experiment = mm1(0.001, 1.0, 3, ExponentialBackoff(1.0, 8.0), 8.0)
    run = SimulatedRun(experiment, preload=5000, recording=True, edges_s=np.arange(9.0))
    run.advance(math.inf)
    trace = run.recorded()
    counts = run.finish()
    assert counts.attempts[0, 2] == pytest.approx(5000, abs=20)
    assert counts.attempts[0, 5] == pytest.approx(5000, abs=20)
    second = trace.attempt == 2
    jobs = trace.job[second][np.argsort(trace.sent_s[second], kind="stable")]
    assert np.all(np.diff(jobs) > 0)


def test_backoff_is_compiled_from_the_rule_the_client_uses() -> None:
    """Every rule and every number of failures gives the same float, compiled or not."""
    for backoff in BACKOFFS:
        for failed in (1, 2, 3, 10, 600, 5000):
            for u in (0.0, 0.3, 0.999):
                expected = backoff.delay_s(failed, u)
                assert delay_s(*backoff.numbers, 0.0, failed, u) == expected
                assert kernel._delay_s(*backoff.numbers, 0.0, failed, u) == expected


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"edges_s": [0.0]}, "edges_s"),
        ({"edges_s": [5.0, 5.0]}, "edges_s"),
        ({"edges_s": [0.0, 2000.0]}, "edges_s"),
        ({"edges_s": [-1.0, 10.0]}, "edges_s"),
        ({"retry_budget": -0.1}, "retry_budget: must be at least 0"),
        ({"retry_budget": math.nan}, "retry_budget: must be at least 0"),
        ({"preload": -1}, "preload: must be at least 0"),
    ],
)
def test_bad_input_is_named(keywords, message) -> None:
    with pytest.raises(ValueError, match=message):
        simulate(mm1(0.5), **keywords)


def test_asking_a_full_queue_for_ever_at_one_moment_is_refused() -> None:
    with pytest.raises(ValueError, match="on_rejection: must not be 'retry'"):
        simulate(mm1(2.0, m=math.inf), queue_cap=QueueCap(2, "retry"))


def test_a_foreign_service_cannot_be_simulated() -> None:
    with pytest.raises(ValueError, match="service: must be known"):
        simulate(replace(mm1(0.5), service=None))
