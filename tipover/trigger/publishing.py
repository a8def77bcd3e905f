"""From a trigger test's finding to everything a user gets: files, a few lines, an exit code."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from domain.errors import ConfigurationError, ExitCode, TipoverError
from tipover.trigger.judged import Judged, exit_code, show
from tipover.version import VERSION

if TYPE_CHECKING:
    from rich.console import Console

    from analysis.trigger.against import Comparison
    from analysis.trigger.observations import Observations
    from analysis.trigger.result import TriggerResult
    from analysis.trigger.result_json import TriggerRecord
    from domain.trigger.plan import TriggerPlan

__all__ = ["exit_code", "is_trigger_test", "publish", "republish", "show"]

PLAN_FILE = "plan.json"
STEP_SUMMARY = "GITHUB_STEP_SUMMARY"
"""The variable in which GitHub names the file that a job's summary is appended to."""

_KILLED = "a kill: the harness left no record of the end"


def publish(
    directory: Path,
    plan: TriggerPlan,
    result: TriggerResult,
    *,
    screen: Console,
    against: TriggerRecord | None = None,
    as_json: bool = False,
) -> ExitCode:
    """Write all that a finished test leaves, print the verdict, and say how the process ends.

    ``against``: an earlier test's record, to compare with. Raises ``TipoverError`` if the files cannot be
    written.
    """
    from analysis.trigger.against import compare
    from tipover.commands.output import console

    comparison = None if against is None else compare(plan, result, against.plan, against.result)
    judged = _written(directory, plan, result, comparison, screen)
    _append_to_step_summary(judged, screen)
    show(judged, directory, as_json=as_json, out=console())
    return judged.code


def is_trigger_test(directory: Path) -> bool:
    """Whether a run directory holds a trigger test."""
    from analysis.trigger.observations import LINES_FILE
    from analysis.trigger.result_json import FILE_NAME

    return any((directory / name).exists() for name in (FILE_NAME, LINES_FILE))


def republish(directory: Path, *, screen: Console, as_json: bool = False) -> ExitCode:
    """Judge a recorded test again, from its lines and its plan, and write and print everything anew.

    What the harness found out besides, and the comparison, are taken from ``trigger.json``, if there is one.
    Raises ``ConfigurationError`` if the directory cannot be understood.
    """
    from analysis.trigger.result_json import FILE_NAME, read_record
    from tipover.commands.output import console

    record = read_record(directory) if (directory / FILE_NAME).exists() else None
    plan = _read_plan(directory) if record is None else record.plan
    seen = _observations(directory)
    if record is None:
        result = _judged_again(directory, plan)
        if seen.stopped is None:
            result = replace(result, interrupted_by=_KILLED)
    elif seen.ticks and not _diverges(again := _judged_again(directory, plan)):
        result = _with_what_was_known(again, record.result)
    else:
        result = record.result
    judged = _written(directory, plan, result, None if record is None else record.comparison, screen)
    show(judged, directory, as_json=as_json, out=console())
    return judged.code


def _written(
    directory: Path, plan: TriggerPlan, result: TriggerResult, comparison: Comparison | None, screen: Console
) -> Judged:
    """Judge the finding and write its files."""
    try:
        with screen.status("working out the page …"):
            seen = _observations(directory)
            judged = _judged(plan, result, comparison, seen)
            _write(directory, judged, seen)
    except OSError as error:
        raise TipoverError(
            f"the findings could not be written: {error}; what was recorded is kept: make room, then "
            f"`tipover report {directory}`"
        ) from error
    except KeyboardInterrupt:
        screen.print(
            f"interrupted: the page is not whole; `tipover report {directory}` makes it", soft_wrap=True
        )
        raise
    return judged


def _judged(
    plan: TriggerPlan, result: TriggerResult, comparison: Comparison | None, seen: Observations
) -> Judged:
    from analysis.trigger.assertions import check
    from analysis.trigger.words import answered_share

    answered = answered_share(plan, result.shots[0], seen) if result.shots else None
    return Judged(plan, result, check(result, plan.assertions), comparison, answered)


def _write(directory: Path, judged: Judged, seen: Observations) -> None:
    from analysis.trigger import markdown, page
    from analysis.trigger.junit import write_trigger_junit
    from analysis.trigger.result_json import TriggerRecord, write_record

    plan, result, run = judged.plan, judged.result, _run_json(directory)
    # The finding first: if there is no room for pictures, it is there.
    record = TriggerRecord(plan, result, int(judged.code), VERSION, judged.comparison, judged.checks)
    write_record(directory, record)
    write_trigger_junit(directory, plan, result, judged.checks, judged.comparison, run, judged.answered)
    (directory / markdown.FILE_NAME).write_text(_markdown(judged), encoding="utf-8")
    text = page.render(
        plan,
        result,
        page.draw_plots(directory, plan, result, seen),
        checks=judged.checks,
        comparison=judged.comparison,
        answered=judged.answered,
        run=run,
        run_name=directory.name,
    )
    page.write_page(directory, text)


def _markdown(judged: Judged) -> str:
    from analysis.trigger.markdown import summary_text

    passed = judged.code is ExitCode.CONFIRMED
    plan, result = judged.plan, judged.result
    return summary_text(plan, result, judged.checks, judged.comparison, judged.answered, passed=passed)


def _append_to_step_summary(judged: Judged, screen: Console) -> None:
    """Add the Markdown to the summary of a GitHub job; that it cannot be is only worth a remark."""
    place = os.environ.get(STEP_SUMMARY)
    if not place:
        return
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write(_markdown(judged) + "\n")
    except OSError as error:
        screen.print(f"tipover: {STEP_SUMMARY} could not be added to: {error}", style="yellow")


def _observations(directory: Path) -> Observations:
    """What the test saw; nothing if it ended before its first line."""
    from analysis.trigger.observations import LINES_FILE, Observations, read_observations

    path = directory / LINES_FILE
    if not path.exists():
        return Observations()
    try:
        return read_observations(directory)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(f"{path} cannot be read ({error!r})") from error


def _judged_again(directory: Path, plan: TriggerPlan) -> TriggerResult:
    """The finding as the lines give it, with what ``run.json`` holds against the harness."""
    from analysis.trigger.observations import recorded_lines
    from analysis.trigger.protocol import replay

    faults = _run_json(directory).get("harness_faults")
    reasons = [str(fault) for fault in faults] if isinstance(faults, list) else []
    return replay(plan, recorded_lines(directory), invalid_reasons=reasons)


def _diverges(again: TriggerResult) -> bool:
    """Whether this version would have gone on otherwise than the one that made the test: then the lines are
    answers to other commands, and only the finding of that time stands."""
    from analysis.trigger.course import DISOBEYED

    return any(DISOBEYED in reason for reason in again.invalid_reasons)


def _with_what_was_known(again: TriggerResult, before: TriggerResult) -> TriggerResult:
    """A finding made again, with the reasons and warnings that are not in the lines."""
    return replace(
        again,
        invalid_reasons=tuple(dict.fromkeys((*again.invalid_reasons, *before.invalid_reasons))),
        warnings=tuple(dict.fromkeys((*again.warnings, *before.warnings))),
        interrupted_by=again.interrupted_by or before.interrupted_by,
        safety_stop=again.safety_stop or before.safety_stop,
    )


def _read_plan(directory: Path) -> TriggerPlan:
    from domain.trigger.plan_json import plan_from_json

    path = directory / PLAN_FILE
    try:
        return plan_from_json(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} holds no plan of a trigger test: {error}") from error


def _run_json(directory: Path) -> dict[str, Any]:
    """The record of the run; nothing if it cannot be read."""
    try:
        data = json.loads((directory / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}
