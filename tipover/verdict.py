"""From a finished run directory to everything a user gets: files, a few lines, an exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from domain.errors import ExitCode, TipoverError

if TYPE_CHECKING:
    from rich.console import Console

    from analysis.result import Check, RunResult


def publish(directory: Path, screen: Console) -> RunResult:
    """Analyse a run directory and write summary, series, plots, report and junit into it.

    Raises ``TipoverError`` if they cannot be written; the recorded run is not touched.
    """
    from analysis.junit import write_junit
    from analysis.report import write_report
    from analysis.summary import analyse, write_summary

    with screen.status("working out the report …"):
        result = analyse(directory)
        try:
            write_summary(result)
            write_report(result)
            write_junit(result)
        except OSError as error:
            raise TipoverError(
                f"the report could not be written: {error}; what was recorded is kept: make room, then "
                f"`tipover report {directory}`"
            ) from error
    return result


def exit_code(result: RunResult) -> ExitCode:
    """Invalid, or confirmed or not, or what the outcome itself says when nothing was expected."""
    if not result.valid:
        return ExitCode.INVALID_RUN
    if result.confirmed is not None:
        return ExitCode.CONFIRMED if result.confirmed else ExitCode.FINDING
    return ExitCode.CONFIRMED if result.outcome in {"healthy", "recovered"} else ExitCode.FINDING


def show(result: RunResult, code: ExitCode, *, as_json: bool, out: Console) -> None:
    """Print the verdict: the summary and the exit code as JSON, or a few lines for people."""
    from analysis.leeway import is_expected

    directory = Path(result.directory)
    if as_json:
        summary = json.loads((directory / "summary.json").read_text())
        print(json.dumps({**summary, "directory": str(directory), "exit_code": int(code)}, indent=2))
        return
    if not result.valid:
        out.print("INVALID RUN: do not read this as the service's behaviour", style="bold white on red")
        for reason in result.invalid_reasons:
            out.print(f"  {reason}")
    style = {"trapped": "bold red", "recovered": "bold green", "healthy": "bold green"}
    out.print(
        result.outcome.upper(), style=style.get(result.outcome, "bold yellow") if result.valid else "dim"
    )
    for sentence in result.measurement.evidence:
        out.print(f"  {sentence}")
    for check in result.checks:
        mark, colour = ("✓", "green") if check.passed else ("✗", "red")
        source = "expected" if is_expected(check, result.experiment) else "predicted"
        line = f"{check.name}: {source} {_text(check.predicted)}{_band(check)}, "
        line += f"measured {_text(check.measured)}"
        out.print(f"  {mark} {line}", style=colour if result.valid else "dim")
    for warning in result.warnings:
        out.print(f"  warning: {warning}", style="yellow")
    if not result.valid:
        out.print("not judged against the scenario, because the run is invalid", style="red")
    elif result.confirmed is not None:
        word = "as the scenario expects" if result.confirmed else "NOT as the scenario expects"
        out.print(word, style="green" if result.confirmed else "red")
    if result.valid and result.outcome == "trapped" and result.experiment.service is not None:
        for sentence in _way_out(result):
            out.print(sentence)
    out.print(f"report: {(directory / 'report.html').resolve()}", soft_wrap=True)


def _way_out(result: RunResult) -> list[str]:
    """Where to go from a trap: of a fleet what its signal should be, else the table of mitigations."""
    if result.experiment.fleet is not None:
        from analysis.fleets.advice import advice

        return advice(result.experiment)
    from analysis.report.explanation import MATRIX

    return [MATRIX]


def _band(check: Check) -> str:
    """What chance makes of the predicted figure, where simulated seeds say."""
    if check.low is None or check.high is None or check.low == check.high:
        return ""
    return f" (by chance {_text(check.low)} to {_text(check.high)})"


def _text(value: float | str | None) -> str:
    from analysis.wording import number

    if value is None:
        return "nothing"
    return value if isinstance(value, str) else number(value)
