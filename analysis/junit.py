"""The checks of a run as JUnit XML."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from analysis.junit_suite import FILE_NAME, Case, Suite, write_suite
from analysis.report.tables import tolerance_text, value_text
from analysis.report.verdict import headline
from analysis.result import Check, RunResult

__all__ = ["FILE_NAME", "live_seconds", "recorded_seconds", "write_junit"]


def write_junit(result: RunResult) -> Path:
    """Write ``junit.xml``: a testcase ``valid``, an error if the run is not, and one for each check."""
    experiment = result.experiment
    duration_s = live_seconds(result)
    started = result.run.get("started_at")
    suite = Suite(
        experiment.name,
        duration_s,
        (validity_case(result.invalid_reasons, result.valid, duration_s), *map(_check_case, result.checks)),
        (
            ("outcome", result.outcome),
            ("title", experiment.title),
            ("seed", str(experiment.run.seed)),
            ("speedup", str(experiment.run.speedup)),
        ),
        "\n".join([headline(result), *result.measurement.evidence, *result.warnings]),
        started if isinstance(started, str) else None,
    )
    return write_suite(Path(result.directory), suite)


def live_seconds(result: RunResult) -> float:
    """How long the run took on the wall clock; what was planned if its ends are not on record."""
    recorded = recorded_seconds(result.run)
    return result.experiment.duration_s / result.experiment.run.speedup if recorded is None else recorded


def recorded_seconds(run: Mapping[str, object]) -> float | None:
    """From start to end of a run, by its ``run.json``; None if both are not on record."""
    try:
        started, ended = (datetime.fromisoformat(str(run.get(key))) for key in ("started_at", "ended_at"))
        return max(0.0, (ended - started).total_seconds())
    except (ValueError, TypeError):
        return None


def validity_case(reasons: tuple[str, ...], valid: bool, duration_s: float) -> Case:
    """The case that the harness itself was sound."""
    if valid:
        return Case("valid", time_s=duration_s)
    said = reasons or ("no reason is on record",)
    return Case(
        "valid", "error", "InvalidRun", "invalid run: " + "; ".join(said), "\n".join(said), duration_s
    )


def _check_case(check: Check) -> Case:
    numbers = (
        f"predicted {value_text(check.predicted)}, measured {value_text(check.measured)}, "
        f"tolerance {tolerance_text(check)}"
    )
    words = f"{numbers}: {check.why}" if check.why else numbers
    if check.passed:
        return Case(check.name, text=words)
    return Case(check.name, "failure", "CheckFailed", f"{check.name}: {numbers}", words)
