"""Queue caps, degradation, and the balances that hold whatever is switched on."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from analysis.fluid import fluid_trace, stepper
from analysis.result import FluidTrace
from domain.backoff import FixedBackoff, FullJitterBackoff, NoBackoff
from domain.degradation import Degradation, rate_share
from domain.experiment import Client, Demand, Experiment, Phase, Service
from domain.fleet import Fleet
from domain.queue_cap import OnRejection, QueueCap
from tests.analysis.fifo import kit


def steady(load: float, client: Client, *, seconds: float = 300.0) -> Experiment:
    """One pod of 100 attempts/s under constant demand of ``load`` times that."""
    return Experiment("steady", "", client, Demand(100.0 * load, (Phase("all", seconds),)), Service(1, 100.0))


def settled(values: np.ndarray) -> float:
    return float(values[-len(values) // 4 :].mean())


@pytest.mark.parametrize("on_rejection", ["retry", "after-timeout", "give-up"])
@pytest.mark.parametrize("load", [0.5, 1.3])
def test_a_cap_inside_the_timeout_leaves_no_crater(load: float, on_rejection: OnRejection) -> None:
    """Seed 000 §6.5 without chance: goodput is min(λ, μ), whatever rejected attempts do."""
    trace = fluid_trace(
        steady(load, Client(0.05, 6, FullJitterBackoff(0.05, 0.4)), seconds=40.0),
        queue_cap=QueueCap(2, on_rejection),
    )
    assert not trace.late.any()
    assert settled(trace.goodput_per_s) == pytest.approx(100 * min(load, 1.0), rel=1e-3)


def test_the_same_load_uncapped_has_no_goodput() -> None:
    """The crater the cap removes."""
    trace = fluid_trace(steady(1.3, Client(0.05, 6, FullJitterBackoff(0.05, 0.4)), seconds=40.0))
    assert settled(trace.goodput_per_s) == pytest.approx(0.0, abs=1e-9)


def test_retries_of_rejections_by_hand() -> None:
    """λ(1 + q + q²) with λ(1 − q³) = μ when rejected attempts come back under m = 3; λ when they do not."""
    client, load = Client(1.0, 3, FixedBackoff(0.3)), 1.2
    rejected = brentq(lambda q: load * (1 - q**3) - 1.0, 0.1, 0.999)
    expected = 100 * load * (1 + rejected + rejected**2)
    for on_rejection in ("retry", "after-timeout"):
        trace = fluid_trace(steady(load, client), queue_cap=QueueCap(10, on_rejection))  # type: ignore[arg-type]
        assert settled(trace.ingress_per_s) == pytest.approx(expected, rel=1e-3)
        assert settled(trace.rejected_per_s) == pytest.approx(rejected * expected, rel=1e-3)
    given_up = fluid_trace(steady(load, client), queue_cap=QueueCap(10, "give-up"))
    assert settled(given_up.ingress_per_s) == pytest.approx(120)
    assert settled(given_up.rejected_per_s) == pytest.approx(20)
    at_once = fluid_trace(steady(load, replace(client, backoff=NoBackoff())), queue_cap=QueueCap(10))
    assert settled(at_once.ingress_per_s) == pytest.approx(expected, rel=1e-3)


def test_the_cap_counts_those_in_service() -> None:
    """The bound is the places plus one per pod."""
    trace = fluid_trace(kit(0.4), queue_cap=QueueCap(100))
    assert trace.backlog.max() == pytest.approx(104.0)


def test_a_cap_longer_than_the_timeout_keeps_the_trap() -> None:
    """What is admitted is late all the same, so the service stays failed; a cap within it does not."""
    long = fluid_trace(kit(0.4), queue_cap=QueueCap(3200))
    short = fluid_trace(kit(0.4), queue_cap=QueueCap(800))
    assert long.late[-1]
    assert not short.late.any()


def test_a_rejection_budget_is_the_retry_budget() -> None:
    """Retries of rejections are charged against the budget too: β of first attempts come back."""
    trace = fluid_trace(steady(1.5, Client(1.0, 3)), queue_cap=QueueCap(10), retry_budget=0.1)
    assert settled(trace.ingress_per_s) == pytest.approx(165)


def test_an_endless_client_that_retries_rejections_in_no_time_is_refused() -> None:
    """It would send infinitely many attempts; with a backoff, or waiting out the timeout, it does not."""
    with pytest.raises(ValueError, match="max_attempts: must be finite"):
        fluid_trace(kit(0.4, max_attempts=math.inf), queue_cap=QueueCap(100))
    for client, cap in (
        (Client(10.0, math.inf, FixedBackoff(5.0)), QueueCap(100)),
        (Client(10.0, math.inf), QueueCap(100, "after-timeout")),
    ):
        trace = fluid_trace(steady(1.2, client), queue_cap=cap)
        assert np.isfinite(trace.ingress_per_s).all()
        assert trace.ingress_per_s[-1] > 500


def test_degradation_follows_its_differential_equation() -> None:
    """Q′ = λ − C·share(Q) with nothing retried, against scipy's integrator."""
    slow = Degradation(half_queue=200.0, floor=0.5)
    trace = fluid_trace(steady(1.1, Client(10.0, 1), seconds=60.0), degradation=slow)
    path = solve_ivp(
        lambda _, queue: 110.0 - 100.0 * slow.rate_share(queue[0]),
        (0.0, 60.0),
        [0.0],
        t_eval=trace.t_s,
        rtol=1e-9,
        atol=1e-9,
    ).y[0]
    assert trace.backlog == pytest.approx(path, rel=1.5e-3, abs=0.02)
    assert trace.capacity_per_s == pytest.approx(rate_share(path, 0.5, 200.0) * 100.0, rel=3e-3)


def test_compiled_and_plain_degradation_are_one_function() -> None:
    """What is compiled is the rule of ``domain``."""
    for queue in (0.0, 1.0, 50.0, 1e6):
        assert stepper._rate_share(queue, 0.5, 80.0) == rate_share(queue, 0.5, 80.0)


def ramp(low: float, high: float, leg_s: int) -> tuple[Phase, ...]:
    """Up and down again in seconds of constant demand."""
    rates = [low + (high - low) * (second + 0.5) / leg_s for second in range(leg_s)]
    return tuple(Phase(f"{rate:.0f}/s", 1.0, rate / low) for rate in rates + rates[::-1])


def turning_points(trace: FluidTrace) -> tuple[float, float]:
    """Demand in the first and in the last second in which under half of it is answered."""
    seconds = round(1.0 / float(trace.t_s[1]))
    shape = (trace.t_s.size // seconds, seconds)
    cells = shape[0] * shape[1]
    demand = trace.demand_per_s[:cells].reshape(shape).mean(axis=1)
    goodput = trace.goodput_per_s[:cells].reshape(shape).mean(axis=1)
    failed = np.flatnonzero(goodput < 0.5 * demand)
    return float(demand[failed[0]]), float(demand[failed[-1]])


@pytest.mark.parametrize(
    ("m", "degradation", "recovery"),
    [
        (2, Degradation(half_queue=110.0, floor=0.5), 320.0),
        (3, Degradation(half_queue=110.0, floor=1.0), 320.0),
        (3, Degradation(half_queue=110.0, floor=0.5), 214.0),
    ],
)
def test_hysteresis_of_seed_001(m: int, degradation: Degradation, recovery: float) -> None:
    """Simulation B: collapse near 950/s, recovery at degraded capacity over amplification.

    C = 950/s, T = 50 ms, 200 places. The seed's 320/s is C·share/A with one retry and two thirds of the
    capacity left, or with two retries and no degradation; two retries and degradation give less.
    """
    experiment = Experiment(
        "ramp", "", Client(0.05, m), Demand(100.0, ramp(100.0, 1350.0, 300)), Service(1, 950.0)
    )
    trace = fluid_trace(experiment, queue_cap=QueueCap(200, "after-timeout"), degradation=degradation)
    collapsed, recovered = turning_points(trace)
    assert collapsed == pytest.approx(950, rel=0.025)
    assert recovered == pytest.approx(recovery, rel=0.08)
    assert recovered < 950 * degradation.rate_share(201.0) / m


BACKOFFS = st.sampled_from([NoBackoff(), FixedBackoff(3.3), FullJitterBackoff(2.0, 30.0)])
CAPS = st.sampled_from([None, QueueCap(150), QueueCap(3000, "after-timeout"), QueueCap(700, "give-up")])
SLOW = st.sampled_from([Degradation(1.0, 1.0), Degradation(300.0, 0.5)])
FLEETS = st.sampled_from([None, Fleet(("cpu",), dead_time_s=40.0), Fleet(("ingress", "first"), 0.4, 31.7)])


@settings(max_examples=30, deadline=None)
@given(
    rho=st.floats(0.1, 0.9),
    k=st.floats(1.0, 8.0),
    cut=st.sampled_from([0.0, 0.5, 1.0]),
    m=st.integers(1, 4),
    backoff=BACKOFFS,
    cap=CAPS,
    slow=SLOW,
    fleet=FLEETS,
    budget=st.sampled_from([None, 0.2]),
)
def test_balances(
    rho: float,
    k: float,
    cut: float,
    m: int,
    backoff: NoBackoff,
    cap: QueueCap | None,
    slow: Degradation,
    fleet: Fleet | None,
    budget: float | None,
) -> None:
    """Arrivals are served, rejected or queued; and an attempt is late iff service by t + T has not
    reached the arrivals by t, recomputed from the paths alone."""
    phases = (Phase("calm", 40.0), Phase("spike", 50.0, k), Phase("cut", 30.0, 1.0, cut), Phase("on", 180.0))
    service = Service(4, 40.0)
    experiment = Experiment(
        "x", "", Client(10.0, m, backoff), Demand(rho * service.capacity_per_s, phases), service
    )
    trace = fluid_trace(experiment, retry_budget=budget, queue_cap=cap, degradation=slow, fleet=fleet)
    step = float(trace.t_s[1])
    arrived = np.concatenate([[0.0], np.cumsum(trace.ingress_per_s - trace.rejected_per_s)[:-1]]) * step
    left = arrived - trace.backlog
    room = np.concatenate([[0.0], np.cumsum(trace.capacity_per_s)[:-1]]) * step
    assert trace.backlog.min() >= 0
    assert trace.rejected_per_s.min() >= 0
    assert np.all(np.diff(left) >= -1e-6)
    assert np.all(np.diff(left) <= np.diff(room) + 1e-6)
    ahead = round(10.0 / step)
    overdue = arrived[:-ahead] - left[ahead:]
    clear = np.abs(overdue) > 1e-3
    assert np.array_equal(trace.late[:-ahead][clear], overdue[clear] > 0)
    assert trace.goodput_per_s.sum() <= trace.demand_per_s.sum() * (1 + 1e-9)
