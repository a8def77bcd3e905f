"""Run results made up from a small fluid recursion with noise, one for each kind of ending."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.leeway import with_leeway
from analysis.result import Check, FluidTrace, GeneratorHealth, Measurement, Prediction, RunResult, Values
from analysis.simulation.bands import Band, Bands, Envelope
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service

STEP_S = 2.0
SERIES_COLUMNS = [
    "t_s", "demand_per_s", "ingress_per_s", "goodput_per_s", "success_ratio", "amplification",
    "latency_p50_s", "latency_p95_s", "wait_s",
]  # fmt: skip


def experiment(
    utilization: float, phases: tuple[Phase, ...], expect: Expectation | None, name: str
) -> Experiment:
    """The four-pod service with a ten-second timeout and three attempts."""
    service = Service(pods=4, rate_per_pod=40.0)
    return Experiment(
        name=name,
        title=f"{name.upper()}: a fivefold spike at {utilization:.0%}",
        client=Client(timeout_s=10.0, max_attempts=3),
        demand=Demand(utilization * service.capacity_per_s, phases),
        service=service,
        run=RunSettings(speedup=10.0, seed=7),
        expect=expect,
    )


def fluid_path(exp: Experiment) -> FluidTrace:
    """The backlog recursion of theory.md: an attempt is late iff it meets a wait above the timeout."""
    assert exp.service is not None
    capacity, lag = exp.service.capacity_per_s, int(exp.client.timeout_s / STEP_S)
    attempts, steps = int(exp.client.max_attempts), int(exp.duration_s / STEP_S)
    t = STEP_S * np.arange(steps)
    demand, limit = np.zeros(steps), np.zeros(steps)
    for placed in exp.placed_phases:
        inside = (t >= placed.start_s) & (t < placed.end_s)
        demand[inside] = exp.demand.arrival_rate_per_s * placed.phase.factor
        limit[inside] = capacity * placed.phase.capacity_factor
    sent, backlog, late = np.zeros((attempts, steps)), np.zeros(steps), np.zeros(steps, dtype=bool)
    level = 0.0
    for i in range(steps):
        sent[0, i] = demand[i]
        if i >= lag:
            sent[1:, i] = sent[:-1, i - lag] * late[i - lag]
        backlog[i], late[i] = level, level / capacity > exp.client.timeout_s
        level = max(0.0, level + (sent[:, i].sum() - limit[i]) * STEP_S)
    ingress = sent.sum(axis=0)
    goodput = np.where(late, 0.0, np.minimum(ingress, limit))
    nothing, pods = np.zeros(steps), np.full(steps, float(exp.service.pods))
    return FluidTrace(t, demand, ingress, goodput, backlog, backlog / capacity, late, nothing, limit, pods)


def noisy_series(exp: Experiment, path: FluidTrace, rng: np.random.Generator) -> pd.DataFrame:
    """Ten-second buckets of the path with Poisson noise."""
    pick = slice(0, None, 5)
    width = 10.0 / exp.run.speedup
    noisy = {k: rng.poisson(getattr(path, k)[pick] * width) / width for k in SERIES_COLUMNS[1:4]}
    wait = path.wait_s[pick] * rng.normal(1.0, 0.03, path.wait_s[pick].size) + rng.exponential(0.1)
    seen = np.minimum(wait, exp.client.timeout_s)
    late = path.late[pick]
    return pd.DataFrame(
        {
            "t_s": path.t_s[pick],
            **noisy,
            "success_ratio": np.where(late, 0.0, 1.0),
            "amplification": np.where(late, exp.client.max_attempts, 1.0),
            "latency_p50_s": seen + 0.1,
            "latency_p95_s": np.minimum(seen + 0.6, exp.client.timeout_s + 0.1),
            "wait_s": wait,
        }
    )


def sample_of(series: pd.DataFrame, timeout_s: float, rng: np.random.Generator) -> pd.DataFrame:
    """Some thousand attempts scattered about the series."""
    if series.empty:
        return pd.DataFrame({"planned_s": [], "latency_s": [], "outcome": []})
    rows = rng.integers(0, len(series), 6000)
    wait = series["wait_s"].to_numpy()[rows] + rng.exponential(0.25, rows.size)
    timed_out = wait > timeout_s
    return pd.DataFrame(
        {
            "planned_s": series["t_s"].to_numpy()[rows] + rng.uniform(0, 10, rows.size),
            "latency_s": np.where(timed_out, timeout_s + rng.exponential(0.02, rows.size), wait),
            "outcome": np.where(timed_out, "timeout", np.where(rng.random(rows.size) < 0.01, "error", "ok")),
        }
    )


def _values(exp: Experiment, path: FluidTrace) -> Values:
    assert exp.service is not None
    trigger, late = exp.trigger, path.t_s[path.late]
    watch, shed = exp.watch, exp.shed
    in_watch = late[late < watch[1]]
    trapped = bool(late.size) and late[late < watch[1]].max() > watch[1] - 3 * STEP_S
    settled = (path.t_s > watch[1] - 0.2 * (watch[1] - watch[0])) & (path.t_s < watch[1])
    return {
        "utilization": exp.utilization,
        "amplification": exp.client.amplification,
        "amplified_utilization": exp.amplified_utilization,
        "capacity_per_s": exp.service.capacity_per_s,
        "demand_per_s": exp.demand.arrival_rate_per_s,
        "ingress_per_s": float(path.ingress_per_s[settled].mean()),
        "failed_after_s": float(late.min() - trigger[0]) if late.size and trigger else None,
        "recovery_s": float(in_watch.max() - trigger[1]) if late.size and trigger and not trapped else None,
        "goodput_ratio": 0.0 if trapped else 1.0,
        "shed_recovery_s": float(late.max() - shed[0]) if trapped and shed else None,
    }


def _run_json(exp: Experiment) -> dict[str, object]:
    return {
        "schema_version": 1,
        "name": exp.name,
        "state": "finished",
        "workers": 2,
        "target": {"url": "http://127.0.0.1:8081/work", "own": True},
        "started_at": "2025-03-01T03:00:00+00:00",
        "ended_at": "2025-03-01T03:02:40.500000+00:00",
        "start_monotonic_s": 1234.5,
        "versions": {"tipover": "0.1.0", "python": "3.11.2", "locust": "2.44.0"},
        "machine": {"cpus": 2, "system": "Linux", "memory_bytes": 8_000_000_000, "loadavg": None},
        "command": ["tipover", "run", exp.name, "--seed", "7"],
        "kernel": {"listen_overflows": 0, "listen_drops": 0},
        "harness_faults": [],
        "final_server_state": None,
    }


HEALTH = GeneratorHealth(
    workers=2, planned=246_113, sent=246_113, attempts=707_310, lag_p50_s=0.00041, lag_p99_s=0.0038,
    lag_max_s=0.021, cpu_ratio=0.41, cpu_ratio_peak=0.83, refused_sockets=0,
)  # fmt: skip


def made_up(exp: Experiment, outcome: str, directory: Path) -> RunResult:
    """A result whose measurement is the fluid path with noise."""
    rng = np.random.default_rng(exp.run.seed)
    path = fluid_path(exp)
    predicted = _values(exp, path)
    measured: Values = {
        key: None if value is None else value * (1 + 0.01 * rng.normal()) for key, value in predicted.items()
    }
    if predicted["failed_after_s"] is None:
        measured["amplification"] = measured["amplified_utilization"] = None
    series = noisy_series(exp, path, rng)
    checks = [Check("outcome", outcome, outcome, None, True, why="the scenario's expectation")]
    for key, tolerance in (("ingress_per_s", 0.1), ("recovery_s", 0.15), ("capacity_per_s", 0.05)):
        if predicted[key] is not None:
            checks.append(Check(key, predicted[key], measured[key], tolerance, True))
    checks.append(
        Check("goodput_ratio", predicted["goodput_ratio"], measured["goodput_ratio"], 0.05, True, True)
    )
    return RunResult(
        directory=str(directory),
        experiment=exp,
        run=_run_json(exp),
        outcome=outcome,  # type: ignore[arg-type]
        valid=True,
        invalid_reasons=(),
        warnings=("the machine has only 2 CPUs: generator and target share them",),
        confirmed=True,
        prediction=Prediction(
            outcome,  # type: ignore[arg-type]
            predicted, path, 310.0 if predicted["recovery_s"] else None,
            notes=("the timeout is only 160 mean services long: expect noise",),
        ),
        measurement=Measurement(
            outcome,  # type: ignore[arg-type]
            measured,
            ("the last fifth of the watch had a goodput ratio of 0.00",
             "ingress in the last fifth of the watch was 1.2 times the capacity"),
            after_shed="recovered" if predicted["shed_recovery_s"] else None,
        ),
        checks=tuple(checks),
        generator=HEALTH,
        series=series,
        attempts_sample=sample_of(series, exp.client.timeout_s, rng),
        totals={"jobs": 246_113, "attempts": 707_310, "ok": 15_577, "timeout": 691_733},
    )  # fmt: skip


def trapped(directory: Path) -> RunResult:
    """F2 at 40%: trapped after the spike, freed by shedding."""
    phases = (
        Phase("baseline", 100), Phase("spike", 300, 5.0), Phase("watch", 1200),
        Phase("shed", 2400, 0.2), Phase("normal again", 400),
    )  # fmt: skip
    expect = Expectation("trapped", after_shed="recovers", source="002, F2")
    return made_up(experiment(0.4, phases, expect, "f2-40"), "trapped", directory)


def recovered(directory: Path) -> RunResult:
    """F2 at 30%: it comes back after hours."""
    phases = (Phase("baseline", 100), Phase("spike", 300, 5.0), Phase("watch", 12_000))
    expect = Expectation("recovers", recover_s=9756.0)
    return made_up(experiment(0.3, phases, expect, "f2-30"), "recovered", directory)


def healthy(directory: Path) -> RunResult:
    """One normal phase at 40% and nothing else."""
    return made_up(experiment(0.4, (Phase("baseline", 600),), None, "calm"), "healthy", directory)


def cut(directory: Path) -> RunResult:
    """Capacity cut to a quarter for two minutes at 25%, which it shakes off; the verdict is left open."""
    phases = (Phase("baseline", 120), Phase("one pod left", 120, 1.0, 0.25), Phase("watch", 600))
    return replace(
        made_up(experiment(0.32, phases, None, "cut"), "undecided", directory), confirmed=None, checks=()
    )


def invalid(directory: Path) -> RunResult:
    """The trapped run, but the generator could not keep up and the kernel dropped connections."""
    sound = trapped(directory)
    run = dict(sound.run)
    run["kernel"] = {"listen_overflows": 812, "listen_drops": 1_733}
    return replace(
        sound,
        run=run,
        valid=False,
        invalid_reasons=(
            "the generator lagged: 99th percentile 1.9 s, allowed 0.1 s",
            "the kernel dropped 1,733 connections at the listening socket",
        ),
        confirmed=False,
        checks=(*sound.checks[:-1], replace(sound.checks[-1], passed=False, why="goodput came back")),
        generator=replace(HEALTH, lag_p99_s=1.9, lag_max_s=6.2, cpu_ratio_peak=1.0, sent=201_000),
    )


def foreign(directory: Path) -> RunResult:
    """Somebody else's service: no capacity, no prediction, no backlog reported."""
    own = recovered(directory)
    series = own.series.assign(wait_s=np.nan)
    blank: Values = dict.fromkeys(own.prediction.values)
    run = {**own.run, "kernel": None, "final_server_state": None}
    return replace(
        own,
        experiment=replace(own.experiment, service=None, expect=None, name="staging", title="Our staging"),
        run=run,
        series=series,
        confirmed=None,
        prediction=Prediction(None, blank, None, notes=("the capacity is not known: nothing is predicted",)),
        checks=(),
    )


def empty(directory: Path) -> RunResult:
    """A run that recorded nothing at all."""
    exp = healthy(directory).experiment
    nothing: Values = {"goodput_ratio": float("nan"), "recovery_s": None}
    return RunResult(
        directory=str(directory), experiment=exp, run={}, outcome="undecided", valid=False,
        invalid_reasons=("no attempt was recorded",), warnings=(), confirmed=None,
        prediction=Prediction(None, {}, None), measurement=Measurement("undecided", nothing, ()),
        checks=(), generator=None, series=pd.DataFrame({name: [] for name in SERIES_COLUMNS}),
        attempts_sample=pd.DataFrame({"planned_s": [], "latency_s": [], "outcome": []}),
    )  # fmt: skip


def with_made_up_bands(result: RunResult, width: float = 0.2) -> RunResult:
    """The result with bands of this relative width about what was predicted, from forty seeds."""
    values = {
        key: Band(value * (1 - width), value, value * (1 + width), 40)
        for key, value in result.prediction.values.items()
        if value is not None
    }
    path = fluid_path(result.experiment)
    wait = path.wait_s[::10]
    envelope = Envelope(path.t_s[::10], wait * (1 - width), wait, wait * (1 + width))
    shed = {"recovered": 40} if "shed_recovery_s" in values else {}
    bands = Bands(tuple(range(7, 47)), {result.outcome: 40}, shed, values, envelope)
    prediction = replace(result.prediction, bands=bands)
    checks = tuple(with_leeway(check, prediction) for check in result.checks)
    return replace(result, prediction=prediction, checks=checks)


def with_bands(directory: Path) -> RunResult:
    """The recovered run, with its band."""
    return with_made_up_bands(recovered(directory))


EVERY_KIND = {
    "trapped": trapped, "recovered": recovered, "healthy": healthy, "cut": cut, "invalid": invalid,
    "foreign": foreign, "empty": empty, "with bands": with_bands,
}  # fmt: skip
