"""A service that never worked is not trapped, and a crash is no queue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.estimators import measure
from analysis.result import Measurement
from analysis.summary import analyse
from analysis.trace import attempts_of
from analysis.verdict import judge
from domain.experiment import Experiment, Phase
from tests.analysis.fifo import EMPTY_SERVER, Simulated, kit, simulate
from tests.analysis.run_files import write_run

EXPERIMENT = kit(0.4)  # ten times as fast: the spike is from 10 s to 40 s, the timeout 1 s
SIMULATED = simulate(EXPERIMENT)


def failing_from(start_s: float, outcome: str, status: int, share: float = 1.0) -> pd.DataFrame:
    """The rows with a share of the attempts sent from ``start_s`` on ending in another way."""
    rows = SIMULATED.rows.copy()
    chosen = (rows["sent_s"] >= start_s) & rows["outcome"].notna()
    chosen &= np.random.default_rng(1).random(len(rows)) < share
    rows.loc[chosen, ["outcome", "status"]] = [outcome, status]
    return rows


def judged(
    rows: pd.DataFrame, *, foreign: bool = True, experiment: Experiment = EXPERIMENT
) -> tuple[Measurement, str]:
    """The verdict and its evidence in one text."""
    server = EMPTY_SERVER if foreign else SIMULATED.server
    experiment = replace(experiment, service=None) if foreign else experiment
    attempts = attempts_of(Simulated(rows, server).attempts)
    measurement = judge(attempts, server, experiment, measure(attempts, server, experiment))
    return measurement, " ".join(measurement.evidence)


@pytest.mark.parametrize("foreign", [True, False])
@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        ("rejected", 404, "every attempt was rejected with status 404"),
        ("error", 0, "every attempt ended in a connection error"),
        ("timeout", 0, "every attempt timed out"),
    ],
)
def test_service_that_never_worked_is_undecided(outcome: str, status: int, words: str, foreign: bool) -> None:
    """A wrong path, a closed port, a black hole: nothing the trigger could have done."""
    measurement, said = judged(failing_from(0.0, outcome, status), foreign=foreign)
    assert measurement.outcome == "undecided"
    assert "did not work before the trigger" in said
    assert words in said


def test_service_that_loses_a_fifth_before_the_trigger_did_not_work() -> None:
    """No episode, but under 90% of the jobs answered."""
    rows = failing_from(0.0, "rejected", 401, share=0.2)
    measurement, said = judged(rows, foreign=False)
    assert measurement.outcome == "undecided"
    assert "of the attempts were rejected with status 401" in said


def test_baseline_that_left_nothing_is_no_proof_that_it_worked() -> None:
    """There was a baseline, and nothing of it is in the trace."""
    measurement, said = judged(SIMULATED.rows.query("planned_s > 10"), foreign=False)
    assert measurement.outcome == "undecided"
    assert "Nothing was seen of the service before the trigger" in said


def test_run_that_starts_with_its_trigger_has_no_before() -> None:
    """Nothing to ask of it."""
    experiment = replace(EXPERIMENT, demand=replace(EXPERIMENT.demand, phases=EXPERIMENT.demand.phases[1:]))
    simulated = simulate(experiment)
    attempts = attempts_of(simulated.attempts)
    findings = measure(attempts, simulated.server, experiment)
    assert judge(attempts, simulated.server, experiment, findings).outcome == "trapped"


def test_shedding_a_service_that_never_worked_says_nothing() -> None:
    """Undecided like all else."""
    experiment = kit(0.4, after=(Phase("shed", 300, 0.1),))
    rows = simulate(experiment).rows
    rows.loc[rows["outcome"].notna(), ["outcome", "status"]] = ["rejected", 404]
    measurement, _ = judged(rows, experiment=experiment)
    assert (measurement.outcome, measurement.after_shed) == ("undecided", "undecided")


@pytest.mark.parametrize(
    ("outcome", "status", "words"),
    [
        ("error", 0, "ended in a connection error"),
        ("rejected", 503, "was rejected with status 503"),
    ],
)
def test_foreign_service_that_crashed_is_not_trapped(outcome: str, status: int, words: str) -> None:
    """It worked, the spike killed it: another mechanism, and for us undecided."""
    measurement, said = judged(failing_from(15.0, outcome, status))
    assert measurement.outcome == "undecided"
    assert "another mechanism" in said
    assert words in said


def test_failures_of_mixed_kinds_are_not_another_mechanism() -> None:
    """Four fifths rejected leave a fifth of timeouts."""
    measurement, said = judged(failing_from(15.0, "rejected", 503, share=0.8))
    assert measurement.outcome == "trapped"
    assert "another mechanism" not in said


@pytest.mark.parametrize(
    ("share", "outcome"), [(0.95, "undecided"), (0.8, "trapped")], ids=["nearly all", "four fifths"]
)
def test_jobs_that_the_client_refuses_are_no_evidence_of_a_foreign_trap(share: float, outcome: str) -> None:
    """A breaker that lets nothing through makes jobs fail, whatever the service would have done."""
    rows = SIMULATED.rows
    late = (rows["sent_s"] >= 15.0) & (rows["attempt"] == 1)
    refused = late & (np.random.default_rng(1).random(len(rows)) < share)
    silent = set(rows.loc[refused, "job_id"])
    rows = rows[~(rows["job_id"].isin(silent) & (rows["attempt"] > 1))].copy()
    # One attempt of each other job, so that failures are counted as jobs are.
    rows = rows[(rows["sent_s"] < 15.0) | (rows["attempt"] == 1)]
    chosen = rows["job_id"].isin(silent) & (rows["attempt"] == 1)
    rows.loc[chosen, ["outcome", "status"]] = ["refused", 0]
    rows.loc[chosen, "done_s"] = rows.loc[chosen, "sent_s"]
    measurement, said = judged(rows)
    assert measurement.outcome == outcome
    assert ("the client's own breaker refused" in said) is (outcome == "undecided")


def test_own_service_that_rejects_is_judged_by_its_backlog() -> None:
    """The evidence says what the failures were; the backlog decides."""
    measurement, said = judged(failing_from(15.0, "rejected", 503), foreign=False)
    assert measurement.outcome == "trapped"
    assert "another mechanism" in said


def test_never_worked_through_the_files(tmp_path: Path) -> None:
    """Status and outcome come from the Parquet parts."""
    run: dict[str, Any] = {"target": {"url": "http://x", "own": False}}
    bare = replace(EXPERIMENT, service=None)
    rows = failing_from(0.0, "rejected", 404)
    result = analyse(write_run(tmp_path, bare, Simulated(rows, EMPTY_SERVER), run=run))
    assert result.outcome == "undecided"
    assert any("status 404" in sentence for sentence in result.measurement.evidence)
