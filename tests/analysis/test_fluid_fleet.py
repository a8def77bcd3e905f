"""Autoscaled fleets in the fluid model: seed 002's three signals, corollaries 4 and 5, and its kit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.fluid import (
    SignalPoint,
    backlog_cleared_s,
    capacity_met_s,
    fluid_trace,
    last_late_s,
    signal_point,
)
from analysis.result import FluidTrace
from domain.autoscaler import Autoscaler
from domain.backoff import FixedBackoff
from domain.experiment import Client, Demand, Experiment, Phase, Service
from domain.fleet import Fleet, Signal, specimen

BEFORE = 120.0
"""Quiet time before the step; a multiple of the sync period, so a decision falls on the step."""


def step(
    factor: float = 10.0,
    *,
    watch_s: float = 900.0,
    utilization: float = 0.5,
    client: Client | None = None,
    service: Service | None = None,
) -> Experiment:
    """Demand at the target, then ``factor`` times as much for good."""
    client, service = client or Client(10.0, 3), service or Service(10, 100.0)
    phases = (Phase("before", BEFORE), Phase("after", watch_s, factor))
    return Experiment("step", "", client, Demand(utilization * service.capacity_per_s, phases), service)


def healthy_after_s(trace: FluidTrace) -> float | None:
    cleared = backlog_cleared_s(trace, BEFORE)
    return None if cleared is None else cleared - BEFORE


def met_after_s(trace: FluidTrace) -> float | None:
    met = capacity_met_s(trace, BEFORE)
    return None if met is None else met - BEFORE


def test_cpu_is_slow_wasteful_and_recovers() -> None:
    """The seed: 345 s until capacity meets the load, 12.5 times the pods, 736 s lost, healthy after 771 s."""
    trace = fluid_trace(step(watch_s=1500.0), fleet=specimen("cpu"))
    point = signal_point(trace, BEFORE, 100)
    assert met_after_s(trace) == pytest.approx(345, abs=0.2)
    assert point.over_provisioning == pytest.approx(12.5, rel=0.03)
    assert point.lost_s == pytest.approx(736, rel=0.005)
    assert healthy_after_s(trace) == pytest.approx(771, rel=0.005)
    assert trace.pods[-1] == 100


def test_ingress_recovers_at_three_times_the_pods() -> None:
    """The seed: 120 s, 3.0 times, 228 s lost, healthy after 266 s; 300 pods held till about 600 s."""
    trace = fluid_trace(step(), fleet=specimen("ingress"))
    point = signal_point(trace, BEFORE, 100)
    assert met_after_s(trace) == pytest.approx(120, abs=0.2)
    assert point.over_provisioning == pytest.approx(3.0, rel=1e-9)
    assert point.lost_s == pytest.approx(228, rel=0.06)
    assert healthy_after_s(trace) == pytest.approx(266, rel=0.06)
    pods = dict(zip(trace.t_s - BEFORE, trace.pods, strict=True))
    assert pods[180.0] == pods[510.0] == 300
    assert pods[630.0] == 100


def test_first_attempts_provision_the_need_and_never_recover() -> None:
    """The seed: 120 s, 1.0 times, 99.7% lost for ever, with or without a backoff of five seconds."""
    for client in (Client(10.0, 3), Client(10.0, 3, FixedBackoff(5.0))):
        trace = fluid_trace(step(client=client), fleet=specimen("first"))
        point = signal_point(trace, BEFORE, 100)
        assert met_after_s(trace) == pytest.approx(120, abs=0.2)
        assert point.over_provisioning == pytest.approx(1.0, rel=1e-9)
        assert point.lost_share == pytest.approx(0.997, abs=0.001)
        assert healthy_after_s(trace) is None
        assert trace.late[-1]


def test_without_retries_cpu_peaks_at_a_quarter_of_that() -> None:
    """The seed: 3.17 times the pods, the same 345 s."""
    trace = fluid_trace(step(client=Client(10.0, 1)), fleet=specimen("cpu"))
    assert met_after_s(trace) == pytest.approx(345, abs=0.2)
    assert signal_point(trace, BEFORE, 100).over_provisioning == pytest.approx(3.17, rel=0.03)


@pytest.mark.parametrize(("target", "seconds"), [(0.33, 8909), (0.30, 922), (0.25, 384)])
def test_first_attempts_recover_below_a_third(target: float, seconds: float) -> None:
    """Corollary 4 with A = 3, against the seed's times."""
    trace = fluid_trace(
        step(utilization=target, watch_s=1.1 * seconds),
        fleet=specimen("first", target_utilization=target),
    )
    assert healthy_after_s(trace) == pytest.approx(seconds, rel=0.04)


@pytest.mark.parametrize(("beta", "seconds"), [(0.2, 274), (0.5, 422)])
def test_a_retry_budget_frees_the_first_attempt_scaler(beta: float, seconds: float) -> None:
    """A = 1 + β and u* = .5, against the seed's times."""
    trace = fluid_trace(step(watch_s=600.0), retry_budget=beta, fleet=specimen("first"))
    assert healthy_after_s(trace) == pytest.approx(seconds, rel=0.025)


@pytest.mark.parametrize(("signals", "pods"), [(("first", "ingress"), 3.0), (("first", "cpu"), 8.0)])
def test_pairing_escapes(signals: tuple[Signal, ...], pods: float) -> None:
    """The larger recommendation wins: with ingress as ingress alone, with CPU more slowly and at more."""
    trace = fluid_trace(step(watch_s=1200.0), fleet=specimen(*signals))
    assert signal_point(trace, BEFORE, 100).over_provisioning == pytest.approx(pods)
    alone = fluid_trace(step(watch_s=1200.0), fleet=specimen("ingress"))
    recovered, ingress = healthy_after_s(trace), healthy_after_s(alone)
    assert recovered is not None
    assert ingress is not None
    assert recovered == ingress if "ingress" in signals else recovered > ingress


def test_the_frontier_of_the_three_signals() -> None:
    """Definition 9: ingress dominates CPU on both coordinates; first attempts are cheapest and lose all."""
    cpu, ingress, first = (
        signal_point(fluid_trace(step(watch_s=900.0), fleet=specimen(signal)), BEFORE, 100)
        for signal in ("cpu", "ingress", "first")
    )
    assert isinstance(cpu, SignalPoint)
    assert ingress.over_provisioning < cpu.over_provisioning
    assert ingress.lost_s < cpu.lost_s < first.lost_s
    assert first.over_provisioning < ingress.over_provisioning


KIT = Service(4, 40.0)


def test_the_kit_on_first_attempts_stays_failed() -> None:
    """F3: 20 pods, 99.3% of demand lost."""
    trace = fluid_trace(step(5.0, service=KIT), fleet=specimen("first", max_pods=50))
    assert trace.late[-1]
    assert trace.pods[-1] == 20
    assert signal_point(trace, BEFORE, 20).lost_share == pytest.approx(0.993, abs=0.001)


@pytest.mark.parametrize("signals", [("ingress",), ("first", "ingress")])
def test_the_kit_on_ingress_climbs_to_its_ceiling_and_settles(signals: tuple[Signal, ...]) -> None:
    """F3 and F4: recovered after 270 s, settled at 20 pods."""
    trace = fluid_trace(step(5.0, service=KIT, watch_s=1000.0), fleet=specimen(*signals, max_pods=50))
    assert trace.pods.max() == 50
    assert trace.pods[-1] == 20
    assert healthy_after_s(trace) == pytest.approx(270, rel=0.06)


def test_the_paired_kit_holds_four_pods_without_a_step() -> None:
    """F4: no more than the clean signal alone."""
    trace = fluid_trace(step(1.0, service=KIT), fleet=specimen("first", "ingress", max_pods=50))
    assert set(trace.pods) == {4.0}
    assert not trace.late.any()


def test_a_ceiling_below_the_amplified_load_takes_the_escape_away() -> None:
    """Corollary 5 needs Aλ/u*; at 29 pods for 30 of amplified load the ingress scaler stays failed."""
    trace = fluid_trace(step(5.0, service=KIT, watch_s=2000.0), fleet=specimen("ingress", max_pods=29))
    assert trace.late[-1]
    assert trace.pods[-1] == 29


def test_the_tolerance_can_stop_a_scaler_short_of_its_target() -> None:
    """At 10% a window may leave it at 91 pods for a need of 100, so the threshold is lower than 1/A."""
    fleet = Fleet(("first",), rate_window_s=50.0)
    trace = fluid_trace(step(), fleet=fleet)
    assert 90 < trace.pods[-1] < 100


def test_orders_by_hand() -> None:
    """Windows of one sync period: read at 15 s, 100 pods ordered, serving a dead time later to the step."""
    fleet = Fleet(("first",), dead_time_s=90.04, rate_window_s=15.0)
    trace = fluid_trace(step(), fleet=fleet)
    ready = BEFORE + 15 + 90.04
    assert np.all(trace.pods[trace.t_s < ready - 0.1] == 10)
    assert np.all(trace.pods[trace.t_s >= ready] == 100)
    first = np.searchsorted(trace.t_s, ready) - 1
    assert trace.pods[first] == pytest.approx(10 + 90 * 0.6)
    assert trace.capacity_per_s == pytest.approx(trace.pods * 100.0)


def test_a_fleet_that_never_changes_is_a_service_of_fixed_size() -> None:
    """Floor and ceiling at the pods there are: the same paths as without an autoscaler."""
    experiment = step(2.5, watch_s=400.0, service=KIT)
    fixed = fluid_trace(experiment)
    pinned = fluid_trace(experiment, fleet=Fleet(("cpu",), autoscaler=Autoscaler(4, 4)))
    for name in ("ingress_per_s", "backlog", "wait_s", "goodput_per_s"):
        assert getattr(pinned, name) == pytest.approx(getattr(fixed, name), rel=1e-9)


def test_an_outage_does_not_stop_the_autoscaler() -> None:
    """With work and no capacity the pods count as busy, with neither as idle."""
    phases = (Phase("before", BEFORE), Phase("outage", 60.0, 1.0, 0.0), Phase("after", 600.0))
    experiment = Experiment("x", "", Client(10.0, 1), Demand(500.0, phases), Service(10, 100.0))
    trace = fluid_trace(experiment, fleet=specimen("cpu"))
    assert trace.pods.max() > 10
    assert last_late_s(trace) is not None
    assert math.isfinite(trace.goodput_per_s.sum())
