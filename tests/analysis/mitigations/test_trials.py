"""The trials: what they ask of a service, and numbers that the laws know."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.mitigations.catalogue import CATALOGUE
from analysis.mitigations.trials import Numbers, error_key, overload_key, trials
from analysis.simulation.observed import observe
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service

SMALL = Experiment(
    name="small",
    title="small",
    client=Client(timeout_s=10.0, max_attempts=3),
    demand=Demand(32.0, (Phase("before", 50.0), Phase("spike", 50.0, 5.0), Phase("watch", 200.0))),
    service=Service(2, 40.0),
    run=RunSettings(10.0, 1),
)
TRIALS = {trial.name: trial for trial in trials()}


def numbers(name: str, mitigation: str) -> Numbers:
    """What a trial reads off one seed."""
    trial = TRIALS[name]
    made = trial.make(CATALOGUE[mitigation].apply(SMALL))
    return trial.read(observe(made), made)


@pytest.mark.parametrize("factor", [1.0, 2.0, 5.0])
def test_overload_is_of_first_attempts(factor: float) -> None:
    """They alone arrive at so many times the capacity, for as long as it lasts."""
    made = TRIALS[f"{factor:g}× overload"].make(SMALL)
    assert made.demand.arrival_rate_per_s == factor * 80.0
    assert {phase.factor for phase in made.demand.phases} == {1.0}
    assert made.trigger is None
    assert made.client == SMALL.client


def test_random_errors_are_the_only_change_to_the_service() -> None:
    """At the scenario's own demand, without its trigger."""
    made = TRIALS["5% errors"].make(SMALL)
    assert made.service is not None
    assert made.service.admission.error_rate == 0.05
    assert replace(made.service, admission=replace(made.service.admission, error_rate=0.0)) == SMALL.service
    assert made.demand.arrival_rate_per_s == SMALL.demand.arrival_rate_per_s
    assert made.trigger is None


def test_a_trial_of_many_attempts_has_fewer_seeds() -> None:
    """One in four, and never none."""
    assert [TRIALS["5× overload"].seeds(n) for n in (1, 4, 5, 20)] == [1, 1, 2, 5]
    assert TRIALS["healthy"].seeds(20) == TRIALS["1× overload"].seeds(20) == 20


def test_a_bare_service_serves_nobody_in_time_under_overload() -> None:
    """The queue is longer than anybody waits."""
    assert numbers("5× overload", "none")[overload_key(5.0)] == pytest.approx(0.0, abs=0.01)


@pytest.mark.parametrize("mitigation", ["queue-cap", "lifo", "drop-nearly-expired"])
def test_a_service_that_does_not_serve_the_dead_is_busy_with_the_living(mitigation: str) -> None:
    """What is served is served in time, at the full rate of the service: that of 30 timeouts' works."""
    assert numbers("5× overload", mitigation)[overload_key(5.0)] == pytest.approx(1.0, abs=0.12)


def test_dropping_only_what_has_expired_serves_those_who_are_about_to() -> None:
    """First in, first out, the first that has not expired has no time left for its service."""
    dropped = numbers("5× overload", "drop-expired")[overload_key(5.0)]
    assert dropped is not None
    assert 0.0 < dropped < 0.2


def test_in_an_outage_attempts_go_out_as_the_budget_lets_them() -> None:
    """Three without a budget; 1 + β with a ratio β of first attempts, once the reserve is spent."""
    assert numbers("outage", "none")["amplification"] == pytest.approx(3.0, rel=0.03)
    assert numbers("outage", "budget-ratio")["amplification"] == pytest.approx(1.1, rel=0.03)


@pytest.mark.parametrize("mitigation", ["none", "exponential", "full-jitter", "lifo"])
def test_without_a_budget_every_job_makes_just_its_attempts(mitigation: str) -> None:
    """Not a few more or fewer for the retries that cross the edges of what is measured."""
    assert numbers("outage", mitigation)["amplification"] == 3.0


def test_jobs_longer_than_the_outage_are_counted_by_its_edges() -> None:
    """Clients that never give up: an attempt a timeout and job, more jobs with every second."""
    endless = replace(SMALL, client=replace(SMALL.client, max_attempts=float("inf")))
    made = TRIALS["outage"].make(endless)
    found = TRIALS["outage"].read(observe(made), made)["amplification"]
    # Each job that was due t s ago tries once in 10 s, so t s into the outage t/10 attempts go out
    # for a job due; the second half of its 600 s is on average 450 s in.
    assert found == pytest.approx(450 / 10, rel=0.1)


def test_random_errors_fail_jobs_only_where_retries_are_missing() -> None:
    """At 5%, three attempts fail one job in 8,000; a budget of a tenth covers 5% of retries as well."""
    bare = numbers("5% errors", "none")
    assert bare[error_key("refused", 0.05)] == 0.0
    assert bare[error_key("turned_away", 0.05)] == 0.0
    assert bare[error_key("failed", 0.05)] == pytest.approx(0.05**3, abs=0.002)
    assert numbers("5% errors", "budget-ratio")[error_key("failed", 0.05)] == pytest.approx(0.0, abs=0.01)


def test_healthy_latency_is_in_scenario_time() -> None:
    """A service of 0.25 s on average: ln 2 of that in the median, and a little for the queue."""
    found = numbers("healthy", "none")["latency_p50_s"]
    assert found is not None
    assert 0.17 < found < 0.4
