"""The experiment's derived values, its speed-up, its JSON, and what a plan needs of the machine."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from domain.admission import Admission
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.ratio import RatioBudget
from domain.codel import CoDel
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service
from domain.fleet import specimen
from domain.guard import fault_in_target
from domain.hedging import Hedging
from domain.limits.vegas import VegasLimit
from domain.sockets import SocketLimits, faults_in_need, worst_need
from domain.streams import stream

F2_40 = Experiment(
    "f2-40",
    "a trap",
    Client(10.0, 3),
    Demand(64.0, (Phase("baseline", 100), Phase("spike", 300, 5), Phase("watch", 1200))),
    Service(4, 40.0),
    RunSettings(10.0, 7),
    Expectation("trapped", source="somewhere"),
)


def test_derived_values() -> None:
    """ρ = 64/160 = .4, Aρ = 1.2, C·T = 1,600, and the windows follow the phases."""
    assert F2_40.utilization == pytest.approx(0.4)
    assert F2_40.amplified_utilization == pytest.approx(1.2)
    assert F2_40.timeout_slack == pytest.approx(1600)
    assert F2_40.trigger == (100, 400)
    assert F2_40.watch == (400, 1600)
    assert F2_40.shed is None


def test_the_watch_ends_where_shedding_begins() -> None:
    """Phases below the normal load are an intervention, not part of what is judged."""
    phases = (
        Phase("a", 10),
        Phase("cut", 5, capacity_factor=0.0),
        Phase("w", 20),
        Phase("s", 7, 0.2),
        Phase("r", 3),
    )
    experiment = replace(F2_40, demand=replace(F2_40.demand, phases=phases))
    assert experiment.trigger == (10, 15)
    assert experiment.watch == (15, 35)
    assert experiment.shed == (35, 45)


def test_a_step_that_stays_is_a_trigger_where_a_fleet_can_answer_it() -> None:
    """It triggers at once, and all that follows is watched; any further step belongs to it."""
    phases = (Phase("baseline", 100), Phase("step", 50, 2), Phase("further", 300, 5))
    stepped = replace(F2_40, demand=replace(F2_40.demand, phases=phases), fleet=specimen("first"))
    assert stepped.step_s == 100
    assert stepped.trigger == (100, 100)
    assert stepped.watch == (100, 450)
    assert stepped.watched_rate_per_s == 320
    assert stepped.shed is None
    fixed = replace(stepped, fleet=None)
    assert (fixed.step_s, fixed.trigger, fixed.watched_rate_per_s) == (None, (100, 450), 64)


def test_a_spike_is_no_step() -> None:
    """What comes back to normal is judged after it, with a fleet as without."""
    spiked = replace(F2_40, fleet=specimen("first"))
    assert spiked.step_s is None
    assert (spiked.trigger, spiked.watch) == (F2_40.trigger, F2_40.watch)
    assert spiked.watched_rate_per_s == 64


def test_a_fleet_runs_in_live_seconds_too() -> None:
    """Its dead time, periods and windows are divided; its target and its sizes are not."""
    fleet = specimen("first", "cpu", max_pods=50)
    live = replace(F2_40, fleet=fleet).live().fleet
    assert live == fleet.scaled(0.1)
    assert live is not None
    assert (live.dead_time_s, live.sync_period_s, live.rate_window_s) == pytest.approx((9, 1.5, 6))
    assert (live.target_utilization, live.autoscaler.max_pods) == (0.5, 50)


def test_without_a_trigger_everything_normal_is_watched() -> None:
    """A steady run is judged from its start."""
    experiment = replace(F2_40, demand=replace(F2_40.demand, phases=(Phase("steady", 50),)))
    assert experiment.trigger is None
    assert experiment.watch == (0, 50)


def test_the_speed_up_divides_durations_and_leaves_rates() -> None:
    """θ·pods shrinks by the speed-up, ρ does not move."""
    live = F2_40.live()
    assert live.client.timeout_s == pytest.approx(1.0)
    assert live.duration_s == pytest.approx(160)
    assert live.demand.arrival_rate_per_s == 64.0
    assert live.timeout_slack == pytest.approx(160)
    assert live.live() == live


def test_socket_need_is_rate_times_timeout() -> None:
    """320 jobs/s × 3 attempts × 1 s = 960 open at once, at the live timeout."""
    need = worst_need(F2_40)
    assert need is not None
    assert need.attempts_per_s == pytest.approx(960)
    assert need.open_attempts == pytest.approx(960)
    assert faults_in_need(need, SocketLimits(20_000, 28_000, 1.0)) == []


def test_copies_of_a_hedged_job_are_counted() -> None:
    """A hundred copies at once are a hundred attempts, whatever max_attempts says."""
    client = replace(F2_40.client, hedging=Hedging(100, 0.0))
    need = worst_need(replace(F2_40, client=client))
    assert need is not None
    assert need.attempts_per_s == pytest.approx(32_000)


def test_too_few_descriptors_or_ports_are_told_with_the_arithmetic() -> None:
    """At real speed the same plan holds 9,600 sockets and, with ports that rest a minute, needs 67,200."""
    need = worst_need(F2_40.with_run(speedup=1.0))
    assert need is not None
    faults = faults_in_need(need, SocketLimits(1024, 28_232, 60.0))
    assert [f.field for f in faults] == ["file descriptors", "local ports"]
    assert "320 jobs/s × 3 attempts = 960 attempts/s" in faults[0].rule
    assert faults[1].value == 67_200


def test_workers_share_the_descriptors() -> None:
    """What one process cannot hold, twelve can."""
    need = worst_need(F2_40.with_run(speedup=1.0), workers=12)
    assert need is not None
    assert faults_in_need(need, SocketLimits(1024, 100_000, 1.0)) == []


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1"])
def test_loopback_may_be_loaded(address: str) -> None:
    """All of 127.0.0.0/8 and ::1."""
    assert fault_in_target("localhost", address) is None


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "0.0.0.0", "2001:db8::1"])
def test_other_addresses_need_to_be_named(address: str) -> None:
    """The address is judged, and only naming the host or the address lifts it."""
    fault = fault_in_target("localhost.example", address)
    assert fault is not None
    assert address in str(fault)
    assert fault_in_target("localhost.example", address, ["localhost.example"]) is None
    assert fault_in_target("localhost.example", address, [address]) is None
    assert fault_in_target("localhost.example", address, ["example"]) is not None


def test_streams_are_reproducible_and_apart() -> None:
    """The same purpose gives the same draws; another purpose, worker or seed gives others."""
    draws = {
        tuple(stream(seed, purpose, worker).random(3))  # type: ignore[arg-type]
        for seed in (1, 2)
        for purpose in ("arrivals", "service", "jitter")
        for worker in (0, 1)
    }
    assert len(draws) == 12
    assert stream(1, "jitter").random() == stream(1, "jitter").random()


@pytest.mark.parametrize(
    ("change", "defended"),
    [
        ({}, False),
        ({"preset": "naive-3"}, False),
        ({"propagate": "none"}, False),
        ({"budget": RatioBudget()}, True),
        ({"breaker": CircuitBreaker()}, True),
        ({"deadline_s": 20.0}, True),
        ({"hedging": Hedging()}, True),
        ({"honours_retry_after": True}, True),
    ],
)
def test_a_client_is_defended_by_more_than_attempts_and_a_backoff(
    change: dict[str, Any], defended: bool
) -> None:
    """Words and notations are no defence."""
    experiment = replace(F2_40, client=replace(F2_40.client, **change))
    assert experiment.is_defended is defended
    assert replace(experiment, service=None).is_defended is defended


def test_giving_up_on_rejections_matters_where_some_may_come() -> None:
    """A service of ours without defences rejects nothing; of somebody else's that is not known."""
    resigned = replace(F2_40, client=replace(F2_40.client, on_rejection="give-up"))
    assert not resigned.is_defended
    assert replace(resigned, service=None).is_defended
    assert replace(F2_40, service=Service(4, 40.0, admission=Admission(queue_cap=80))).is_defended


@pytest.mark.parametrize(
    ("settings", "rejects"),
    [
        ({}, False),
        ({"drop_expired": True}, False),
        ({"cancel_on_disconnect": True}, False),
        ({"error_rate": 0.5}, False),
        ({"queue_cap": 0}, True),
        ({"limit": VegasLimit()}, True),
        ({"codel": CoDel()}, True),
        ({"drop_expired": True, "least_s": 1.0}, True),
    ],
)
def test_who_may_be_told_no_before_the_time_is_over(settings: dict[str, Any], rejects: bool) -> None:
    """What is dropped when it has expired has nobody left to tell; an error takes the service's time."""
    assert Admission(**settings).may_reject is rejects


@pytest.mark.parametrize(("settings", "field"), [({"speedup": math.inf}, "speedup"), ({"seed": -1}, "seed")])
def test_a_run_needs_a_finite_speed_and_a_seed(settings: dict[str, Any], field: str) -> None:
    with pytest.raises(ValueError, match=field):
        RunSettings(**settings)
