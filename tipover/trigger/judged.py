"""A trigger test's finding with what was asked of it: the exit code, and the lines for a terminal."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from domain.errors import ExitCode

if TYPE_CHECKING:
    from rich.console import Console

    from analysis.trigger.against import Comparison
    from analysis.trigger.assertions import AssertionCheck
    from analysis.trigger.result import TriggerResult
    from domain.trigger.plan import TriggerPlan

_GOOD = ("not vulnerable", "recovers")


@dataclass(frozen=True)
class Judged:
    """A finding with what was asked of it."""

    plan: TriggerPlan
    result: TriggerResult
    checks: tuple[AssertionCheck, ...]
    comparison: Comparison | None
    answered: float | None
    """The share of attempts that were answered in time after the first push."""

    @property
    def code(self) -> ExitCode:
        """What the process ends with; the gravest of all that applies."""
        return exit_code(self.plan, self.result, self.checks, self.comparison)


def exit_code(
    plan: TriggerPlan,
    result: TriggerResult,
    checks: Sequence[AssertionCheck] = (),
    comparison: Comparison | None = None,
) -> ExitCode:
    """Interrupted, else stopped or left unhealthy, else invalid, else what the finding says."""
    if result.interrupted_by is not None:
        return ExitCode.INTERRUPTED
    if result.safety_stop is not None or result.left_healthy is False:
        return ExitCode.SAFETY_STOP
    if result.invalid_reasons:
        return ExitCode.INVALID_RUN
    accepted = plan.assertions.verdicts or _GOOD
    worse = comparison is not None and comparison.failed
    if result.verdict not in accepted or worse or not all(check.passed for check in checks):
        return ExitCode.FINDING
    return ExitCode.CONFIRMED


def show(judged: Judged, directory: Path, *, as_json: bool, out: Console) -> None:
    """Print the finding: ``trigger.json`` as it stands, or a few lines for people."""
    from analysis.trigger import words
    from analysis.trigger.page import FILE_NAME
    from analysis.trigger.result_json import FILE_NAME as JSON_FILE

    if as_json:
        record = json.loads((directory / JSON_FILE).read_text(encoding="utf-8"))
        # Flushed at once: a closed pipe is then noticed here, where it is handled, and not at exit.
        print(json.dumps({**record, "directory": str(directory)}, indent=2), flush=True)
        return
    plan, result = judged.plan, judged.result
    valid = not result.invalid_reasons
    for alarm in words.alarms(result):
        out.print(alarm, style="bold white on red")
    if not valid:
        out.print("INVALID TEST: do not read this as the service's behaviour", style="bold white on red")
        for reason in result.invalid_reasons:
            out.print(f"  {reason}")
    colour = {"bad": "red", "good": "green", "open": "yellow"}[words.tone(result)]
    out.print(words.headline(result), style=f"bold {colour}" if valid else "dim")
    out.print(f"  {words.verdict_text(plan, result, judged.answered)}")
    for sentence in words.remarks(result):
        out.print(f"  {sentence}")
    if result.left_healthy is not False:
        out.print(f"  {words.health_text(result)}", style="green" if result.left_healthy else "yellow")
    _show_advice(result, out)
    _show_asked(judged, out)
    for warning in result.warnings:
        out.print(f"  warning: {warning}", style="yellow")
    out.print(f"report: {(directory / FILE_NAME).resolve()}", soft_wrap=True)


def _show_advice(result: TriggerResult, out: Console) -> None:
    from analysis.trigger.words import advice_text

    if result.invalid_reasons or not result.advice:
        return
    out.print("What would change it:")
    for advice in result.advice:
        out.print(f"  {advice_text(advice)}")


def _show_asked(judged: Judged, out: Console) -> None:
    from analysis.trigger.against import summary

    for check in judged.checks:
        mark, colour = ("✓", "green") if check.passed else ("✗", "red")
        out.print(f"  {mark} {check.name} {check.asked}: {check.why}", style=colour)
    comparison = judged.comparison
    if comparison is None:
        return
    out.print(summary(comparison), style="red" if comparison.failed else None)
    for change in comparison.changes:
        why = f" ({change.why})" if change.why else ""
        out.print(f"  {change.name}: {change.before} → {change.now}, {change.word}{why}")
