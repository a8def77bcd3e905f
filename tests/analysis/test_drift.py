"""Trapped needs positive evidence: the rule, its error rate on exact queues, and its power."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from analysis.drift import Drift, Estimate, drift_of
from analysis.estimators import measure
from analysis.result import Measurement
from analysis.simulation.bands import simulate_bands
from analysis.spread import failing_variance_per_s
from analysis.trace import attempts_of
from analysis.verdict import judge
from domain.backoff import FixedBackoff
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.service_time import ServiceTime
from tests.analysis.fifo import kit, simulate


def measured(experiment: Experiment) -> Measurement:
    simulated = simulate(
        experiment, until_s=experiment.live().watch[1] + 2 * experiment.live().client.timeout_s
    )
    attempts = attempts_of(simulated.attempts)
    findings = measure(attempts, simulated.server, experiment)
    return judge(attempts, simulated.server, experiment, findings)


def small_demo(seed: int) -> Experiment:
    """Only 12 settled seconds at Aρ = 1.35."""
    phases = (Phase("baseline", 8.0), Phase("spike", 3.0, 4.0), Phase("watch", 15.0))
    return Experiment(
        "d", "D", Client(1.0, 3), Demand(72.0, phases), Service(4, 40.0), RunSettings(1.0, seed)
    )


@pytest.mark.parametrize(
    ("make", "seeds"),
    [
        (lambda seed: kit(0.30, watch_s=500, speedup=50, seed=seed), 40),
        (lambda seed: kit(0.33, watch_s=600, speedup=10, seed=seed), 12),
    ],
    ids=["0.90", "0.99"],
)
def test_below_the_threshold_hardly_any_run_is_called_trapped(
    make: Callable[[int], Experiment], seeds: int
) -> None:
    """At most one in twenty by chance, and here less; a one-sigma rule calls 6 of 40 and 26 of 40 so."""
    outcomes = [measured(make(seed)).outcome for seed in range(1, seeds + 1)]
    assert outcomes.count("trapped") <= 1
    assert outcomes.count("undecided") >= seeds - 1


@pytest.mark.parametrize(
    "make",
    [
        lambda seed: kit(0.4, watch_s=600, seed=seed),
        lambda seed: kit(0.35, watch_s=2400, seed=seed),
        small_demo,
    ],
    ids=["1.20", "1.05", "demo"],
)
def test_above_the_threshold_a_long_enough_watch_tells(make: Callable[[int], Experiment]) -> None:
    """The power that the built-in scenarios need."""
    assert {measured(make(seed)).outcome for seed in range(1, 7)} == {"trapped"}


@pytest.mark.parametrize(
    ("service_time", "most"),
    [
        (ServiceTime("deterministic"), 11),
        (ServiceTime("hyperexponential", 3.0), 7),
        (ServiceTime("lognormal", 3.0), 7),
        (ServiceTime("pareto", 1.5), 12),
    ],
    ids=str,
)
def test_scattering_services_at_the_very_edge_are_seldom_called_trapped(
    service_time: ServiceTime, most: int
) -> None:
    """Of 120 seeds at Aρ = 1; errors for exponential services call 12, 13 and 26 of the last three so."""
    edge = kit(1 / 3, watch_s=1200)
    assert edge.service is not None
    edge = replace(edge, service=replace(edge.service, service_time=service_time))
    assert simulate_bands(edge, range(1, 121)).outcomes.get("trapped", 0) <= most


def test_both_errors_follow_the_spread_of_the_service() -> None:
    """The same run, told that its services vary three times as much: A²λ/C² + c²/C and 1/jobs + c²/n."""
    plain = kit(0.4, watch_s=600)
    assert plain.service is not None
    spread = replace(plain, service=replace(plain.service, service_time=ServiceTime("hyperexponential", 3.0)))
    errors = []
    for experiment in (plain, spread):
        simulated = simulate(plain)
        attempts = attempts_of(simulated.attempts)
        findings = measure(attempts, simulated.server, experiment)
        drift = drift_of(attempts, simulated.server, findings, findings.watch.start_s, findings.watch.end_s)
        assert drift.slope is not None
        assert drift.amplified_utilization is not None
        errors.append((drift.slope.error, drift.amplified_utilization.error))
        completed = findings.samples["capacity_per_s"]
        jobs = findings.samples["ingress_per_s"] / 3
        squared = 1.0 if experiment is plain else 9.0
        ratio = drift.amplified_utilization.value
        assert drift.amplified_utilization.error == pytest.approx(
            ratio * math.sqrt(1 / jobs + squared / completed)
        )
    # A²λ = 9·64 = 576, C = 160: (576 + 9·160)/(576 + 160), as far as λ is what it should be.
    assert (errors[1][0] / errors[0][0]) ** 2 == pytest.approx(2016 / 736, rel=0.05)


@pytest.mark.parametrize(
    ("value", "error", "direction"),
    [
        (0.20, 0.05, "grows"),
        (0.08, 0.05, "unclear"),
        (0.0, 0.0, "grows"),
        (-0.08, 0.05, "unclear"),
        (-0.20, 0.05, "drains"),
    ],
)
def test_direction_needs_1_645_standard_errors(value: float, error: float, direction: str) -> None:
    """One-sided 95% on either side, from whichever estimate there is; an exact 0 does not drain."""
    assert Drift(None, Estimate(value, error), 5.0, True).direction == direction
    assert Drift(Estimate(1 + value, error), None, 5.0, True).direction == direction


def test_both_estimates_count_alike_with_the_larger_error() -> None:
    """Mean of the two, 0.10, and the error of the less certain one, 0.07: not enough."""
    drift = Drift(Estimate(1.15, 0.03), Estimate(0.05, 0.07), 5.0, True)
    assert drift.mean == Estimate(pytest.approx(0.10), 0.07)  # type: ignore[arg-type]
    assert drift.direction == "unclear"


def test_evidence_says_what_would_settle_it() -> None:
    """How much longer to watch, and how long a draining failure lasts in scenario time."""
    said = Drift(Estimate(0.96, 0.04), None, 2.0, True).sentences(scale=10)
    assert said[0] == "Measured ingress is 0.960 ± 0.040 of measured capacity."
    assert said[1].endswith("whether the backlog drains; a watch 11 times as long would.")
    assert said[2] == "At this rate it fails for about 500 s more."
    exact = Drift(Estimate(1.0, 0.04), None, 2.0, True).sentences(scale=10)
    assert exact[1].endswith("whether the backlog drains.")


def test_nothing_settled_is_no_evidence() -> None:
    """The trigger's own retries, spread out by a backoff, still arrive: undecided, not trapped."""
    experiment = kit(0.4, watch_s=120)
    slow = Experiment(
        "slow",
        "",
        Client(10.0, 3, FixedBackoff(50.0)),
        experiment.demand,
        experiment.service,
        experiment.run,
    )
    judged = measured(slow)
    assert judged.outcome == "undecided"
    assert any("trigger's own retries" in sentence for sentence in judged.evidence)


def test_a_deadline_bounds_the_attempts_of_an_endless_client() -> None:
    """Nine attempts a job scatter nine times as far as one; A²λ counts them all."""
    bounded, endless = (
        failing_variance_per_s(
            with_client(deadline_s=deadline_s),
            arrival_rate_per_s=64.0,
            capacity_per_s=160.0,
            squared_variation=1.0,
        )
        for deadline_s in (85.0, math.inf)
    )
    assert bounded == pytest.approx(81 * 64 + 160)
    assert endless == pytest.approx(64 + 160)


def with_client(*, deadline_s: float) -> Experiment:
    """The kit's clients, T = 10 s, without end but for a deadline of the job."""
    experiment = kit(0.4, max_attempts=math.inf)
    return replace(experiment, client=replace(experiment.client, deadline_s=deadline_s))
