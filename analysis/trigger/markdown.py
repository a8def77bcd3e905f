"""The finding as a short Markdown text, for a pull request or the summary of a pipeline."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from analysis.trigger.against import Comparison, summary
from analysis.trigger.assertions import AssertionCheck
from analysis.trigger.result import TriggerResult
from analysis.trigger.tables import advice_rows, finding_rows, shot_rows
from analysis.trigger.words import alarms, headline, health_text, remarks, verdict_text
from domain.trigger.plan import TriggerPlan

FILE_NAME = "trigger.md"

_ACTIVE = re.compile(r"([\\`*_\[\]#|~>])")
_NOBODY = "@\N{ZERO WIDTH SPACE}"
"""An at sign that mentions nobody; GitHub looks through a backslash."""


def escaped(text: str) -> str:
    """Text that shows as it is: no table cell, tag, link, mention or emphasis comes of it; on one line."""
    line = " ".join(text.split())
    line = line.replace("&", "&amp;").replace("<", "&lt;")
    return _ACTIVE.sub(r"\\\1", line).replace("@", _NOBODY)


def summary_text(
    plan: TriggerPlan,
    result: TriggerResult,
    checks: Sequence[AssertionCheck] = (),
    comparison: Comparison | None = None,
    answered: float | None = None,
    *,
    passed: bool,
) -> str:
    """Verdict, numbers, advice, what was asked, and the comparison with an earlier result.

    ``passed``: whether the process ends with 0, which is what the sign says; a service that is trapped as it
    was expected to be passes.
    """
    parts = [f"### {'✅' if passed else '❌'} tipover trigger: {escaped(plan.name)}", *_loud(result)]
    parts.append(f"**{escaped(headline(result))}**")
    parts.append(escaped(verdict_text(plan, result, answered)))
    if result.left_healthy:
        parts.append(escaped(health_text(result)))
    parts.append(_table(("quantity", "value"), finding_rows(plan, result)))
    parts += _shots(plan, result)
    if result.advice:
        parts.append("**What would change it**")
        parts.append(_table(("change", "comes back up to", "why"), advice_rows(result)))
    if checks:
        rows = [(("✅ " if c.passed else "❌ ") + c.name, c.asked, c.found, c.why) for c in checks]
        parts.append(_table(("asked", "must be", "is", "why"), rows))
    parts += _comparison(comparison)
    said = [*remarks(result), *(f"warning: {warning}" for warning in result.warnings)]
    if said:
        items = "\n".join(f"- {escaped(sentence)}" for sentence in said)
        parts.append(f"<details><summary>Evidence</summary>\n\n{items}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _loud(result: TriggerResult) -> list[str]:
    said = [f"> **{escaped(sentence)}**" for sentence in alarms(result)]
    if result.invalid_reasons:
        reasons = escaped("; ".join(result.invalid_reasons))
        said.insert(0, f"> **INVALID TEST, do not read it as the service's behaviour:** {reasons}")
    return said


def _shots(plan: TriggerPlan, result: TriggerResult) -> list[str]:
    if len(result.shots) < 2:
        return []
    heads = ("utilization", "dose", "verdict", "to verdict", "timeouts", "Aρ", "A", "method", "rescue")
    return ["**Pushes**", _table(heads, shot_rows(plan, result))]


def _comparison(comparison: Comparison | None) -> list[str]:
    if comparison is None:
        return []
    sign = "❌ " if comparison.failed else ""
    said = [f"**{sign}{escaped(summary(comparison))}**"]
    if comparison.changes:
        rows = [
            (change.name, change.before, change.now, _word(change.word, change.why))
            for change in comparison.changes
        ]
        said.append(_table(("quantity", "earlier", "now", "change"), rows))
    return said


def _word(word: str, why: str) -> str:
    return f"{word}: {why}" if why else word


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads)]
    text = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([*text, *("| " + " | ".join(map(escaped, row)) + " |" for row in rows)])
