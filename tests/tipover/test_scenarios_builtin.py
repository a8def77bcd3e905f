"""The built-in scenarios: that they load, and that their arithmetic says what they expect."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import pytest

from domain.budgets.ratio import RatioBudget
from domain.experiment import Experiment
from domain.experiment_json import from_json, to_json
from domain.fleet import specimen
from tipover.scenario import builtin_names, builtin_scenarios, load_scenario

SCENARIOS = {scenario.name: scenario for scenario in builtin_scenarios()}


def capacity(experiment: Experiment) -> float:
    """C of a scenario that has a service."""
    assert experiment.service is not None
    return experiment.service.capacity_per_s


def spike(experiment: Experiment) -> tuple[float, float]:
    """k and Δ of the one trigger."""
    [phase] = [p for p in experiment.demand.phases if p.role == "trigger"]
    return phase.factor, phase.duration_s


def proposition_7(experiment: Experiment) -> float:
    """T_rec = (Akρ−1)(Δ−t0)/(1−Aρ) + T/(1−ρ), t0 = T/(kρ−1)."""
    (factor, length), timeout = spike(experiment), experiment.client.timeout_s
    rho = experiment.demand.arrival_rate_per_s / capacity(experiment)
    amplified = experiment.client.amplification * rho
    ramp = timeout / (factor * rho - 1)
    return (amplified * factor - 1) * (length - ramp) / (1 - amplified) + timeout / (1 - rho)


def test_the_names() -> None:
    """These are the scenarios the documentation speaks of."""
    assert builtin_names() == (
        "demo",
        "edge-trigger",
        "f1",
        "f2-30",
        "f2-40",
        "f2-40-backoff",
        "f2-40-budget",
        "f2-40-cancel",
        "f2-40-cap",
        "f2-40-drop-expired",
        "f3-cpu",
        "f3-first",
        "f3-ingress",
        "f4-paired",
        "no-trigger",
        "outage",
        "patient-recovery",
    )


@pytest.mark.parametrize("name", builtin_names())
def test_each_says_what_it_expects_and_from_where(name: str) -> None:
    """A built-in scenario has a one-line title, an expectation with its source, and short phase names."""
    scenario = SCENARIOS[name]
    assert scenario.title != name
    assert len(scenario.title) <= 72
    assert scenario.expect is not None
    assert scenario.expect.source
    assert max(len(phase.name) for phase in scenario.demand.phases) <= 15
    assert load_scenario(name, need_service=True) == scenario
    assert from_json(json.loads(json.dumps(to_json(scenario)))) == scenario


@pytest.mark.parametrize(
    ("name", "rho", "amplified", "minutes"),
    [
        ("demo", 0.45, 1.35, 61 / 60),
        ("edge-trigger", 0.25, 0.75, 220 / 60),
        ("f1", 0.5, 1.5, 2),
        ("f2-30", 0.3, 0.9, 248 / 60),
        ("f2-40", 0.4, 1.2, 160 / 60),
        ("no-trigger", 0.2, 0.6, 100 / 60),
        ("outage", 280 / 300, 560 / 300, 265 / 60),
        ("patient-recovery", 1 / 6, 0.5, 3),
    ],
)
def test_utilization_and_length(name: str, rho: float, amplified: float, minutes: float) -> None:
    """ρ, Aρ and the minutes a run takes; Aρ ≥ 1 exactly where a trap is expected or waiting."""
    scenario = SCENARIOS[name]
    assert scenario.utilization == pytest.approx(rho)
    assert scenario.amplified_utilization == pytest.approx(amplified)
    assert scenario.duration_s / scenario.run.speedup / 60 == pytest.approx(minutes)
    assert scenario.expect is not None
    assert (amplified >= 1) == (scenario.expect.outcome == "trapped" or name == "f1")
    live = scenario.live()
    assert live.timeout_slack is not None
    assert live.timeout_slack >= 20


MITIGATED = {
    "f2-40-backoff": ("client", "backoff"),
    "f2-40-budget": ("client", "budget"),
    "f2-40-cancel": ("service", "admission"),
    "f2-40-cap": ("service", "admission"),
    "f2-40-drop-expired": ("service", "admission"),
}


@pytest.mark.parametrize("name", MITIGATED)
def test_a_mitigation_is_the_only_difference_from_f2_40(name: str) -> None:
    """The same storm, the same client, the same service, but for one thing."""
    scenario, plain = SCENARIOS[name], SCENARIOS["f2-40"]
    part, field = MITIGATED[name]
    mine, theirs = getattr(scenario, part), getattr(plain, part)
    assert getattr(mine, field) != getattr(theirs, field)
    assert replace(mine, **{field: getattr(theirs, field)}) == theirs
    assert replace(scenario, **{part: theirs}, name="f2-40", title=plain.title, expect=plain.expect) == plain


def test_a_budget_of_a_tenth_recovers_as_proposition_7_says_with_its_own_amplification() -> None:
    """A = 1 + β."""
    scenario = SCENARIOS["f2-40-budget"]
    assert isinstance(scenario.client.budget, RatioBudget)
    (factor, length), timeout = spike(scenario), scenario.client.timeout_s
    rho, amplification = 0.4, 1 + scenario.client.budget.ratio
    seconds = (amplification * factor * rho - 1) * (length - timeout / (factor * rho - 1))
    seconds = seconds / (1 - amplification * rho) + timeout / (1 - rho)
    assert scenario.expect is not None
    assert scenario.expect.recover_s == pytest.approx(seconds, rel=0.01)


def test_the_capped_queue_is_over_before_the_timeout() -> None:
    """L/C in seconds of the wall clock, as the scenario runs."""
    live = SCENARIOS["f2-40-cap"].live()
    assert live.service is not None
    assert live.service.admission.queue_cap == 80
    assert 80 / live.service.capacity_per_s == pytest.approx(live.client.timeout_s / 2)


def test_what_is_too_late_to_serve_is_dropped_too() -> None:
    """The least time left is four mean service times at the speed of the run."""
    live = SCENARIOS["f2-40-drop-expired"].live()
    assert live.service is not None
    assert live.service.admission.least_s * live.service.rate_per_pod == pytest.approx(4)


@pytest.mark.parametrize("name", ["demo", "edge-trigger", "f2-30", "f2-40", "patient-recovery"])
def test_the_spikes_are_triggers(name: str) -> None:
    """(kρ−1)Δ > T with room to spare."""
    scenario = SCENARIOS[name]
    factor, length = spike(scenario)
    assert scenario.utilization is not None
    assert (factor * scenario.utilization - 1) * length > 2 * scenario.client.timeout_s


@pytest.mark.parametrize("name", ["edge-trigger", "f2-30", "patient-recovery"])
def test_recovery_is_within_two_percent_of_proposition_7_and_inside_the_watch(name: str) -> None:
    """The expected recovery time is the law's, and the watch outlasts it with its tolerance."""
    scenario = SCENARIOS[name]
    expect = scenario.expect
    assert expect is not None
    assert expect.recover_s is not None
    assert expect.recover_s == pytest.approx(proposition_7(scenario), rel=0.02)
    start, end = scenario.watch
    assert end - start > expect.recover_s * (1 + expect.tolerance)


def test_f1_has_no_trigger() -> None:
    """One steady phase, judged whole."""
    assert SCENARIOS["f1"].trigger is None
    assert SCENARIOS["f1"].watch == (0.0, 1200.0)


def test_no_trigger_stays_four_deviations_below_the_timeout() -> None:
    """kρ = 1 and sqrt(2·C·Δ)/C, at the speed of the run, is far below T."""
    scenario = SCENARIOS["no-trigger"]
    factor, length = spike(scenario.live())
    assert scenario.utilization is not None
    assert factor * scenario.utilization == pytest.approx(1.0)
    deviation = math.sqrt(2 * capacity(scenario) * length) / capacity(scenario)
    assert scenario.live().client.timeout_s > 4 * deviation


def test_the_outage_drains_with_a_margin() -> None:
    """Backlog by hand: the first second once, then twice 280/s; it drains below 150/s, with 20% to spare."""
    scenario = SCENARIOS["outage"]
    _, outage, watch, above, below, _ = scenario.demand.phases
    rate, attempts, ceiling = scenario.demand.arrival_rate_per_s, 2, capacity(scenario)
    backlog = rate + (outage.duration_s - 1) * attempts * rate
    backlog += watch.duration_s * (attempts * rate - ceiling)
    backlog += above.duration_s * (attempts * rate * above.factor - ceiling)
    assert backlog == pytest.approx(13_520)
    assert ceiling / attempts < rate * above.factor == pytest.approx(160)
    assert ceiling / attempts > rate * below.factor == pytest.approx(100)
    late_retries = rate - rate * below.factor  # of the 280/s and then of the 160/s, a second of each
    drain_s = (backlog + late_retries) / (ceiling - attempts * rate * below.factor)
    assert below.duration_s >= 1.19 * drain_s
    assert scenario.expect is not None
    assert scenario.expect.ingress_per_s == attempts * rate
    assert scenario.shed == (60.0, 265.0)


def test_the_demo_drains_with_a_margin() -> None:
    """The wait at the end of the watch, paid off at 1 − Aρ/5 and then 1 − ρ/5, fits the shed phase."""
    scenario = SCENARIOS["demo"]
    _, surge, watch, shed, _ = scenario.demand.phases
    rho, amplification, timeout = 0.45, 3, 1.0
    ramp = timeout / (surge.factor * rho - 1)
    wait = timeout + (amplification * surge.factor * rho - 1) * (surge.duration_s - ramp)
    wait += (amplification * rho - 1) * watch.duration_s
    late_retries = amplification * rho * (1 - shed.factor) * timeout
    drain_s = (wait + late_retries - timeout) / (1 - amplification * rho * shed.factor)
    drain_s += timeout / (1 - rho * shed.factor)
    assert shed.duration_s >= 1.2 * drain_s
    assert 45 <= scenario.duration_s <= 75


FLEETS = {
    "f3-first": (("first",), 60.0),
    "f3-ingress": (("ingress",), 100.0),
    "f3-cpu": (("cpu",), 130.0),
    "f4-paired": (("first", "ingress"), 100.0),
}


@pytest.mark.parametrize("name", FLEETS)
def test_the_fleets_differ_in_what_they_look_at(name: str) -> None:
    """The same service, client and step of demand that stays; the length is what each needs to be judged."""
    scenario, paired = SCENARIOS[name], SCENARIOS["f4-paired"]
    signals, takes_s = FLEETS[name]
    assert scenario.fleet == specimen(*signals, max_pods=50)
    assert (scenario.service, scenario.client) == (paired.service, paired.client)
    assert scenario.duration_s / scenario.run.speedup == takes_s
    assert scenario.step_s == 100.0
    assert scenario.watched_rate_per_s == 400.0
    assert scenario.utilization == 0.5
    live = scenario.live()
    assert live.timeout_slack == 160
    assert live.watch == (10.0, takes_s)


def test_a_fleet_for_the_demand_alone_cannot_serve_its_storm() -> None:
    """A·λ is above what the pods for λ at the target serve, and below what the ceiling does."""
    scenario = SCENARIOS["f3-first"]
    fleet, service = scenario.fleet, scenario.service
    assert fleet is not None
    assert service is not None
    pods = scenario.watched_rate_per_s / (fleet.target_utilization * service.rate_per_pod)
    storm_per_s = scenario.client.amplification * scenario.watched_rate_per_s
    assert pods * service.rate_per_pod < storm_per_s < fleet.autoscaler.max_pods * service.rate_per_pod
