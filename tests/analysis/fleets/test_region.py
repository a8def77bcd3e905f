"""Definition 9's region, and the advice that the corollaries give."""

from __future__ import annotations

import math
from dataclasses import replace

from analysis.fleets.advice import advice
from analysis.fleets.region import frontier, region_of
from domain.experiment import Demand, Phase, Service
from tests.analysis.fifo import kit
from tests.analysis.fleet_runs import stepped


def test_signals_of_the_kit() -> None:
    region = region_of(stepped("first"))
    assert region is not None
    points = {point.name: point for point in region.points}
    assert list(points) == ["first", "ingress", "cpu", "first + ingress"]
    assert [point.name for point in region.points if point.own] == ["first"]
    assert [point.name for point in region.points if point.is_trapped] == ["first"]
    assert points["cpu"].over_provisioning == points["ingress"].over_provisioning == 2.5
    assert points["cpu"].lost_s > 3 * points["ingress"].lost_s
    assert [point.name for point in frontier(region.points)] == ["first", "ingress", "first + ingress"]


def test_all_are_watched_until_each_has_ended() -> None:
    """After 500 s CPU has not recovered yet: all are watched for twice as long."""
    region = region_of(stepped("first", step_s=500.0))
    assert region is not None
    assert region.watched_s == 1000.0
    assert {point.outcome for point in region.points} == {"trapped", "recovered"}


def test_other_signals_of_ones_own_come_first() -> None:
    region = region_of(stepped("cpu", "ingress"))
    assert region is not None
    assert region.points[0].name == "cpu + ingress"
    assert region.points[0].own
    assert len(region.points) == 5


def test_no_region_without_a_step_that_stays() -> None:
    assert region_of(kit(0.4)) is None
    assert region_of(replace(kit(0.4), fleet=stepped("first").fleet)) is None


def test_advice_for_first_attempts() -> None:
    words = " ".join(advice(stepped("first")))
    for said in (
        "N* = λ/(u*·μ) = 20 pods",
        "Aλ/μ = 30",
        "1/A = 33.3%",
        "Corollary 4",
        "60 pods",
        "ceiling of 50",
    ):
        assert said in words
    experiment = stepped("first")
    assert experiment.fleet is not None
    low = replace(experiment, fleet=replace(experiment.fleet, target_utilization=0.3))
    assert "First attempts alone get out" in " ".join(advice(low))


def test_advice_for_signals_with_the_retries_in_them() -> None:
    assert "Aλ/(u*·μ) = 60 pods (Corollary 5); the ceiling of 50 is enough" in " ".join(
        advice(stepped("ingress"))
    )
    assert "largest proposal wins" in " ".join(advice(stepped("first", "ingress")))
    assert "multiplies the fleet by at most ℓ/(r·u*) = 2" in " ".join(advice(stepped("cpu")))
    assert "stays trapped all the same" in " ".join(advice(stepped("ingress", max_pods=30)))


def test_advice_where_whole_pods_are_more_than_the_target_asks_for() -> None:
    """One pod of 40/s has room for all three attempts of 4 jobs/s, whatever u* ≥ 1/A says."""
    demand = Demand(4.0, (Phase("baseline", 100.0), Phase("spike", 100.0, 20.0), Phase("watch", 900.0)))
    experiment = replace(stepped("first"), demand=demand, service=Service(1, 40.0))
    words = " ".join(advice(experiment))
    assert "need N* = λ/(u*·μ) = 1 pod at the target" in words
    assert "get out though" in words
    assert "stay trapped" not in words
    assert experiment.fleet is not None
    floor = replace(experiment.fleet.autoscaler, min_pods=7)
    high = replace(
        experiment,
        fleet=replace(experiment.fleet, autoscaler=floor),
        service=Service(8, 40.0),
        demand=replace(demand, arrival_rate_per_s=80.0),
    )
    assert "never has fewer than 7 pods, which is more than Aλ/μ (its floor)" in " ".join(advice(high))


def test_advice_after_a_spike_does_not_promise_a_trap() -> None:
    """The pods that the spike was given may drain it all before they are given up."""
    spike = (Phase("baseline", 100.0), Phase("spike", 200.0, 5.0), Phase("watch", 900.0))
    words = " ".join(advice(replace(stepped("first"), demand=Demand(80.0, spike))))
    assert "would stay trapped if it still fails once the pods of the trigger are given up" in words


def test_advice_for_cpu_that_can_never_pass_its_target() -> None:
    experiment = stepped("cpu")
    assert experiment.fleet is not None
    deaf = replace(experiment, fleet=replace(experiment.fleet, target_utilization=0.95, tolerance=0.1))
    words = " ".join(advice(deaf))
    assert "CPU never asks for more pods" in words
    assert "gets out" not in words


def test_advice_for_endless_clients_and_for_no_fleet() -> None:
    experiment = stepped("ingress")
    endless = replace(experiment, client=replace(experiment.client, max_attempts=math.inf))
    assert "bound the attempts first" in " ".join(advice(endless))
    assert advice(kit(0.4)) == []
