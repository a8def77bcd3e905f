"""Episodes, estimators and verdicts on the traces of an exact simulation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.estimators import Findings, measure, retry_span_s, saturated_rate
from analysis.prediction import predict
from analysis.result import QUANTITIES, Measurement
from analysis.simulation.bands import simulate_bands
from analysis.trace import attempts_of
from analysis.verdict import judge
from domain.admission import Admission
from domain.backoff import FixedBackoff
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.hedging import Hedging
from tests.analysis.fifo import EMPTY_SERVER, Simulated, demo, kit, outage, simulate


def look(
    experiment: Experiment, simulated: Simulated | None = None, *, foreign: bool = False
) -> tuple[Measurement, Findings]:
    simulated = simulated or simulate(experiment)
    server = EMPTY_SERVER if foreign else simulated.server
    if foreign:
        experiment = replace(experiment, service=None)
    attempts = attempts_of(simulated.attempts)
    findings = measure(attempts, server, experiment)
    return judge(attempts, server, experiment, findings), findings


def test_f2_40_is_trapped_with_the_numbers_of_the_theory() -> None:
    """A = 3, Aρ = 1.2, C = 160, ingress 192, and nobody is served."""
    measured, _ = look(kit(0.4))
    assert measured.outcome == "trapped"
    assert set(measured.values) == set(QUANTITIES)
    assert measured.values["amplification"] == 3.0
    assert measured.values["amplified_utilization"] == pytest.approx(1.2, rel=0.05)
    assert measured.values["capacity_per_s"] == pytest.approx(160, rel=0.03)
    assert measured.values["ingress_per_s"] == pytest.approx(192, rel=0.05)
    assert measured.values["demand_per_s"] == pytest.approx(64, rel=0.05)
    assert measured.values["goodput_ratio"] == 0.0
    assert measured.values["recovery_s"] is None
    assert any("does not drain" in sentence for sentence in measured.evidence)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_f2_25_recovers_when_the_fluid_model_says(seed: int) -> None:
    """Within four standard deviations of the diffusion approximation, in scenario time."""
    experiment = kit(0.25, watch_s=4000, seed=seed)
    prediction = predict(experiment)
    measured, findings = look(experiment)
    assert measured.outcome == "recovered"
    assert prediction.recovery_sd_s is not None
    off = abs((measured.values["recovery_s"] or 0) - (prediction.values["recovery_s"] or 0))
    assert off < 4 * prediction.recovery_sd_s
    assert measured.values["goodput_ratio"] == pytest.approx(1, abs=0.02)
    assert len(findings.episodes) == 1


def test_f2_30_recovers_after_its_long_drain() -> None:
    """Nearly three hours of scenario in a thousand seconds of trace; recovery is the last failing attempt."""
    experiment = kit(0.3, watch_s=13_000)
    simulated = simulate(experiment)
    measured, _ = look(experiment, simulated)
    assert measured.outcome == "recovered"
    last = simulated.attempts.query("outcome == 'timeout'")["sent_s"].max() * 10 - 400
    assert measured.values["recovery_s"] == pytest.approx(last, abs=1)
    assert measured.values["amplified_utilization"] == pytest.approx(0.9, rel=0.03)


def test_watch_too_short_for_the_recovery_is_undecided() -> None:
    """Still failing, but draining: the evidence says for how much longer."""
    measured, _ = look(kit(0.3, watch_s=2000))
    assert measured.outcome == "undecided"
    assert any("s more" in sentence for sentence in measured.evidence)


@pytest.mark.parametrize("experiment", [kit(0.8, spike_s=0), kit(0.2)], ids=["no trigger", "critical spike"])
def test_nothing_fails_when_nothing_is_triggered(experiment: Experiment) -> None:
    """No episode: healthy, with no recovery time."""
    measured, findings = look(experiment)
    assert measured.outcome == "healthy"
    assert findings.episodes == ()
    assert measured.values["amplification"] is None
    assert measured.values["goodput_ratio"] == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize(("utilization", "outcome"), [(0.2, "recovered"), (0.4, "trapped")])
def test_outage(utilization: float, outcome: str) -> None:
    """A capacity cut is a trigger like any other; capacity is taken from when it is whole."""
    measured, _ = look(outage(utilization))
    assert measured.outcome == outcome
    assert measured.values["capacity_per_s"] == pytest.approx(160, rel=0.1)
    assert measured.values["failed_after_s"] == pytest.approx(0, abs=2)


def test_demo_is_trapped() -> None:
    """One pod, half a second of timeout, a minute."""
    assert look(demo())[0].outcome == "trapped"


def test_scattered_timeouts_are_no_episode() -> None:
    """One attempt in fifty fails by chance: the service is healthy all the same."""
    simulated = simulate(kit(0.5, spike_s=0))
    rows = simulated.rows.copy()
    rows.loc[rows.index % 50 == 0, "outcome"] = "timeout"
    measured, findings = look(kit(0.5, spike_s=0), Simulated(rows, simulated.server))
    assert measured.outcome == "healthy"
    assert findings.episodes == ()


def test_a_service_that_loses_a_third_for_ever_is_not_healthy() -> None:
    """Not failing by the definition of an episode, but nobody would call it well: undecided."""
    simulated = simulate(kit(0.5, spike_s=0))
    rows = simulated.rows.copy()
    rows.loc[rows.index % 3 == 0, "outcome"] = "timeout"
    measured, _ = look(kit(0.5, spike_s=0), Simulated(rows, simulated.server))
    assert measured.outcome == "undecided"


def test_scattered_timeouts_after_the_recovery_do_not_move_it() -> None:
    """Chance failures at 1% in the healthy part leave the recovery where it was."""
    experiment = kit(0.25, watch_s=4000)
    simulated = simulate(experiment)
    clean, _ = look(experiment, simulated)
    rows = simulated.rows.copy()
    rows.loc[(rows.index % 100 == 0) & (rows["outcome"] == "ok"), "outcome"] = "timeout"
    noisy, _ = look(experiment, Simulated(rows, simulated.server))
    assert noisy.outcome == "recovered"
    assert noisy.values["recovery_s"] == pytest.approx(clean.values["recovery_s"], abs=20)


def test_relapse_counts_from_its_own_end() -> None:
    """A second episode in the watch is found, and the last one decides."""
    experiment = kit(0.25, watch_s=4000)
    simulated = simulate(experiment)
    rows = simulated.rows.copy()
    rows.loc[rows["sent_s"].between(380, 390), "outcome"] = "timeout"
    measured, findings = look(experiment, Simulated(rows, simulated.server))
    assert [episode.recovered for episode in findings.episodes] == [True, True]
    assert measured.values["recovery_s"] == pytest.approx(3900 - 400, abs=10)


@pytest.mark.parametrize(
    ("until_s", "outcome"), [(35.0, "undecided"), (41.0, "undecided"), (120.0, "trapped")]
)
def test_kill_in_mid_run(until_s: float, outcome: str) -> None:
    """What was seen is judged; before the watch there is nothing to judge."""
    experiment = kit(0.4)
    measured, _ = look(experiment, simulate(experiment, until_s=until_s))
    assert measured.outcome == outcome
    assert "The trace ends at" in measured.evidence[0]


def test_no_attempts_at_all() -> None:
    """An empty trace gives no numbers and no verdict."""
    simulated = simulate(kit(0.4), until_s=0.5)
    empty = Simulated(simulated.rows.iloc[:0], EMPTY_SERVER)
    measured, _ = look(kit(0.4), empty)
    assert measured.outcome == "undecided"
    assert all(value is None for value in measured.values.values())


def test_foreign_service_is_trapped_only_by_a_long_watch() -> None:
    """Without the server's state, failing for all of ten timeouts counts, and what is unknown is said."""
    long, _ = look(kit(0.4), foreign=True)
    assert long.outcome == "trapped"
    assert any("could not be checked" in sentence for sentence in long.evidence)
    assert long.values["capacity_per_s"] is None
    short, _ = look(kit(0.4, watch_s=80), foreign=True)
    assert short.outcome == "undecided"


def test_foreign_service_recovers_like_ours() -> None:
    """Recovery is in the trace alone."""
    assert look(kit(0.25, watch_s=4000), foreign=True)[0].outcome == "recovered"


@pytest.mark.parametrize(
    ("shed_s", "factor", "verdict"),
    [(2400, 0.05, "recovered"), (300, 0.05, "undecided"), (900, 0.9, "trapped")],
)
def test_shedding(shed_s: float, factor: float, verdict: str) -> None:
    """Long and deep enough, deep but too short, and not deep enough."""
    measured, _ = look(kit(0.4, after=(Phase("shed", shed_s, factor),)))
    assert measured.outcome == "trapped"
    assert measured.after_shed == verdict
    assert (measured.values["shed_recovery_s"] is not None) == (verdict == "recovered")


def test_shedding_agrees_with_the_fluid_model() -> None:
    """Drain time from the live trace against the fluid's."""
    experiment = kit(0.4, watch_s=400, after=(Phase("shed", 2400, 0.05),))
    predicted = predict(experiment).values["shed_recovery_s"]
    assert look(experiment)[0].values["shed_recovery_s"] == pytest.approx(predicted, rel=0.1)


def test_shedding_a_healthy_service_says_nothing() -> None:
    """Nothing was failing, so nothing could recover."""
    measured, _ = look(kit(0.2, after=(Phase("shed", 300, 0.5),)))
    assert measured.after_shed is None
    assert measured.values["shed_recovery_s"] is None


def test_endless_client_stays_trapped_when_shed() -> None:
    """m = ∞: no amplification to measure, growth instead; jobs need not end to count as failed."""
    experiment = kit(
        0.3, factor=10, spike_s=30, watch_s=200, max_attempts=math.inf, after=(Phase("shed", 200, 0.1),)
    )
    measured, _ = look(experiment)
    assert (measured.outcome, measured.after_shed) == ("trapped", "trapped")
    assert measured.values["amplification"] is None


def test_budget_refusals_lower_the_measured_amplification() -> None:
    """Attempts that were never sent are no attempts."""
    experiment = kit(0.4)
    simulated = simulate(experiment)
    rows = simulated.rows.copy()
    rows.loc[rows["attempt"] == 3, "outcome"] = "refused"
    measured, _ = look(experiment, Simulated(rows, simulated.server))
    assert measured.values["amplification"] == 2.0


def test_saturated_rate_leaves_out_cut_capacity() -> None:
    """Only scrapes at full capacity count, and too few completions are none."""
    server = pd.DataFrame(
        {
            "t_s": [0.0, 1.0, 2.0, 3.0],
            "capacity_factor": [1.0, 1.0, 0.5, 0.5],
            "saturated_s": [0.0, 1.0, 2.0, 3.0],
            "saturated_completed": [0.0, 100.0, 120.0, 130.0],
        }
    )
    assert saturated_rate(server, [(0.0, 9.0)]) == (100.0, 100)
    assert saturated_rate(server, [(2.0, 9.0)]) == (None, 0)


def test_capacity_is_not_taken_from_slow_stretches_alone() -> None:
    """One pod at 70% without retries fails now and then, when services are slow: 10/s all the same."""
    slow_now_and_then = Experiment(
        "mm1", "", Client(1.0, 1), Demand(7.0, (Phase("watch", 2000.0),)), Service(1, 10.0)
    )
    bands = simulate_bands(slow_now_and_then, range(1, 21))
    assert bands.values["recovery_s"].count > 15
    assert bands.values["capacity_per_s"].median == pytest.approx(10.0, rel=0.01)
    assert bands.values["capacity_per_s"].holds(10.0)
    assert bands.values["utilization"].median == pytest.approx(0.7, rel=0.02)
    assert bands.values["utilization"].holds(0.7)


def test_amplification_counts_the_jobs_that_succeed_too() -> None:
    """Two fifths of the failing jobs are answered at their first attempt: 2.2 attempts a job, not 3."""
    experiment = kit(0.4)
    simulated = simulate(experiment)
    rows = simulated.rows.copy()
    lucky = rows["job_id"] % 5 < 2
    rows.loc[lucky & (rows["attempt"] == 1) & (rows["outcome"] == "timeout"), "outcome"] = "ok"
    rows = rows[~(lucky & (rows["attempt"] > 1))]
    measured, _ = look(experiment, Simulated(rows, simulated.server))
    assert measured.values["amplification"] == pytest.approx(0.4 * 1 + 0.6 * 3, rel=0.02)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda seed: kit(0.4, speedup=50, seed=seed),
        lambda seed: kit(0.3, watch_s=12_000, speedup=50, seed=seed),
        lambda seed: kit(0.25, watch_s=4000, speedup=50, seed=seed),
        lambda seed: replace(demo(), run=RunSettings(1.0, seed)),
        lambda seed: replace(outage(0.4), run=RunSettings(10.0, seed)),
    ],
    ids=["f2-40", "f2-30", "edge-trigger", "demo", "outage"],
)
def test_amplification_is_m_while_a_queue_fails(make: Callable[[int], Experiment], seed: int) -> None:
    """All jobs of the settled part count, and still it is m within 1%: three attempts each."""
    measured, findings = look(make(seed))
    assert measured.values["amplification"] == pytest.approx(3, rel=0.01)
    assert findings.samples["amplification"] > 100


def test_relapse_after_shedding_is_no_recovery() -> None:
    """It drains in the shed phase, and half the answers of the restored phase fail again to the end."""
    experiment = kit(0.4, watch_s=400, after=(Phase("shed", 2400, 0.05), Phase("restored", 600)))
    simulated = simulate(experiment)
    assert look(experiment, simulated)[0].after_shed == "recovered"
    rows = simulated.rows.copy()
    rows.loc[rows["sent_s"] > 330, "outcome"] = "timeout"
    measured, _ = look(experiment, Simulated(rows, simulated.server))
    assert measured.outcome == "trapped"
    assert measured.after_shed == "undecided"
    assert measured.values["shed_recovery_s"] is None


def test_relapse_that_ends_counts_from_its_own_end() -> None:
    """Well for minutes, failing for ten seconds more, well for good: recovered after the second time."""
    experiment = kit(0.4, watch_s=400, after=(Phase("shed", 2400, 0.05), Phase("restored", 600)))
    simulated = simulate(experiment)
    rows = simulated.rows.copy()
    rows.loc[rows["sent_s"].between(330, 340), "outcome"] = "timeout"
    measured, _ = look(experiment, Simulated(rows, simulated.server))
    assert measured.after_shed == "recovered"
    assert measured.values["shed_recovery_s"] == pytest.approx(3400 - 800, abs=10)


@pytest.mark.parametrize("make", [lambda: kit(0.4), lambda: kit(0.2), demo])
def test_measurement_does_not_depend_on_the_order_of_rows(make: Callable[[], Experiment]) -> None:
    """Parts of several workers come in any order."""
    experiment = make()
    simulated = simulate(experiment)
    shuffled = simulated.rows.sample(frac=1, random_state=np.random.RandomState(1))
    assert look(experiment, simulated)[0] == look(experiment, Simulated(shuffled, simulated.server))[0]


@pytest.mark.parametrize(
    ("change", "span_s"),
    [
        ({}, 30.0),
        ({"backoff": FixedBackoff(2.0)}, 34.0),
        ({"honours_retry_after": True}, 38.0),
        ({"deadline_s": 15.0}, 15.0),
        ({"hedging": Hedging(4, 5.0)}, 25.0),
        ({"hedging": Hedging(4, 5.0), "honours_retry_after": True}, 52.0),
        ({"max_attempts": math.inf}, math.inf),
        ({"max_attempts": math.inf, "deadline_s": 60.0}, 60.0),
    ],
)
def test_a_job_is_over_after_its_attempts_and_waits(change: dict[str, Any], span_s: float) -> None:
    """T = 10 s; a rejection asks for 4 s, which a client that heeds it waits instead of a shorter backoff,
    and before the next copy whenever that would have gone out."""
    experiment = kit(0.4, speedup=1)
    assert experiment.service is not None
    service = replace(experiment.service, admission=Admission(queue_cap=80, retry_after_s=4.0))
    tried = replace(experiment, client=replace(experiment.client, **change), service=service)
    assert retry_span_s(tried.live()) == span_s
