"""The page of a trigger test: one self-contained file for whoever is woken at three in the morning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.report.tables import run_rows
from analysis.trigger import against, tables, words
from analysis.trigger.against import Comparison
from analysis.trigger.assertions import AssertionCheck
from analysis.trigger.observations import Observations
from analysis.trigger.result import Shot, TriggerResult
from analysis.trigger.troubles import reason_rows
from analysis.web_page import picture_uri, rendered
from analysis.wording import percent
from domain.trigger.plan import TriggerPlan

if TYPE_CHECKING:
    from analysis.plots.canvas import Plot

FILE_NAME = "trigger.html"

ORIGINS = {
    "rates, goodput, first picture": "trigger-lines.jsonl: what the generator counted, every 50 ms",
    "waits, Aρ and A, second picture": "trigger-lines.jsonl: every patient probe that ended",
    "verdict, intervals, threshold, advice, phases": "trigger.json, worked out from those lines",
    "plan, client, requests, guards": "trigger.json, as asked for; secrets stand there by name only",
    "single attempts": "attempts/",
    "whether the generator was sound": "generator/worker-*.json",
}


@dataclass(frozen=True)
class Mark:
    """A push on the bar; ``at`` in percent. ``kind`` is ``asked`` or ``other``."""

    at: float
    kind: str
    words: str


@dataclass(frozen=True)
class Bar:
    """Utilizations from 0 to 100% and what is known of them; all but ``words`` in percent: up to ``back`` the
    service comes back, the next ``open`` are within the error, from ``down`` on it stays failed."""

    back: float
    open: float
    down: float
    marks: tuple[Mark, ...]
    words: str


def draw_plots(directory: Path, plan: TriggerPlan, result: TriggerResult, seen: Observations) -> list[Plot]:
    """Draw both pictures, write each to ``plots/<name>.png`` in the run directory and return them; none if
    nothing was sent, or nothing was ever answered."""
    from analysis.trigger.story_picture import draw_story  # matplotlib is slow to import
    from analysis.trigger.wait_picture import draw_wait

    folder = directory / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    if not seen.ticks or words.unreached(result):
        return []
    plots = [draw_story(plan, result, seen), draw_wait(plan, result, seen)]
    for plot in plots:
        (folder / f"{plot.name}.png").write_bytes(plot.png)
    return plots


def write_page(directory: Path, text: str) -> Path:
    """Write ``trigger.html`` into the run directory."""
    path = directory / FILE_NAME
    path.write_bytes(text.encode("utf-8", errors="xmlcharrefreplace"))
    return path


def render(
    plan: TriggerPlan,
    result: TriggerResult,
    plots: Sequence[Plot],
    *,
    checks: Sequence[AssertionCheck] = (),
    comparison: Comparison | None = None,
    answered: float | None = None,
    run: Mapping[str, object] | None = None,
    run_name: str = "",
) -> str:
    """The page as text. ``answered`` is ``words.answered_share``, ``run`` the content of ``run.json``."""
    return rendered(
        "trigger.html.j2",
        plan=plan,
        result=result,
        run_name=run_name,
        tone=words.tone(result),
        headline=words.headline(result),
        text=words.verdict_text(plan, result, answered),
        health=words.health_text(result),
        alarms=words.alarms(result),
        checks=checks,
        comparison=comparison,
        compared=against.summary(comparison) if comparison else "",
        plots=[(plot, picture_uri(plot.png)) for plot in plots],
        remarks=words.remarks(result),
        error_reasons=reason_rows(result.error_reasons),
        bar=bar(result),
        threshold_method=words.threshold_method(result),
        findings=tables.finding_rows(plan, result),
        shots=tables.shot_rows(plan, result),
        confidence=percent(result.confidence),
        advice=tables.advice_rows(result),
        phases=tables.phase_rows(result),
        plan_rows=tables.plan_rows(plan, result),
        client_rows=tables.client_setting_rows(plan),
        requests=tables.request_rows(plan),
        success=tables.success_text(plan),
        guards=tables.guard_rows(plan),
        origins=list(ORIGINS.items()),
        environment=run_rows(run) if run else [],
    )


def bar(result: TriggerResult) -> Bar | None:
    """What is known of each utilization; None if no threshold is."""
    threshold = result.threshold
    if threshold is None:
        return None
    low, high = _on_bar(threshold.low), _on_bar(threshold.high)
    shots = tuple(_mark(shot, index) for index, shot in enumerate(result.shots))
    return Bar(low, round(high - low, 2), high, shots, words.threshold_sentence(result))


def _mark(shot: Shot, index: int) -> Mark:
    said = f"{percent(shot.utilization)}: {shot.verdict}"
    return Mark(_on_bar(shot.utilization), "other" if index else "asked", said)


def _on_bar(ratio: float) -> float:
    return round(100.0 * min(max(ratio, 0.0), 1.0), 2)
