"""The finding as JUnit XML: what a pipeline fails on, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from analysis.junit import recorded_seconds, validity_case
from analysis.junit_suite import Case, Suite, write_suite
from analysis.trigger.against import Change, Comparison, summary
from analysis.trigger.assertions import AssertionCheck
from analysis.trigger.result import TriggerResult
from analysis.trigger.words import alarms, headline, health_text, remarks, verdict_text
from domain.trigger.plan import TriggerPlan


def write_trigger_junit(
    directory: Path,
    plan: TriggerPlan,
    result: TriggerResult,
    checks: Sequence[AssertionCheck] = (),
    comparison: Comparison | None = None,
    run: Mapping[str, object] | None = None,
    answered: float | None = None,
) -> Path:
    """Write ``junit.xml``: testcases ``valid``, ``verdict``, ``left healthy``, one for each assertion, and
    one for each quantity of the comparison. ``run`` is the content of ``run.json``,
    ``answered`` is ``words.answered_share``."""
    run = run or {}
    recorded = recorded_seconds(run)
    duration_s = max((p.end_s for p in result.phases), default=0.0) if recorded is None else recorded
    started = run.get("started_at")
    suite = Suite(
        plan.name,
        duration_s,
        tuple(_cases(plan, result, checks, comparison, duration_s, answered)),
        (
            ("verdict", result.verdict),
            ("target", plan.target.url),
            ("utilization", str(plan.utilization)),
            ("seed", str(plan.seed)),
        ),
        "\n".join([headline(result), *alarms(result), *remarks(result), *result.warnings]),
        started if isinstance(started, str) else None,
    )
    return write_suite(directory, suite)


def _cases(
    plan: TriggerPlan,
    result: TriggerResult,
    checks: Sequence[AssertionCheck],
    comparison: Comparison | None,
    duration_s: float,
    answered: float | None,
) -> list[Case]:
    cases = [
        _validity_case(result, duration_s),
        _verdict_case(plan, result, answered),
        _health_case(result),
    ]
    # What the verdict must be has its own case already.
    cases += [_check_case(check) for check in checks if check.name != "verdict"]
    if comparison is not None:
        cases += _comparison_cases(comparison)
    return cases


def _validity_case(result: TriggerResult, duration_s: float) -> Case:
    """An error if the harness was not sound, or the test did not come to its end."""
    if result.interrupted_by is not None and not result.invalid_reasons:
        said = f"interrupted by {result.interrupted_by}: the test did not end as planned"
        return Case("valid", "error", "Interrupted", said, "\n".join(alarms(result)), duration_s)
    if result.safety_stop is not None and not result.invalid_reasons:
        words = "\n".join(alarms(result))
        said = f"the test stopped itself: {result.safety_stop}"
        return Case("valid", "error", "SafetyStop", said, words, duration_s)
    return validity_case(result.invalid_reasons, not result.invalid_reasons, duration_s)


def _verdict_case(plan: TriggerPlan, result: TriggerResult, answered: float | None) -> Case:
    """A failure if the verdict is not among those that are accepted; without such, if it is no good one."""
    words = verdict_text(plan, result, answered)
    accepted = plan.assertions.verdicts or ("not vulnerable", "recovers")
    if result.verdict in accepted:
        return Case("verdict", text=words)
    return Case("verdict", "failure", result.verdict.title().replace(" ", ""), headline(result), words)


def _health_case(result: TriggerResult) -> Case:
    words = health_text(result)
    if result.safety_stop is not None:
        return Case("left healthy", "failure", "SafetyStop", f"safety stop: {result.safety_stop}", words)
    if result.left_healthy is False:
        return Case("left healthy", "failure", "LeftUnhealthy", words, words)
    if result.left_healthy is None:
        kind = "NotSeen" if result.interrupted_by is None else "Interrupted"
        return Case("left healthy", "error", kind, words, words)
    return Case("left healthy", text=words)


def _check_case(check: AssertionCheck) -> Case:
    words = f"asked {check.asked}, found {check.found}: {check.why}"
    if check.passed:
        return Case(check.name, text=words)
    return Case(check.name, "failure", "AssertionFailed", f"{check.name}: {check.why}", words)


def _comparison_cases(comparison: Comparison) -> list[Case]:
    if not comparison.comparable:
        words = "; ".join(comparison.differences)
        return [Case("compared", "failure", "NotCompared", f"nothing could be compared: {words}", words)]
    if comparison.nothing_compared:
        words = summary(comparison)
        said = Case("compared", "failure", "NotCompared", "nothing could be compared", words)
        return [said, *map(_change_case, comparison.changes)]
    return [_change_case(change) for change in comparison.changes]


def _change_case(change: Change) -> Case:
    words = f"{change.before} then, {change.now} now: {change.word}"
    if change.why:
        words += f" ({change.why})"
    if change.word == "not compared":
        return Case(f"compared: {change.name}", "skipped", "NotCompared", change.why, words)
    if change.word != "worse":
        return Case(f"compared: {change.name}", text=words)
    return Case(f"compared: {change.name}", "failure", "Worse", f"{change.name} is worse", words)
