"""Predictions of autoscaled fleets: seed 002's kit by the fluid model, and what chance does to it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.chance import with_bands
from analysis.fleets.advice import advice
from analysis.fleets.figures import FLEET_QUANTITIES, pods_needed
from analysis.fluid import fluid_trace, last_late_s
from analysis.prediction import predict
from analysis.seeds import can_be_simulated
from analysis.simulation.bands import simulate_bands
from domain.budgets.ratio import RatioBudget
from domain.experiment import Phase
from tests.analysis.fifo import kit
from tests.analysis.fleet_runs import stepped

FLUID = {"rel": 0.005}


def test_first_attempts_stay_trapped_at_the_pods_they_need() -> None:
    prediction = predict(stepped("first"))
    values = prediction.values
    assert prediction.outcome == "trapped"
    assert (values["peak_pods"], values["settled_pods"], values["over_provisioning"]) == (20, 20, 1.0)
    assert values["amplified_utilization"] == pytest.approx(1.5)
    assert (values["demand_per_s"], values["ingress_per_s"]) == (400, 1200)
    assert values["recovery_s"] is None
    assert values["lost_s"] == pytest.approx(900 * 0.9926, **FLUID)


@pytest.mark.parametrize("signals", [("ingress",), ("first", "ingress")])
def test_ingress_climbs_to_the_ceiling_and_recovers(signals: tuple[str, ...]) -> None:
    """The last late attempt 265 s after the step; 50 pods, then 20; 42,370 pod-seconds in 1,500 s."""
    prediction = predict(stepped(*signals, step_s=1500.0))  # type: ignore[arg-type]
    values = prediction.values
    assert prediction.outcome == "recovered"
    assert values["recovery_s"] == pytest.approx(265, **FLUID)
    assert (values["peak_pods"], values["settled_pods"], values["over_provisioning"]) == (50, 20, 2.5)
    assert values["capacity_met_s"] == pytest.approx(110, abs=0.5)
    assert values["lost_s"] == pytest.approx(238.2, **FLUID)
    assert values["pod_seconds"] == pytest.approx(42_370, **FLUID)
    assert values["ingress_per_s"] == 400
    assert prediction.recovery_sd_s is None, "the diffusion's capacity is constant"


def test_cpu_recovers_later_and_dearer() -> None:
    values = predict(stepped("cpu", step_s=1500.0)).values
    assert values["recovery_s"] == pytest.approx(764, **FLUID)
    assert (values["peak_pods"], values["settled_pods"]) == (50, 20)
    assert values["pod_seconds"] == pytest.approx(47_230, **FLUID)


def test_a_fleet_that_is_still_growing_is_not_trapped() -> None:
    """At the end of this watch Aρ is 1.9, but more pods are on their way."""
    prediction = predict(stepped("cpu", step_s=300.0))
    assert prediction.outcome == "undecided"
    assert prediction.values["amplified_utilization"] > 1
    assert prediction.values["recovery_s"] == pytest.approx(764, **FLUID)
    assert "after the step" in prediction.notes[0]


@pytest.mark.parametrize(("target", "recovery_s"), [(0.85, 2437), (0.95, 5053)])
def test_a_fleet_that_grows_by_a_pod_at_a_time_is_not_trapped(target: float, recovery_s: float) -> None:
    """However short the watch, what becomes of it is what a long one shows."""
    kit = stepped("cpu")
    assert kit.fleet is not None
    slow = replace(kit, fleet=replace(kit.fleet, target_utilization=target))
    for step_s in (120.0, 900.0):
        phases = (Phase("baseline", 100.0), Phase("step", step_s, 5.0))
        prediction = predict(replace(slow, demand=replace(slow.demand, phases=phases)))
        assert prediction.outcome == "undecided"
        assert prediction.values["recovery_s"] == pytest.approx(recovery_s, abs=5)


def test_a_ceiling_too_low_traps_ingress_too() -> None:
    assert predict(stepped("ingress", max_pods=30)).outcome == "trapped"
    assert predict(stepped("ingress", max_pods=32, step_s=3000.0)).outcome == "recovered"


def test_without_a_fleet_nothing_is_said_of_pods() -> None:
    values = predict(kit(0.4)).values
    assert all(values[key] is None for key in FLEET_QUANTITIES)


def test_a_spike_that_ends_has_no_step_to_count_from() -> None:
    experiment = stepped("ingress")
    spike = (Phase("baseline", 100.0), Phase("spike", 60.0, 5.0), Phase("watch", 600.0))
    values = predict(replace(experiment, demand=replace(experiment.demand, phases=spike))).values
    assert values["peak_pods"] is not None
    assert values["capacity_met_s"] is values["over_provisioning"] is values["lost_s"] is None


def test_pods_needed_are_whole() -> None:
    assert pods_needed(stepped("first")) == 20
    experiment = stepped("first")
    assert pods_needed(replace(experiment, demand=replace(experiment.demand, arrival_rate_per_s=81.0))) == 21
    with pytest.raises(ValueError, match="must be known"):
        pods_needed(kit(0.4))


def test_what_neither_fluid_nor_simulation_knows() -> None:
    experiment = stepped("first")
    assert experiment.service is not None
    routed = replace(experiment, service=replace(experiment.service, routing="random"))
    assert not can_be_simulated(routed)
    assert any("queue for each (random)" in note for note in predict(routed).notes)
    defended = replace(experiment, client=replace(experiment.client, deadline_s=60.0))
    prediction = predict(defended)
    assert not can_be_simulated(defended)
    assert (prediction.outcome, prediction.fluid, prediction.simulated) == (None, None, False)
    assert "beyond the fluid model" in prediction.notes[0]


def test_a_ratio_budget_is_predicted_by_seeds() -> None:
    """Seed 002: with β = .2 a scaler of first attempts gets out, for A is 1.2 and u* below 1/1.2."""
    experiment = stepped("first")
    budgeted = replace(experiment, client=replace(experiment.client, budget=RatioBudget(0.2)))
    before = predict(budgeted)
    assert (before.outcome, before.simulated) == (None, True)
    prediction = with_bands(before, simulate_bands(budgeted, range(1, 11)))
    assert prediction.outcome == "recovered"
    assert prediction.values["peak_pods"] == pytest.approx(21, abs=1)
    fluid_s = last_late_s(fluid_trace(experiment, retry_budget=0.2))
    assert fluid_s is not None
    assert prediction.values["recovery_s"] == pytest.approx(fluid_s - 100.0, rel=0.1)
    assert "First attempts alone get out" in " ".join(advice(budgeted))


@pytest.mark.parametrize(
    ("signal", "outcome", "peak"), [("first", "trapped", 21), ("ingress", "recovered", 50)]
)
def test_chance_moves_a_fleet_by_a_pod_or_two(signal: str, outcome: str, peak: float) -> None:
    """Without tolerance the autoscaler follows every peak of chance arrivals: 20 to 22 pods."""
    experiment = stepped(signal)  # type: ignore[arg-type]
    bands = simulate_bands(experiment, range(1, 11))
    assert bands.outcomes == {outcome: 10}
    assert bands.values["peak_pods"].median == pytest.approx(peak, abs=1)
    assert 20 <= bands.values["settled_pods"].low <= bands.values["settled_pods"].high <= 23
    prediction = with_bands(predict(experiment), bands)
    assert prediction.values["settled_pods"] == 20
    assert bands.values["lost_s"].median == pytest.approx(prediction.values["lost_s"], rel=0.03)
    if outcome == "recovered":
        assert bands.values["recovery_s"].median == pytest.approx(265, rel=0.05)
    assert bands.rates is not None
    assert bands.rates.capacity_per_s[0] == 160
    assert bands.rates.capacity_per_s[-1] == pytest.approx(800, rel=0.15)


def test_speed_divides_every_duration() -> None:
    """Twice as fast, with as many requests a second: the same fleet in scenario time, but for chance."""
    slow, fast = (simulate_bands(stepped("ingress", speedup=s), [1, 2]) for s in (10.0, 20.0))
    for key in ("recovery_s", "peak_pods", "lost_s"):
        assert slow.values[key].median == pytest.approx(fast.values[key].median, rel=0.12)
