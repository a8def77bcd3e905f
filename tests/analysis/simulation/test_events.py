"""The event-driven simulation against what runs live, against the fast kernel, and what must always hold."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.simulation import event_state as es
from analysis.simulation import simulate, simulate_seeds
from analysis.simulation.choice import needs_events
from analysis.simulation.counts import DefendedCounts
from analysis.simulation.event_run import EventRun
from analysis.simulation.kernel import Trace
from analysis.simulation.observed import observe
from analysis.simulation.run import SimulatedRun
from analysis.trace import OUTCOMES
from domain.admission import Admission
from domain.attempts import Outcome
from domain.backoff import (
    Backoff,
    DecorrelatedJitterBackoff,
    EnvoyBackoff,
    EqualJitterBackoff,
    ExponentialBackoff,
    FinagleJitterBackoff,
    FixedBackoff,
    FullJitterBackoff,
    GrpcBackoff,
    NoBackoff,
)
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.breakers.none import NoBreaker
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.hedging import Hedging
from domain.limits.aimd import AimdLimit
from domain.limits.envoy_gradient import EnvoyGradientLimit
from domain.limits.gradient2 import Gradient2Limit
from domain.limits.vegas import VegasLimit
from domain.service_time import ServiceTime
from tests.analysis import fifo
from tests.analysis.defended_oracle import Oracle
from tests.analysis.simulation.test_kernel import mm1

CODES = {
    (Outcome.OK, 200): es.OK,
    (Outcome.TIMEOUT, 0): es.LATE,
    (Outcome.REJECTED, 503): es.REJECTED,
    (Outcome.REJECTED, 500): es.ERROR,
    (Outcome.REJECTED, 504): es.EXPIRED,
    (Outcome.ABORTED, 0): es.OPEN,
    (Outcome.REFUSED, 0): es.REFUSED,
    (Outcome.CANCELLED, 0): es.CANCELLED,
}
BUDGETS: dict[str, Any] = {
    "ratio": RatioBudget(0.2, 2.0),
    "window-ratio": WindowRatioBudget(),
    "aws": AwsTokenBucket(capacity=60.0),
    "grpc": GrpcThrottle(),
    "finagle": FinagleBudget(),
    "envoy": EnvoyBudget(),
}
BREAKERS: dict[str, Any] = {
    "throttle": AdaptiveThrottle(1.5, 10.0),
    "breaker": CircuitBreaker(0.5, 10, 0.0, 5, 4.0, 2),
    "timed breaker": CircuitBreaker(0.5, 10, 10.0, 5, 4.0, 2),
}
LIMITS: dict[str, Any] = {
    "aimd": AimdLimit(),
    "vegas": VegasLimit(),
    "gradient2": Gradient2Limit(),
    "envoy-gradient": EnvoyGradientLimit(),
}
DEFENCES: dict[str, dict[str, Any]] = {
    "cap": {"queue_cap": 3},
    "lifo": {"discipline": "lifo"},
    "adaptive lifo": {"discipline": "adaptive-lifo", "standing": 2},
    "codel": {"codel": CoDel(0.3, 2.0)},
    "drop expired": {"drop_expired": True},
    "drop nearly expired": {"drop_expired": True, "least_s": 0.7},
    "cancel": {"cancel_on_disconnect": True},
    "first before retry": {"queue_cap": 3, "first_before_retry": True},
    "degradation": {"degradation": Degradation(8.0, 0.6)},
    "errors": {"error_rate": 0.2},
    "retry after": {"queue_cap": 2, "retry_after_s": 2.5},
    **{name: {"limit": limit} for name, limit in LIMITS.items()},
}
ALWAYS = {"timeout_s": 5.0, "max_attempts": 3, "backoff": FullJitterBackoff(0.5, 4.0)}


def defended(
    admission: dict[str, Any] | None = None,
    *,
    load: float = 0.6,
    pods: int = 2,
    seed: int = 1,
    horizon_s: float = 120.0,
    **client: Any,
) -> Experiment:
    """A burst, half an outage and calm; times of a mean service."""
    return Experiment(
        "defended",
        "",
        Client(**{**ALWAYS, **client}),
        Demand(
            load * pods,
            (
                Phase("baseline", horizon_s / 4),
                Phase("burst", horizon_s / 4, 2.0),
                Phase("cut", horizon_s / 6, 1.0, 0.4),
                Phase("watch", horizon_s / 3, 0.7),
            ),
        ),
        Service(pods, 1.0, ServiceTime(), Admission(**(admission or {}))),
        RunSettings(1.0, seed),
    )


def finished(experiment: Experiment, preload: int = 0) -> tuple[Trace, DefendedCounts]:
    run = EventRun(experiment, recording=True, preload=preload)
    run.advance(math.inf)
    trace = run.recorded()
    order = np.lexsort((trace.attempt, trace.job))
    return Trace._make(column[order] for column in trace), run.finish()


def same_as_live(experiment: Experiment, preload: int = 0) -> tuple[Trace, DefendedCounts]:
    """Check that the rules as they run live make the same attempts; returns them."""
    oracle = Oracle(experiment, preload=preload).run()
    trace, counts = finished(experiment, preload)
    np.testing.assert_array_equal(trace.job, [row.job for row in oracle.rows])
    np.testing.assert_array_equal(trace.attempt, [row.attempt for row in oracle.rows])
    np.testing.assert_array_equal(trace.outcome, [CODES[row.outcome, row.status] for row in oracle.rows])
    for name in ("sent_s", "done_s"):
        theirs = [getattr(row, name) for row in oracle.rows]
        np.testing.assert_allclose(getattr(trace, name), theirs, rtol=1e-9, atol=1e-9)
    assert counts.dropped.sum() == oracle.dropped
    return trace, counts


@pytest.mark.parametrize("on_rejection", ["retry", "after-timeout", "give-up"])
@pytest.mark.parametrize("name", DEFENCES)
def test_same_attempts_as_a_live_service_with(name: str, on_rejection: str) -> None:
    """Each defence alone, attempt by attempt."""
    experiment = defended(DEFENCES[name], on_rejection=on_rejection, honours_retry_after=True)
    plain, _ = finished(defended(on_rejection=on_rejection))
    trace, _ = same_as_live(experiment)
    assert trace.outcome.size != plain.outcome.size or not np.array_equal(trace.outcome, plain.outcome)


@pytest.mark.parametrize("on_refusal", ["give-up", "retry"])
@pytest.mark.parametrize("clients", [1, 3])
@pytest.mark.parametrize("name", [*BUDGETS, *BREAKERS])
def test_same_attempts_as_live_clients_with(name: str, clients: int, on_refusal: str) -> None:
    """Each budget and breaker alone, attempt by attempt; what it refuses is among them."""
    client: dict[str, Any] = {"clients": clients, "on_refusal": on_refusal}
    client |= {"budget": BUDGETS[name]} if name in BUDGETS else {"breaker": BREAKERS[name]}
    same_as_live(defended({"error_rate": 0.1}, load=1.2, horizon_s=120.0, **client))


@pytest.mark.parametrize("on_rejection", ["retry", "after-timeout", "give-up"])
@pytest.mark.parametrize("name", ["nothing", *BUDGETS, *BREAKERS, *DEFENCES])
def test_same_copies_as_live_clients_that_hedge_with(name: str, on_rejection: str) -> None:
    """Hedged jobs under each mitigation, attempt by attempt; some copies are cancelled."""
    client: dict[str, Any] = {"hedging": Hedging(3, 0.8), "on_rejection": on_rejection, "deadline_s": 5.0}
    if name in BUDGETS:
        client |= {"budget": BUDGETS[name], "on_refusal": "retry"}
    elif name in BREAKERS:
        client |= {"breaker": BREAKERS[name], "budget": BUDGETS["grpc"]}
    admission = DEFENCES.get(name, {"queue_cap": 6})
    trace, counts = same_as_live(defended(admission, load=0.5, honours_retry_after=True, **client))
    assert counts.cancelled.sum() > 0
    answers = np.bincount(trace.job[trace.outcome == es.OK])
    assert answers.max() == 1


@pytest.mark.parametrize(
    "backoff",
    [
        NoBackoff(),
        FixedBackoff(1.0),
        ExponentialBackoff(0.5, 4.0),
        EqualJitterBackoff(0.5, 4.0),
        DecorrelatedJitterBackoff(0.5, 4.0),
        FinagleJitterBackoff(0.5, 4.0),
        GrpcBackoff(0.5, 4.0, 1.6),
        EnvoyBackoff(0.5, 4.0),
    ],
    ids=lambda backoff: backoff.kind,
)
def test_same_attempts_as_live_clients_that_wait(backoff: Backoff) -> None:
    """Every backoff, with the same draws for the same attempts."""
    trace, _ = same_as_live(defended(load=1.2, backoff=backoff, max_attempts=5))
    assert trace.attempt.max() == 5


@pytest.mark.parametrize("propagate", ["x-deadline", "none"])
def test_same_attempts_as_live_clients_with_a_deadline(propagate: str) -> None:
    """No attempt goes on beyond its job's deadline, and none begins there."""
    experiment = defended({"drop_expired": True}, load=1.2, deadline_s=4.5, propagate=propagate)
    trace, counts = same_as_live(experiment)
    planned = trace.sent_s[trace.attempt == 1]
    assert np.nanmax(trace.done_s - planned[trace.job]) <= 4.5 + 1e-9
    assert (counts.dropped.sum() > 0) == (propagate != "none")


admissions = st.fixed_dictionaries(
    {
        "discipline": st.sampled_from(["fifo", "lifo", "adaptive-lifo"]),
        "queue_cap": st.sampled_from([4, 10]),
        "drop_expired": st.booleans(),
        "least_s": st.sampled_from([0.0, 0.5]),
        "cancel_on_disconnect": st.booleans(),
        "first_before_retry": st.booleans(),
        "codel": st.sampled_from([None, CoDel(0.5, 3.0)]),
        "limit": st.sampled_from([None, *LIMITS.values()]),
        "degradation": st.sampled_from([None, Degradation(8.0, 0.6)]),
        "retry_after_s": st.sampled_from([None, 1.5]),
        "error_rate": st.sampled_from([0.0, 0.1]),
    }
)
clients = st.fixed_dictionaries(
    {
        "backoff": st.sampled_from(
            [NoBackoff(), FullJitterBackoff(0.5, 4.0), FinagleJitterBackoff(0.5, 4.0)]
        ),
        "budget": st.sampled_from([NoBudget(), *BUDGETS.values()]),
        "breaker": st.sampled_from([NoBreaker(), *BREAKERS.values()]),
        "clients": st.sampled_from([1, 2]),
        "deadline_s": st.sampled_from([math.inf, 5.0]),
        "hedging": st.sampled_from([None, None, Hedging(3, 0.8), Hedging(2, 0.0)]),
        "on_rejection": st.sampled_from(["retry", "after-timeout", "give-up"]),
        "on_refusal": st.sampled_from(["give-up", "retry"]),
        "honours_retry_after": st.booleans(),
        "propagate": st.sampled_from(["x-deadline", "none"]),
    }
)


@settings(max_examples=60, deadline=None)
@given(
    admission=admissions,
    client=clients,
    load=st.floats(0.3, 1.3),
    pods=st.sampled_from([1, 2, 5]),
    preload=st.sampled_from([0, 20]),
    seed=st.integers(0, 1000),
)
def test_same_attempts_as_live_with_anything_together(admission, client, load, pods, preload, seed) -> None:
    """Any combination, attempt by attempt; and every attempt that was sent has one end and one place."""
    experiment = defended(admission, load=load, pods=pods, seed=seed, horizon_s=40.0, **client)
    trace, counts = same_as_live(experiment, preload)
    sent = trace.outcome != es.REFUSED
    assert counts.attempts.sum() == sent.sum()
    assert counts.refused.sum() + counts.refused_first.sum() == (~sent).sum()
    assert counts.jobs.sum() + counts.refused_first.sum() == (trace.attempt == 1).sum()
    ended = counts.late + counts.rejected + counts.errors + counts.cancelled
    assert ended.sum() + (trace.outcome == es.OK).sum() <= counts.attempts.sum()
    assert np.all(counts.wasted_s <= counts.busy_s + 1e-9)
    assert np.all(counts.depth <= admission["queue_cap"] + pods)


@pytest.mark.parametrize("admission", [{}, {"drop_expired": True}, {"queue_cap": 3}])
def test_a_run_that_ends_in_an_outage_ends(admission: dict[str, Any]) -> None:
    """What is in service without capacity never ends, and its clients time out."""
    plain = defended(admission)
    phases = (*plain.demand.phases[:2], Phase("outage", 30.0, 1.0, 0.0))
    trace, counts = finished(replace(plain, demand=replace(plain.demand, phases=phases)))
    assert counts.answered[0, -1] == 0
    assert trace.job.size == counts.attempts.sum()


CASES = [
    mm1(0.8),
    mm1(0.9, 2.0, 3, pods=3),
    mm1(1.2, 3.0, math.inf, FixedBackoff(2.5), 300.0),
    mm1(0.95, 3.0, 5, ExponentialBackoff(1.0, 8.0), 500.0, service_time=ServiceTime("lognormal")),
    fifo.kit(0.4, watch_s=600),
    fifo.outage(0.2),
]


def assert_same_run(experiment: Experiment, preload: int = 0) -> None:
    """Both kernels make the same attempts, and count them alike."""
    fast = SimulatedRun(experiment, recording=True, preload=preload)
    fast.advance(math.inf)
    theirs = fast.recorded()
    order = np.lexsort((theirs.attempt, theirs.job))
    theirs = Trace._make(column[order] for column in theirs)
    trace, counts = finished(experiment, preload)
    sent = trace.outcome != es.REFUSED
    for name in Trace._fields:
        ours = getattr(trace, name)[sent]
        np.testing.assert_allclose(ours, getattr(theirs, name), rtol=1e-9, atol=1e-9, err_msg=name)
    expected = fast.finish()
    for name in ("jobs", "attempts", "late", "rejected", "refused", "answered", "depth"):
        np.testing.assert_array_equal(getattr(counts, name), getattr(expected, name), err_msg=name)
    for name in ("busy_s", "backlog_s"):
        np.testing.assert_allclose(getattr(counts, name), getattr(expected, name), rtol=1e-7, atol=1e-7)
    if experiment.client.budget.code == NoBudget.code:
        wasted = np.diff(fast.served()[1])
        np.testing.assert_allclose(counts.wasted_s[0], wasted, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("experiment", CASES)
def test_same_attempts_as_the_fast_kernel(experiment: Experiment) -> None:
    """Where both can do it and nothing but arrivals and works is random."""
    assert not needs_events(experiment)
    assert_same_run(experiment, preload=100)


@pytest.mark.parametrize("on_rejection", ["retry", "after-timeout", "give-up"])
@pytest.mark.parametrize("budget", [NoBudget(), RatioBudget(0.1)], ids=["none", "ratio"])
@pytest.mark.parametrize("places", [0, 5, None])
def test_same_attempts_as_the_fast_kernel_with_a_cap_and_a_ratio(places, budget, on_rejection) -> None:
    experiment = mm1(1.3, 3.0, 4, FixedBackoff(1.5), 400.0, pods=2)
    assert experiment.service is not None
    experiment = replace(
        experiment,
        service=replace(experiment.service, admission=Admission(queue_cap=places)),
        client=replace(experiment.client, budget=budget, on_rejection=on_rejection),
    )
    assert not needs_events(experiment)
    assert_same_run(experiment)


def test_jitter_is_drawn_from_the_same_law_as_in_the_fast_kernel() -> None:
    """The draws fall to other attempts, so only means can be compared: late attempts over many seeds."""
    experiment = mm1(1.1, 3.0, 4, FullJitterBackoff(1.0, 8.0), 300.0)
    fast = simulate_seeds(experiment, range(200), edges_s=[0.0, 300.0]).late_ratio[:, 0]
    ours = []
    for seed in range(200, 400):
        _, counts = finished(replace(experiment, run=RunSettings(1.0, seed)))
        ours.append(counts.late_ratio[0, 0])
    error = math.hypot(np.std(fast), np.std(ours)) / math.sqrt(200)
    assert abs(np.mean(fast) - np.mean(ours)) < 4 * error


def test_a_run_in_pieces_is_the_same_run() -> None:
    experiment = defended(DEFENCES["codel"], budget=BUDGETS["envoy"])
    whole, _ = finished(experiment)
    run = EventRun(experiment, recording=True)
    for until_s in (0.1, 7.0, 7.0, 33.3, math.inf):
        run.advance(until_s)
    pieces = run.recorded()
    order = np.lexsort((pieces.attempt, pieces.job))
    for column, expected in zip(pieces, whole, strict=True):
        np.testing.assert_array_equal(column[order], expected)


def test_simulate_chooses_and_stacks() -> None:
    """Rows of counts have what the event-driven simulation counts besides, and no seed depends on another."""
    experiment = defended(DEFENCES["cancel"], budget=BUDGETS["grpc"])
    stacked = simulate_seeds(experiment, [3, 4, 5], cores=2)
    assert isinstance(stacked, DefendedCounts)
    for row, seed in enumerate((3, 4, 5)):
        single = simulate(replace(experiment, run=RunSettings(1.0, seed)))
        assert isinstance(single, DefendedCounts)
        np.testing.assert_array_equal(stacked.dropped[row], single.dropped[0])
        np.testing.assert_array_equal(stacked.wasted_s[row], single.wasted_s[0])


def test_the_fast_kernel_refuses_what_it_cannot_do() -> None:
    experiment = defended(DEFENCES["lifo"])
    with pytest.raises(ValueError, match="only the event-driven simulation"):
        SimulatedRun(experiment)
    with pytest.raises(ValueError, match="only the event-driven simulation"):
        simulate(experiment, retry_budget=0.1)


@pytest.mark.parametrize(
    ("admission", "client", "needed"),
    [
        ({}, {}, False),
        ({"queue_cap": 5}, {"on_rejection": "give-up"}, False),
        ({}, {"budget": RatioBudget(0.1)}, False),
        ({}, {"budget": RatioBudget(0.1), "clients": 2}, True),
        ({}, {"budget": RatioBudget(0.1), "on_refusal": "retry"}, True),
        ({}, {"budget": RatioBudget(0.1, 5.0)}, True),
        ({}, {"clients": 2}, False),
        ({}, {"budget": BUDGETS["aws"]}, True),
        ({}, {"breaker": BREAKERS["breaker"]}, True),
        ({}, {"deadline_s": 10.0}, True),
        ({}, {"hedging": Hedging()}, True),
        ({}, {"backoff": DecorrelatedJitterBackoff(1.0, 8.0)}, True),
        *((defence, {}, name != "cap") for name, defence in DEFENCES.items()),
    ],
)
def test_events_are_used_only_where_they_are_needed(admission, client, needed) -> None:
    assert needs_events(defended(admission, **client)) == needed


@pytest.mark.parametrize(
    ("admission", "client", "field"),
    [
        ({"queue_cap": 3}, {}, "on_rejection"),
        ({"limit": LIMITS["aimd"]}, {}, "on_rejection"),
        ({"codel": CoDel()}, {}, "on_rejection"),
        ({"queue_cap": 3}, {"budget": WindowRatioBudget(1.0)}, "on_rejection"),
        ({}, {"breaker": BREAKERS["breaker"], "on_refusal": "retry"}, "on_refusal"),
        ({}, {"budget": BUDGETS["grpc"], "on_refusal": "retry"}, "on_refusal"),
    ],
)
def test_asking_for_ever_at_one_moment_is_refused(admission, client, field) -> None:
    endless = {"max_attempts": math.inf, "backoff": NoBackoff(), **client}
    with pytest.raises(ValueError, match=f"{field}: must not be 'retry'"):
        EventRun(defended(admission, **endless))
    EventRun(defended(admission, **{**endless, "backoff": FixedBackoff(1.0)}))


@pytest.mark.parametrize(("preload", "edges_s"), [(-1, None), (0, [5.0, 5.0])])
def test_bad_input_is_named(preload, edges_s) -> None:
    with pytest.raises(ValueError, match=r"preload|edges_s"):
        EventRun(defended(DEFENCES["lifo"]), preload=preload, edges_s=edges_s)
    with pytest.raises(ValueError, match="service: must be known"):
        EventRun(replace(defended(), service=None))


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), admission=admissions, edge_s=st.floats(1.0, 39.0))
def test_what_is_wasted_was_given_to_clients_that_had_gone(seed, admission, edge_s) -> None:
    """However the run is cut into windows, as much is wasted; and never more than was given."""
    experiment = defended(admission, seed=seed, horizon_s=40.0)
    run = EventRun(experiment, recording=True, edges_s=[0.0, edge_s, 40.0])
    run.advance(math.inf)
    counts = run.finish()
    whole = EventRun(experiment, recording=True, edges_s=[0.0, 40.0])
    whole.advance(math.inf)
    np.testing.assert_allclose(counts.wasted_s.sum(), whole.finish().wasted_s.sum(), rtol=1e-9, atol=1e-9)
    busy_s, abandoned_s = run.served()
    assert np.all(np.diff(busy_s) >= 0)
    assert np.all(abandoned_s <= busy_s + 1e-9)


def test_a_defended_run_is_observed_as_a_live_one() -> None:
    """Refused attempts were not sent; the server tells of its work; statuses are those of the target."""
    client: dict[str, Any] = {
        "budget": BUDGETS["grpc"],
        "breaker": BREAKERS["breaker"],
        "on_refusal": "retry",
    }
    admission = {"queue_cap": 6, "error_rate": 0.1, "drop_expired": True, "least_s": 0.5}
    experiment = defended(admission, load=1.2, horizon_s=200.0, **client)
    seen = observe(experiment)
    attempts = seen.attempts
    refused = attempts.outcome == OUTCOMES.index(Outcome.REFUSED.value)
    assert refused.any()
    np.testing.assert_array_equal(attempts.sent, ~refused)
    assert not attempts.failing[refused].any()
    assert set(attempts.status.tolist()) == {0, 200, 500, 503, 504}
    assert attempts.job_sent.sum() == attempts.sent.sum() == seen.counts.attempts.sum()
    planned = experiment.arrival_plan.draw(np.random.default_rng(0)).size
    assert attempts.job_planned_s.size == pytest.approx(planned, rel=0.3)
    last = seen.server.iloc[-1]
    assert 0 < last["abandoned_s"] < last["busy_s"] <= 2 * 200.0
    assert last["completed"] + last["queue_depth"] + last["in_service"] <= last["arrived"]


@pytest.mark.parametrize("experiment", CASES[:2] + CASES[4:])
def test_both_kernels_are_observed_alike(experiment: Experiment) -> None:
    """What the target tells of itself, at every scrape, whichever simulation it was."""
    fast = observe(experiment).server
    slow = observe(replace(experiment, client=replace(experiment.client, deadline_s=1e9))).server
    for name in ("completed", "saturated_completed", "arrived", "queue_depth", "in_service"):
        np.testing.assert_array_equal(fast[name], slow[name], err_msg=name)
    np.testing.assert_allclose(fast["backlog_s"], slow["backlog_s"], rtol=1e-7, atol=1e-7)
    if all(phase.capacity_factor == 1.0 for phase in experiment.demand.phases):
        np.testing.assert_allclose(fast["busy_s"], slow["busy_s"], rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(fast["saturated_s"], slow["saturated_s"], rtol=1e-7, atol=1e-7)
