from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import psutil
import pytest

from analysis.chance import to_json
from analysis.series import BUCKETS, COLUMNS, SAMPLE, bucket_s, build_series, sample_attempts
from analysis.simulation.bands import simulate_bands
from analysis.summary import NOT_SIMULATED, analyse, summary, write_summary
from analysis.trace import attempts_of
from domain.budgets.ratio import RatioBudget
from domain.errors import TipoverError
from domain.experiment import Expectation
from tests.analysis.fifo import EMPTY_SERVER, demo, kit, simulate
from tests.analysis.run_files import write_run

KEYS = {
    "schema_version",
    "name",
    "title",
    "outcome",
    "valid",
    "invalid_reasons",
    "warnings",
    "confirmed",
    "evidence",
    "predicted",
    "measured",
    "checks",
    "generator",
    "prediction_notes",
    "recovery_sd_s",
    "bands",
    "totals",
    "expect",
    "speedup",
    "seed",
}


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")


def test_a_run_directory_becomes_its_summary(tmp_path: Path) -> None:
    """Trapped, valid, confirmed; the file reads back as what was written."""
    experiment = kit(0.4, expect=Expectation("trapped"))
    result = analyse(write_run(tmp_path, experiment, simulate(experiment)))
    assert (result.outcome, result.valid, result.confirmed) == ("trapped", True, True)
    written = json.loads(write_summary(result).read_text(encoding="utf-8"), parse_constant=refuse_constant)
    assert written == json.loads(json.dumps(summary(result)))
    assert set(written) >= KEYS
    assert written["measured"].keys() == written["predicted"].keys()
    assert all({"name", "predicted", "measured", "tolerance", "pass"} <= set(c) for c in written["checks"])
    assert set(written["generator"]) >= {
        "planned",
        "sent",
        "lag_p50_s",
        "lag_p99_s",
        "lag_max_s",
        "cpu_ratio",
    }
    assert written["totals"]["timeout"] > written["totals"]["ok"] > 0
    assert pd.read_parquet(tmp_path / "series.parquet").equals(result.series)


def test_the_prediction_has_bands_and_the_summary_shows_them(tmp_path: Path) -> None:
    """From the run's own seed on; the numbers of a simulation of those seeds; each check with its ends."""
    write_run(tmp_path, demo(), simulate(demo()))
    result = analyse(tmp_path, seeds=10)
    shown = summary(result)
    assert shown["bands"] == to_json(simulate_bands(demo(), range(3, 13)))
    assert shown["bands"]["outcomes"] == {"trapped": 10}
    ingress = next(check for check in shown["checks"] if check["name"] == "ingress_per_s")
    assert ingress["low"] < 150 < ingress["high"]
    assert "simulated: all 10 seeds are trapped" in shown["checks"][0]["why"]
    assert summary(analyse(tmp_path, seeds=0))["bands"] is None
    assert len(summary(analyse(tmp_path))["bands"]["seeds"]) == 40


def test_a_run_too_long_to_simulate_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note instead of a band; a service nobody knows gets neither."""
    monkeypatch.setattr("analysis.summary.SIMULATED_ATTEMPTS", 1e4)
    write_run(tmp_path, demo(), simulate(demo()))
    prediction = analyse(tmp_path).prediction
    assert prediction.bands is None
    assert "too long to be simulated" in prediction.notes[-1]
    foreign = replace(demo(), service=None)
    prediction = analyse(write_run(tmp_path / "theirs", foreign, simulate(demo()))).prediction
    assert prediction.bands is None
    assert not any("simulated" in note for note in prediction.notes)


def test_analysing_twice_gives_the_same(tmp_path: Path) -> None:
    """Everything is in the directory."""
    write_run(tmp_path, demo(), simulate(demo()))
    assert summary(analyse(tmp_path)) == summary(analyse(tmp_path))


def test_infinities_become_null(tmp_path: Path) -> None:
    """An endless client's amplification is not a JSON number."""
    experiment = kit(0.3, factor=10, spike_s=20, watch_s=100, max_attempts=math.inf)
    result = analyse(write_run(tmp_path, experiment, simulate(experiment)))
    text = write_summary(result).read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=refuse_constant)["predicted"]["amplification"] is None


def test_killed_run_is_invalid_and_undecided(tmp_path: Path) -> None:
    """Killed in the spike: invalid because it did not finish, undecided because nothing was watched."""
    experiment = kit(0.4, expect=Expectation("trapped"))
    write_run(
        tmp_path,
        experiment,
        simulate(experiment, until_s=30),
        run={"state": "running"},
        worker={"finished": False},
    )
    result = analyse(tmp_path)
    assert (result.outcome, result.valid, result.confirmed) == ("undecided", False, None)
    assert any("did not finish" in reason for reason in result.invalid_reasons)


def test_run_that_left_nothing_behind(tmp_path: Path) -> None:
    """No attempts, no server, no worker: a result all the same, and it can be written."""
    experiment = kit(0.4)
    write_run(tmp_path, experiment, simulate(experiment, until_s=1))
    for file in [*tmp_path.glob("attempts/*"), *tmp_path.glob("generator/*"), tmp_path / "server.jsonl"]:
        file.unlink()
    result = analyse(tmp_path)
    assert (result.outcome, result.valid, result.generator) == ("undecided", False, None)
    assert result.series.empty
    write_summary(result)


def test_damaged_part_makes_the_run_invalid(tmp_path: Path) -> None:
    """The rest is analysed, but what is lost could have changed the verdict."""
    write_run(tmp_path, demo(), simulate(demo()))
    (tmp_path / "attempts" / "part-00-00002.parquet").write_bytes(b"PAR1")
    result = analyse(tmp_path)
    (reason,) = result.invalid_reasons
    assert "part-00-00002" in reason
    assert (result.outcome, result.valid, result.confirmed) == ("trapped", False, None)


def test_directory_that_is_no_run(tmp_path: Path) -> None:
    """A clear error, not a traceback."""
    with pytest.raises(TipoverError, match="not a run directory"):
        analyse(tmp_path)


def test_series_is_in_scenario_time_with_rates_as_they_are() -> None:
    """A run ten times as fast: 1,600 s of scenario, 192 attempts/s of storm, waits in scenario seconds."""
    experiment = kit(0.4)
    simulated = simulate(experiment)
    series = build_series(attempts_of(simulated.attempts), simulated.server, experiment)
    assert tuple(series.columns) == COLUMNS
    assert len(series) == BUCKETS
    watch = series[series["t_s"].between(500, 1500)]
    assert watch["demand_per_s"].mean() == pytest.approx(64, rel=0.05)
    assert watch["ingress_per_s"].mean() == pytest.approx(192, rel=0.05)
    assert watch["goodput_per_s"].max() == 0
    assert watch["success_ratio"].max() == 0
    assert watch["amplification"].mean() == pytest.approx(3)
    assert watch["latency_p50_s"].mean() == pytest.approx(10)
    slope = np.polyfit(watch["t_s"], watch["wait_s"].interpolate(), 1)[0]
    assert slope == pytest.approx(0.2, abs=0.04)


def test_amplification_over_time_leaves_out_jobs_that_were_not_through() -> None:
    """While everything fails it is m to the end of what is known; the last m timeouts say nothing."""
    experiment = kit(0.4)
    simulated = simulate(experiment)
    series = build_series(attempts_of(simulated.attempts), simulated.server, experiment)
    failing = series[(series.t_s > 500) & series.amplification.notna()]
    assert failing.amplification.min() == failing.amplification.max() == 3
    unknown = series[series.amplification.isna()].t_s
    assert unknown.min() >= experiment.duration_s - 4 * experiment.client.timeout_s


def test_series_of_a_foreign_service_knows_no_wait() -> None:
    """NaN, not zero."""
    series = build_series(attempts_of(simulate(demo()).attempts), EMPTY_SERVER, demo())
    assert series["wait_s"].isna().all()


@pytest.mark.parametrize(("watch_s", "count"), [(1200.0, 300), (100.0, 200), (12_000.0, 300)])
def test_buckets_are_few_and_not_too_short(watch_s: float, count: int) -> None:
    """About 300, never shorter than a quarter of the timeout."""
    experiment = kit(0.4, watch_s=watch_s)
    assert experiment.duration_s / bucket_s(experiment) == pytest.approx(count)


def test_sample_is_bounded_and_spread_over_the_run() -> None:
    """Ten thousand at most, first and last included."""
    attempts = simulate(kit(0.4)).attempts
    sample = sample_attempts(attempts, 10.0)
    assert len(sample) == SAMPLE
    assert sample["planned_s"].iloc[-1] == pytest.approx(attempts["planned_s"].iloc[-1] * 10)
    assert set(sample["outcome"]) == {"ok", "timeout", "aborted"}
    assert sample_attempts(attempts.iloc[:0], 10.0).empty


def test_a_defended_run_that_does_not_fit_into_memory_is_not_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its seeds are the prediction, however many they cost; but a report must not take the machine down."""
    experiment = kit(0.4)
    guarded = replace(experiment, client=replace(experiment.client, budget=RatioBudget(0.1)))
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1))
    result = analyse(write_run(tmp_path, guarded, simulate(experiment)))
    assert result.prediction.bands is None
    assert NOT_SIMULATED in result.prediction.notes
