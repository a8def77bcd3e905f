from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.prediction import predict
from analysis.spread import passage_sd_s, shed_recovery_sd_s
from analysis.summary import analyse, summary, write_summary
from domain.backoff import ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service
from domain.service_time import ServiceTime
from tests.analysis.fifo import EMPTY_SERVER, Simulated, kit, simulate
from tests.analysis.run_files import write_run

phases = st.builds(
    Phase,
    name=st.just("p"),
    duration_s=st.sampled_from([0.2, 1.0, 5.0, 20.0]),
    factor=st.sampled_from([0.0, 0.2, 1.0, 1.0, 4.0]),
    capacity_factor=st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.0, 1.5]),
)
experiments = st.builds(
    Experiment,
    name=st.just("any"),
    title=st.just("Anything"),
    client=st.builds(
        Client,
        timeout_s=st.sampled_from([0.3, 1.0, 40.0]),
        max_attempts=st.sampled_from([1.0, 2.0, 3.0, 7.0, math.inf]),
        backoff=st.sampled_from(
            [NoBackoff(), FixedBackoff(0.37), ExponentialBackoff(0.1, 1.0), FullJitterBackoff(0.5, 4.0)]
        ),
    ),
    demand=st.builds(
        Demand,
        arrival_rate_per_s=st.sampled_from([2.0, 15.0, 30.0]),
        phases=st.lists(phases, min_size=1, max_size=5).map(tuple),
        arrivals=st.sampled_from(["poisson", "uniform"]),
    ),
    service=st.just(Service(2, 20.0)),
    run=st.builds(RunSettings, speedup=st.sampled_from([1.0, 4.0]), seed=st.integers(0, 9)),
    expect=st.sampled_from(
        [
            None,
            Expectation("healthy"),
            Expectation("recovers", 3.0),
            Expectation("trapped", after_shed="recovers"),
        ]
    ),
)


@settings(max_examples=60, deadline=None)
@given(experiment=experiments, foreign=st.booleans(), until=st.sampled_from([0.1, 3.0, math.inf]))
def test_any_experiment_gets_a_result(experiment: Experiment, foreign: bool, until: float) -> None:
    """Whatever the phases, the client and the moment of a kill: numbers or None, and JSON."""
    simulated = simulate(experiment, until_s=until)
    if foreign:
        experiment = Experiment(
            experiment.name, experiment.title, experiment.client, experiment.demand, None, experiment.run
        )
        simulated = Simulated(simulated.rows, EMPTY_SERVER)
    with TemporaryDirectory() as directory:
        result = analyse(write_run(Path(directory), experiment, simulated), seeds=3)
        write_summary(result)
        assert json.loads(json.dumps(summary(result), allow_nan=False))["outcome"] == result.outcome
        for values in (result.prediction.values, result.measurement.values):
            assert not any(value is not None and math.isnan(value) for value in values.values())


def test_spread_of_a_spike_is_that_of_the_law() -> None:
    """Summing phases gives the closed form of ``laws.recovery_sd_s`` up to what is served while waiting."""
    from analysis import laws

    experiment = kit(0.3, watch_s=12_000, speedup=1)
    closed = laws.recovery_sd_s(
        arrival_rate_per_s=48,
        capacity_per_s=160,
        amplification=3,
        spike_factor=5,
        spike_duration_s=300,
        timeout_s=10,
    )
    assert predict(experiment).recovery_sd_s == pytest.approx(closed, rel=0.01)


def test_evenly_spaced_arrivals_scatter_less() -> None:
    """Only the service is left to chance."""
    poisson = kit(0.3, watch_s=12_000)
    uniform = Experiment(
        "u",
        "",
        poisson.client,
        Demand(48.0, poisson.demand.phases, "uniform"),
        poisson.service,
        poisson.run,
    )
    assert (predict(uniform).recovery_sd_s or 0) < 0.6 * (predict(poisson).recovery_sd_s or 0)


def test_services_that_scatter_more_scatter_the_recovery_more() -> None:
    """c² = 9: √((9·48·t + 9·160·t)/(9·48·t + 160·t)) but for the spike; of infinite c² what so many show."""
    plain = kit(0.3, watch_s=12_000)
    assert plain.service is not None
    sds = [
        predict(replace(plain, service=replace(plain.service, service_time=time))).recovery_sd_s or 0.0
        for time in (ServiceTime(), ServiceTime("hyperexponential", 3.0), ServiceTime("pareto", 1.5))
    ]
    assert sds[1] / sds[0] == pytest.approx(math.sqrt(1872 / 592), rel=0.03)
    assert sds[1] < sds[2] < 5 * sds[0]


def test_no_spread_where_nothing_drains() -> None:
    """A backlog that grows is passed at no time; a service nobody knows has none."""
    assert passage_sd_s(kit(0.4), first_late_s=110, passage_s=800) is None
    assert shed_recovery_sd_s(kit(0.4), predict(kit(0.4))) is None
