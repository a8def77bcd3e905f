"""From a run directory to its result, and from a result to ``summary.json`` and ``series.parquet``."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from analysis.chance import to_json, with_bands
from analysis.comparison import compare, confirmed
from analysis.estimators import measure
from analysis.fleets.decisions import read_decisions
from analysis.prediction import predict
from analysis.result import Check, Prediction, RunResult, Values
from analysis.run_directory import read_run_directory
from analysis.seeds import affordable_seeds, can_be_simulated, cores_that_fit, expected_bytes, seeds_of
from analysis.series import build_series, sample_attempts
from analysis.simulation.bands import simulate_bands
from analysis.trace import OUTCOMES, Attempts, read_trace
from analysis.validity import assess, generator_health
from analysis.verdict import judge
from domain.experiment import Experiment

SCHEMA_VERSION = 1
SUMMARY_FILE = "summary.json"
SERIES_FILE = "series.parquet"
SIMULATED_ATTEMPTS = 8e6
"""What the bands of a report may cost: some four seconds of one core."""
NOT_SIMULATED = (
    "The run is too long to be simulated with its report, so no band says what chance does to it; "
    "`tipover simulate` does, and takes its time."
)


def analyse(directory: Path | str, *, seeds: int | None = None) -> RunResult:
    """Everything there is to say of a run, from its directory alone.

    The prediction's bands are those of ``seeds`` simulated seeds, the run's own and those that follow it;
    by default as many as ``SIMULATED_ATTEMPTS`` allow, none for a service whose capacity is not known.
    Raises ``ConfigurationError`` when the directory is no run. A run that was killed, or left nothing
    behind, gives an invalid result that says so.
    """
    files = read_run_directory(directory)
    trace = read_trace(directory)
    experiment = files.experiment
    attempts = trace.arrays
    prediction = _predicted(experiment, seeds)
    findings = measure(attempts, files.server, experiment)
    measurement = judge(attempts, files.server, experiment, findings)
    checks = compare(experiment, prediction, measurement, findings, own_target=files.owns_target)
    validity = assess(files, trace)
    decisions, unread = read_decisions(directory, experiment.run.speedup)
    return RunResult(
        directory=str(directory),
        experiment=experiment,
        run=files.run,
        outcome=measurement.outcome,
        valid=validity.valid,
        invalid_reasons=validity.reasons,
        warnings=(*validity.warnings, *unread),
        confirmed=confirmed(experiment, checks) if validity.valid else None,
        prediction=prediction,
        measurement=measurement,
        checks=checks,
        generator=generator_health(files.workers),
        series=build_series(attempts, files.server, experiment),
        attempts_sample=sample_attempts(trace.attempts, experiment.run.speedup),
        totals=_totals(attempts, dict(trace.attempts["outcome"].value_counts())),
        decisions=decisions,
    )


def _predicted(experiment: Experiment, seeds: int | None) -> Prediction:
    prediction = predict(experiment)
    if not can_be_simulated(experiment) or seeds == 0:
        return prediction
    count = affordable_seeds(experiment, SIMULATED_ATTEMPTS) if seeds is None else seeds
    cores = cores_that_fit(expected_bytes(experiment))
    if not count or not cores:
        return replace(prediction, notes=(*prediction.notes, NOT_SIMULATED))
    return with_bands(prediction, simulate_bands(experiment, seeds_of(experiment, count), cores=cores))


def _totals(attempts: Attempts, outcomes: Mapping[Any, Any]) -> dict[str, int]:
    """Jobs, jobs answered in time, attempts sent, and attempts by outcome."""
    return {
        "jobs": int(attempts.job_planned_s.size),
        "jobs_answered": int(attempts.job_answered.sum()),
        "attempts": int(attempts.sent.sum()),
        **{name: int(outcomes.get(name, 0)) for name in OUTCOMES},
    }


def summary(result: RunResult) -> dict[str, Any]:
    """What ``summary.json`` holds: plain JSON values, null for what is not known or not finite."""
    experiment, prediction, measurement = result.experiment, result.prediction, result.measurement
    data = {
        "schema_version": SCHEMA_VERSION,
        "name": experiment.name,
        "title": experiment.title,
        "outcome": result.outcome,
        "predicted_outcome": prediction.outcome,
        "after_shed": measurement.after_shed,
        "confirmed": result.confirmed,
        "valid": result.valid,
        "invalid_reasons": list(result.invalid_reasons),
        "warnings": list(result.warnings),
        "evidence": list(measurement.evidence),
        "predicted": _values(prediction.values),
        "measured": _values(measurement.values),
        "recovery_sd_s": prediction.recovery_sd_s,
        "bands": to_json(prediction.bands),
        "prediction_notes": list(prediction.notes),
        "checks": [_check(check) for check in result.checks],
        "generator": asdict(result.generator) if result.generator else None,
        "totals": dict(result.totals),
        "expect": asdict(experiment.expect) if experiment.expect else None,
        "speedup": experiment.run.speedup,
        "seed": experiment.run.seed,
    }
    cleaned = _finite(data)
    assert isinstance(cleaned, dict)
    return cleaned


def write_summary(result: RunResult) -> Path:
    """Write ``summary.json`` and ``series.parquet`` into the run directory; returns the former's path."""
    directory = Path(result.directory)
    result.series.to_parquet(directory / SERIES_FILE, index=False)
    path = directory / SUMMARY_FILE
    text = json.dumps(summary(result), indent=2, ensure_ascii=False, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def _values(values: Values) -> dict[str, float | None]:
    return dict(values)


def _check(check: Check) -> dict[str, Any]:
    data = asdict(check)
    data["pass"] = data.pop("passed")
    return data


def _finite(value: object) -> object:
    """The value with every NaN and infinity replaced by None: JSON has neither."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
