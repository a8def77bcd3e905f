"""Whole run directories of fleets: measured, judged, checked, drawn and reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.estimators import measure
from analysis.fleets.checks import fleet_checks
from analysis.mitigations.runs import scored_run
from analysis.mitigations.side_by_side import write_comparison
from analysis.plots import draw_plots
from analysis.plots.fleet_moments import fleet_moments, reported_pods
from analysis.prediction import predict
from analysis.report import headline, render
from analysis.report.verdict import subline
from analysis.result import RunResult
from analysis.run_directory import read_run_directory
from analysis.summary import analyse, summary
from analysis.trace import attempts_of
from analysis.verdict import judge
from domain.experiment import Client, Demand, Expectation, Phase, Service
from tests.analysis.fifo import Simulated
from tests.analysis.fleet_runs import simulated, stepped, write_decisions, write_fleet_run
from tests.analysis.run_files import write_run


@pytest.fixture(scope="module")
def trapped(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    experiment = stepped("first", step_s=500.0, expect=Expectation("trapped"))
    return analyse(write_fleet_run(tmp_path_factory.mktemp("runs") / "first", experiment), seeds=10)


@pytest.fixture(scope="module")
def recovered(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    experiment = stepped("ingress", expect=Expectation("recovers", 265.0))
    return analyse(write_fleet_run(tmp_path_factory.mktemp("runs") / "ingress", experiment), seeds=10)


def test_a_fleet_on_first_attempts_is_judged_trapped(trapped: RunResult) -> None:
    values = trapped.measurement.values
    assert (trapped.outcome, trapped.valid, trapped.confirmed) == ("trapped", True, True)
    assert values["settled_pods"] == pytest.approx(21, abs=1)
    assert values["peak_pods"] == pytest.approx(21, abs=1)
    assert values["amplification"] == pytest.approx(3, rel=0.01)
    assert values["capacity_per_s"] == pytest.approx(40 * values["settled_pods"], rel=0.02)
    assert values["lost_s"] == pytest.approx(493, rel=0.02)
    assert values["capacity_met_s"] == pytest.approx(110, abs=20)
    assert any("pods served, and it failed all the same" in said for said in trapped.measurement.evidence)
    assert any("does not drain" in said for said in trapped.measurement.evidence)


def test_a_fleet_on_ingress_recovers_from_the_step(recovered: RunResult) -> None:
    values = recovered.measurement.values
    assert (recovered.outcome, recovered.valid, recovered.confirmed) == ("recovered", True, True)
    assert values["recovery_s"] == pytest.approx(265, rel=0.1)
    assert (values["peak_pods"], values["over_provisioning"]) == (50, 2.5)
    assert values["settled_pods"] == pytest.approx(21, abs=1)
    assert values["pod_seconds"] == pytest.approx(30_370, rel=0.03)
    assert {check.name for check in recovered.checks} >= {"recovery_s", "peak_pods", "settled_pods"}
    assert "capacity_per_s" not in {check.name for check in recovered.checks}
    assert recovered.measurement.evidence[-1].endswith("s after demand stepped up.")


def test_a_fleet_that_still_grows_is_undecided() -> None:
    """CPU at 300 s: everything fails at Aρ of about 2, but as many pods again are starting."""
    experiment = stepped("cpu", step_s=300.0)
    run = simulated(experiment)
    attempts = attempts_of(run.attempts)
    measurement = judge(attempts, run.server, experiment, measure(attempts, run.server, experiment))
    assert measurement.outcome == "undecided"
    assert any("were starting: whether they suffice is not settled" in s for s in measurement.evidence)


@pytest.mark.parametrize("step_s", [150.0, 265.0])
def test_pods_that_no_decision_has_seen_yet_are_no_rest(step_s: float) -> None:
    """CPU between two rounds: nothing starts at Aρ above 1, but only because its window is not full yet."""
    experiment = stepped("cpu", step_s=step_s)
    run = simulated(experiment)
    attempts = attempts_of(run.attempts)
    measurement = judge(attempts, run.server, experiment, measure(attempts, run.server, experiment))
    assert measurement.outcome == "undecided"
    assert any("whether it orders more is not settled" in said for said in measurement.evidence)


def test_cpu_that_adds_a_pod_at_a_time_is_not_at_rest() -> None:
    """At a target of 90% each round adds less than a fifth; the fluid model sees it recover at 3,469 s."""
    kit = stepped("cpu")
    assert kit.fleet is not None
    experiment = replace(kit, fleet=replace(kit.fleet, target_utilization=0.9))
    run = simulated(experiment)
    attempts = attempts_of(run.attempts)
    measurement = judge(attempts, run.server, experiment, measure(attempts, run.server, experiment))
    assert measurement.outcome == "undecided"


def test_at_its_ceiling_a_fleet_is_at_rest_at_once() -> None:
    """28 pods that may not be more, against the 30 that Aλ/μ takes."""
    experiment = stepped("ingress", step_s=260.0, max_pods=28)
    run = simulated(experiment)
    attempts = attempts_of(run.attempts)
    assert (
        judge(attempts, run.server, experiment, measure(attempts, run.server, experiment)).outcome
        == "trapped"
    )


def test_a_small_fleet_is_trapped_though_chance_orders_a_pod() -> None:
    """Three pods or four at A = 4 and ρ of about 0.5: a short stabilization lets their number flicker."""
    kit = stepped("first", speedup=20.0)
    assert kit.fleet is not None
    experiment = replace(
        kit,
        service=Service(1, 100.0),
        client=Client(10.0, 4),
        demand=Demand(25.0, (Phase("baseline", 100.0), Phase("step", 900.0, 6.0))),
        fleet=replace(kit.fleet, autoscaler=replace(kit.fleet.autoscaler, stabilization_s=30.0)),
    )
    for seed in range(1, 9):
        seeded = experiment.with_run(seed=seed)
        run = simulated(seeded)
        attempts = attempts_of(run.attempts)
        measurement = judge(attempts, run.server, seeded, measure(attempts, run.server, seeded))
        assert measurement.outcome == "trapped", (seed, measurement.evidence)


def test_words_of_a_trapped_fleet(trapped: RunResult) -> None:
    assert (
        headline(trapped)
        == f"TRAPPED: it stayed down at {trapped.measurement.values['settled_pods']:.0f} pods"
    )
    assert "requests that nobody waits for" in subline(trapped)
    page = render(trapped, [])
    for said in (
        "every pod is busy with requests nobody waits for any more",
        "because that is all it sees",
        "Pair them with ingress",
        "dead time, from order to service",
        "first: mean over 60 s",
        "What the fleet could be scaled on",
        "and rising",
    ):
        assert said in page
    assert "demand fell back" not in page
    assert "was gone all was normal" not in page


def test_words_of_a_recovered_fleet(recovered: RunResult) -> None:
    assert headline(recovered).startswith("RECOVERED after 2")
    assert subline(recovered) == "Counted from the start of the step to the last failing attempt."
    page = render(recovered, [])
    assert "the fleet grew to 50 pods, 2.5 times what the demand needs" in page
    assert "after the step ended" not in page


def test_pictures_of_a_fleet(trapped: RunResult, recovered: RunResult) -> None:
    for result, title in (
        (trapped, "The fleet stays failed at"),
        (recovered, "With 50 pods at most it is well"),
    ):
        plots = {plot.name: plot for plot in draw_plots(result)}
        assert list(plots) == ["story", "fleet", "region", "wait", "amplification", "latency"]
        assert plots["fleet"].title.startswith(title)
        assert plots["fleet"].size_px == (1500, 1248)
        assert plots["region"].size_px == (1500, 675)
    assert draw_plots(trapped)[0].title.startswith("Trapped at 2")


def test_without_the_autoscalers_record_the_picture_has_no_signals(
    trapped: RunResult, tmp_path: Path
) -> None:
    bare = replace(trapped, decisions=None, directory=str(tmp_path))
    plot = draw_plots(bare)[1]
    assert plot.size_px[1] < 1000
    assert "signal" not in plot.caption
    assert "autoscaler.jsonl" not in render(bare, [])


def test_a_broken_record_is_a_warning_and_no_more(tmp_path: Path) -> None:
    experiment = stepped("first", step_s=200.0)
    directory = write_fleet_run(tmp_path / "run", experiment, decisions=False)
    assert analyse(directory, seeds=0).decisions is None
    write_decisions(directory, [{"t_s": 1.5, "readings": {"first": 80.0}, "proposals": {}, "ordered": 4}])
    with (directory / "autoscaler.jsonl").open("a", encoding="utf-8") as file:
        file.write("oops\n{}\n")
    result = analyse(directory, seeds=0)
    assert result.valid
    assert "Line 2 of autoscaler.jsonl cannot be read and was skipped." in result.warnings
    draw_plots(result)


def test_a_target_that_tells_nothing_of_its_pods(tmp_path: Path) -> None:
    """Then nothing is said of them, and the checks of them fail for want of samples."""
    experiment = stepped("first", step_s=300.0)
    run = simulated(experiment)
    blind = Simulated(
        run.rows, run.server.assign(pods=float("nan"), replicas=float("nan"), starting=float("nan"))
    )
    result = analyse(write_run(tmp_path / "run", experiment, blind), seeds=0)
    assert result.measurement.values["settled_pods"] is None
    failed = {check.name: check.why for check in result.checks if not check.passed}
    assert failed["settled_pods"] == "the target told nothing of its pods"
    draw_plots(result)
    assert summary(result)["measured"]["peak_pods"] is None


def test_a_target_that_falls_silent(tmp_path: Path) -> None:
    """Pods told for the first third of a run are not those of its end."""
    experiment = stepped("first", step_s=300.0)
    run = simulated(experiment)
    early = Simulated(run.rows, run.server[run.server["t_s"] < 13.0])
    result = analyse(write_run(tmp_path / "run", experiment, early), seeds=0)
    assert result.measurement.values["peak_pods"] is None
    assert result.measurement.values["settled_pods"] is None
    draw_plots(result)


def test_new_pods_are_those_ordered_after_the_step(trapped: RunResult) -> None:
    """By chance a pod ordered before the step serves soon after it; the dead time is 90 s, a sync 15 s."""
    moments = {moment.words: moment.t_s for moment in fleet_moments(trapped)}
    (words,) = [words for words in moments if words.startswith("first new pods serve")]
    pods = reported_pods(trapped)
    assert pods is not None
    assert pods.at(moments[words] + 1.0) > pods.at(moments[words])


def test_a_target_that_is_too_slow_a_pod_is_found_out(tmp_path: Path) -> None:
    experiment = stepped("first", step_s=200.0)
    run = simulated(experiment)
    slow = run.server.assign(saturated_s=1.1 * run.server["saturated_s"])
    result = analyse(write_run(tmp_path / "run", experiment, Simulated(run.rows, slow)), seeds=0)
    assert any("attempts/s a pod when saturated instead of 40" in reason for reason in result.invalid_reasons)


def test_old_scrapes_have_no_orders(tmp_path: Path) -> None:
    """A ``server.jsonl`` from before there were fleets reads as one without ``replicas`` and ``starting``."""
    experiment = stepped("first", step_s=200.0)
    run = simulated(experiment)
    directory = write_run(
        tmp_path / "run", experiment, Simulated(run.rows, run.server.drop(columns=["replicas", "starting"]))
    )
    server = read_run_directory(directory).server
    assert server["replicas"].isna().all()
    assert isinstance(analyse(directory, seeds=0).series, pd.DataFrame)


def test_pods_within_two_or_a_tenth_or_the_band(trapped: RunResult) -> None:
    prediction = predict(trapped.experiment)
    for pods, passed in ((22.0, True), (23.0, False), (18.0, True)):
        measured = replace(
            trapped.measurement,
            values={**trapped.measurement.values, "peak_pods": pods, "settled_pods": pods},
        )
        assert {check.passed for check in fleet_checks(prediction, measured)} == {passed}


def test_runs_of_several_signals_side_by_side(
    trapped: RunResult, recovered: RunResult, tmp_path: Path
) -> None:
    runs = [scored_run(Path(result.directory), result.experiment.name) for result in (trapped, recovered)]
    files = {file.name for file in write_comparison(runs, tmp_path)}
    assert files == {"compare.json", "compare.html", "compare.png", "region.png"}
    assert (tmp_path / "compare.html").read_text(encoding="utf-8").count("<figure>") == 2
