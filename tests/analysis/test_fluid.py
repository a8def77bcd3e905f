from __future__ import annotations

import contextlib
import math
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis import simulation
from analysis.fluid import backlog_cleared_s, first_late_s, fluid_trace, last_late_s
from analysis.staircase import Staircase
from domain.backoff import Backoff, ExponentialBackoff, FixedBackoff, FullJitterBackoff
from domain.errors import ConfigurationError
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.queue_cap import QueueCap
from tests.analysis.fifo import kit, outage, simulate


def cleared_after_trigger(experiment: Experiment, budget: float | None = None) -> float | None:
    trigger = experiment.trigger
    assert trigger is not None
    cleared = backlog_cleared_s(fluid_trace(experiment, retry_budget=budget), trigger[1])
    return None if cleared is None else cleared - trigger[1]


@pytest.mark.parametrize(
    ("m", "k", "rho", "seconds", "tolerance"),
    [
        (3, 5, 0.30, 9756, 0.005),
        (3, 5, 0.25, 2867, 0.0075),
        (1, 10, 0.50, 2398, 0.005),
        (2, 10, 0.25, 2358, 0.005),
        (2, 10, 0.30, 3700, 0.005),
        (2, 10, 0.40, 10386, 0.005),
        (3, 10, 0.8 / 3, 10300, 0.005),
    ],
)
def test_recovery_times_of_seed_002(m: int, k: float, rho: float, seconds: float, tolerance: float) -> None:
    """Backlog back to zero, against the seed's fluid and request-level figures."""
    experiment = kit(rho, factor=k, watch_s=1.3 * seconds, max_attempts=m)
    assert cleared_after_trigger(experiment) == pytest.approx(seconds, rel=tolerance)


def test_recovery_by_hand() -> None:
    """f2-25 worked out by hand: the wait is 712.5 s once the spike's retries are in, 2,830 s to the last
    late attempt, and 20 s more until the queue is empty."""
    experiment = kit(0.25, watch_s=4000)
    trace = fluid_trace(experiment)
    assert first_late_s(trace) == pytest.approx(140, abs=0.3)
    assert last_late_s(trace) == pytest.approx(400 + 2830, abs=0.5)
    assert cleared_after_trigger(experiment) == pytest.approx(2850, abs=0.5)


@pytest.mark.parametrize(("beta", "seconds"), [(0.1, 19398), (0.2, 63881), (0.5, None)])
def test_retry_budgets_of_seed_002(beta: float, seconds: float | None) -> None:
    """Retries capped at β of first attempts; the longest takes 64,000 s of scenario and little of ours."""
    experiment = kit(0.8, factor=10, watch_s=1.05 * seconds if seconds else 20_000)
    assert cleared_after_trigger(experiment, beta) == (pytest.approx(seconds, rel=0.005) if seconds else None)


def test_critical_spike_makes_nothing_late() -> None:
    """kρ = 1 exactly: rounding must not make an attempt late, whatever the numbers."""
    for rho, k in ((0.2, 5.0), (0.1, 10.0), (1 / 3, 3.0), (1 / 7, 7.0)):
        assert not fluid_trace(kit(rho, factor=k)).late.any()


def test_trapped_keeps_failing_and_growing() -> None:
    """At 40% every attempt of the watch is late and the wait grows by Aρ − 1 a second."""
    trace = fluid_trace(kit(0.4))
    watch = trace.t_s >= 430
    assert trace.late[watch].all()
    slope = np.polyfit(trace.t_s[watch], trace.wait_s[watch], 1)[0]
    assert slope == pytest.approx(0.2, rel=1e-3)
    assert trace.goodput_per_s[watch].max() == pytest.approx(0, abs=1e-6)


def test_backlog_growth_conserves_attempts() -> None:
    """What came in less what was served is what is queued."""
    experiment = kit(0.3, watch_s=600)
    trace = fluid_trace(experiment)
    step = trace.t_s[1]
    busy = trace.t_s >= 100
    inflow = (trace.ingress_per_s[busy] - 160.0) * step
    assert trace.backlog[busy][-1] == pytest.approx(inflow[:-1].sum(), rel=1e-9)


def test_demand_and_goodput_balance_when_nothing_fails() -> None:
    """Every job is answered once."""
    trace = fluid_trace(kit(0.5, spike_s=0))
    assert trace.goodput_per_s.sum() == pytest.approx(trace.demand_per_s.sum(), rel=1e-6)


def test_outage_makes_everything_late_from_its_beginning() -> None:
    """Attempts sent when 60 s without capacity begin are late at once; recovery follows the arithmetic."""
    trace = fluid_trace(outage(0.2))
    assert first_late_s(trace) == pytest.approx(100, abs=0.3)
    last = last_late_s(trace)
    assert last is not None
    assert 160 < last < 260


def test_capacity_that_never_returns_gives_an_infinite_wait() -> None:
    """With nothing to serve it, an attempt waits for ever."""
    experiment = Experiment(
        "gone",
        "",
        Client(10.0, 3),
        Demand(10.0, (Phase("calm", 50.0), Phase("gone", 50.0, capacity_factor=0.0))),
        Service(1, 40.0),
    )
    trace = fluid_trace(experiment)
    assert np.isinf(trace.wait_s[-1])
    assert np.isfinite(trace.goodput_per_s).all()


def test_backoff_delays_retries_without_removing_any() -> None:
    """Jittered, fixed or none: the same attempts in the end, and the same verdict."""
    settled = []
    for backoff in (FullJitterBackoff(10.0, 80.0), FixedBackoff(5.0)):
        base = kit(0.4)
        experiment = Experiment("x", "", Client(10.0, 3, backoff), base.demand, base.service)
        trace = fluid_trace(experiment)
        assert trace.late[-1]
        settled.append(trace.ingress_per_s[trace.t_s > 800].mean())
    assert settled == pytest.approx([192.0, 192.0], rel=1e-6)


@pytest.mark.parametrize(
    ("backoff", "m"),
    [
        (FullJitterBackoff(1000.0, 8000.0), 3),
        (FullJitterBackoff(100.0, 800.0), 3),
        (FullJitterBackoff(200.0, 200.0), math.inf),
    ],
)
def test_retries_that_may_come_after_the_end_are_not_crowded_into_the_run(backoff: Backoff, m: float) -> None:
    """Ingress in fifths of the run, against the request-level simulation of forty times the fleet."""
    fleet, edges = 40.0, np.linspace(0.0, 100.0, 6)
    demand = Demand(120.0 * fleet, (Phase("all", 100.0),))
    service = Service(1, 100.0 * fleet)
    experiment = Experiment("x", "", Client(1.0, m, backoff), demand, service, RunSettings(seed=3))
    sent = simulation.simulate(experiment, edges_s=edges).attempts[0] / (20.0 * fleet)
    trace = fluid_trace(experiment)
    fifths = np.searchsorted(trace.t_s, edges[:-1])
    ingress = np.add.reduceat(trace.ingress_per_s, fifths) * trace.t_s[1] / (20.0 * fleet)
    assert ingress == pytest.approx(sent, rel=0.02)


def test_a_backoff_far_beyond_the_run_returns_nothing() -> None:
    """However far, and whether it is spread or not."""
    for backoff in (FixedBackoff(1e308), FullJitterBackoff(1e307, 1e308), ExponentialBackoff(1e307, 1e308)):
        base = kit(0.4)
        trace = fluid_trace(Experiment("x", "", Client(10.0, 3, backoff), base.demand, base.service))
        once = fluid_trace(Experiment("x", "", Client(10.0, 1), base.demand, base.service))
        assert trace.ingress_per_s == pytest.approx(once.ingress_per_s, rel=1e-9)


def test_endless_client_adds_a_demand_per_timeout() -> None:
    """m = ∞: every timeout adds one more generation of retries."""
    trace = fluid_trace(kit(0.3, max_attempts=math.inf))
    late = trace.ingress_per_s[np.searchsorted(trace.t_s, [1000, 1010])]
    assert late[1] - late[0] == pytest.approx(48, rel=1e-6)
    many = fluid_trace(kit(0.3, max_attempts=10_000))
    assert many.ingress_per_s[-1] == pytest.approx(trace.ingress_per_s[-1])


def test_many_finite_attempts_match_the_endless_client_until_they_run_out() -> None:
    """Layers kept apart, in groups, and lumped together must agree."""
    endless = fluid_trace(kit(0.3, max_attempts=math.inf, watch_s=300))
    finite = fluid_trace(kit(0.3, max_attempts=60, watch_s=300))
    assert finite.ingress_per_s == pytest.approx(endless.ingress_per_s, rel=1e-9)


def test_attempts_that_cannot_run_out_are_as_good_as_endless() -> None:
    """3,600 s of timeouts of .1 s are 36,000 attempts at most, which no longer take a minute."""
    phases = (Phase("calm", 600.0), Phase("spike", 600.0, 5.0), Phase("watch", 2400.0))
    begin = time.process_time()
    paths = [
        fluid_trace(Experiment("x", "", Client(0.1, m), Demand(48.0, phases), Service(4, 40.0)))
        for m in (36_000, math.inf)
    ]
    assert time.process_time() - begin < 4.0
    assert np.array_equal(paths[0].ingress_per_s, paths[1].ingress_per_s)


@pytest.mark.parametrize(
    ("client", "hours", "message"),
    [
        (
            Client(1e-4, 3),
            1.0,
            r"client\.timeout_s: must be at least 1/312,499 of the run's 3600 s .*got 0\.0001",
        ),
        (Client(1e-6, 3), 1.0, r"client\.timeout_s: .*got 1e-06"),
        (Client(10.0, 3), 1e6, r"client\.timeout_s: .* 3\.6e\+09 s .*got 10\.0"),
        (Client(1e-320, 3), 1e300, r"client\.timeout_s"),
        (Client(0.1, 18_000), 1.0, r"client\.max_attempts: must be at most 69, or inf, .*36,000.*got 18000"),
        (Client(0.1, 1e18), 1e-2, None),
        (
            Client(0.1, math.inf, FullJitterBackoff(1e-300, 1e300)),
            1.0,
            r"client\.backoff: must stop growing within 34 retries .*got 'full-jitter'",
        ),
        (
            Client(1.0, 7, FullJitterBackoff(1.0, 1e6)),
            86.0,
            r"client\.max_attempts: must be at most 4 for the fluid model.*got 7",
        ),
        (Client(0.1, math.inf, FullJitterBackoff(1e-6, 1e9)), 0.5, None),
    ],
)
def test_what_takes_too_much_is_refused_before_it_is_begun(
    client: Client, hours: float, message: str | None
) -> None:
    """At once, and with the field, the rule and the value; what is just possible is done."""
    phases = (Phase("calm", 900.0 * hours), Phase("spike", 900.0 * hours, 5.0), Phase("on", 1800.0 * hours))
    experiment = Experiment("x", "", client, Demand(64.0, phases), Service(4, 40.0))
    begin = time.process_time()
    if message is None:
        assert np.isfinite(fluid_trace(experiment).ingress_per_s).all()
        return
    with pytest.raises(ConfigurationError, match=message) as caught:
        fluid_trace(experiment)
    assert len(caught.value.faults) == 1
    assert time.process_time() - begin < 0.1


@settings(max_examples=40, deadline=None)
@given(
    timeout=st.floats(-9, 9),
    length=st.floats(-6, 9),
    base=st.floats(-12, 12),
    m=st.sampled_from([1, 2, 3, 30, 1000, 10**9, math.inf]),
    rule=st.sampled_from([ExponentialBackoff, FullJitterBackoff]),
    at_once=st.booleans(),
)
def test_extremes_are_followed_or_refused(
    timeout: float, length: float, base: float, m: float, rule: type[FullJitterBackoff], at_once: bool
) -> None:
    """Nothing in between: no memory error, no overflow, nothing that is not a number."""
    client = Client(10.0**timeout, m, rule(10.0**base, 10.0 ** (base + 3)))
    phases = (Phase("calm", 10.0**length), Phase("spike", 10.0**length, 5.0))
    experiment = Experiment("x", "", client, Demand(64.0, phases), Service(4, 40.0))
    begin = time.process_time()
    with contextlib.suppress(ConfigurationError):
        trace = fluid_trace(experiment, queue_cap=QueueCap(500, "retry" if at_once else "after-timeout"))
        assert np.isfinite(trace.ingress_per_s).all()
        assert trace.backlog.max() <= 504 * (1 + 1e-9)
    assert time.process_time() - begin < 5.0


@settings(max_examples=20, deadline=None)
@given(rho=st.floats(0.05, 0.9), k=st.floats(1.0, 8.0), m=st.integers(1, 4))
def test_fluid_invariants(rho: float, k: float, m: int) -> None:
    """Nothing negative, ingress at most m times the peak demand, answers no more than jobs."""
    trace = fluid_trace(kit(rho, factor=k, watch_s=200, spike_s=60, max_attempts=m))
    assert trace.backlog.min() >= 0
    assert trace.ingress_per_s.max() <= m * max(k, 1) * rho * 160 * (1 + 1e-9)
    assert trace.goodput_per_s.sum() <= trace.demand_per_s.sum() * (1 + 1e-9)


def test_fluid_of_f2_30_takes_less_than_a_second() -> None:
    """12,400 s of scenario."""
    begin = time.process_time()
    fluid_trace(kit(0.3, watch_s=12_000))
    assert time.process_time() - begin < 1.0


def test_fluid_agrees_with_the_exact_simulation() -> None:
    """A fleet a hundred times as big makes chance small: recovery within 4% of the event-by-event queue."""
    experiment = kit(0.25, factor=10, spike_s=60, watch_s=2400, rate_per_pod=400.0, speedup=50.0)
    rows = simulate(experiment).attempts
    last = rows.loc[rows["outcome"] == "timeout", "sent_s"].max() * 50.0
    assert last_late_s(fluid_trace(experiment)) == pytest.approx(last, rel=0.04)


def test_fluid_needs_a_known_capacity() -> None:
    """Somebody else's service has no fluid model."""
    with pytest.raises(ValueError, match="service"):
        fluid_trace(Experiment("x", "", Client(1.0), Demand(1.0, (Phase("p", 1.0),))))


def test_staircase_integrates_and_inverts() -> None:
    """∫ and its inverse over phases of rate 2, 0 and 4, the last for ever."""
    phases = kit(0.4).placed_phases
    stairs = Staircase.of(phases, [2.0, 0.0, 4.0])
    assert stairs.at(np.array([50.0, 250.0, 401.0, 2000.0])) == pytest.approx([100, 200, 204, 6600])
    assert stairs.when(np.array([100.0, 200.0, 204.0, 6600.0])) == pytest.approx([50, 100, 401, 2000])
