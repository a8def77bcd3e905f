"""How many attempts each job made, against the number at which failing jobs alone fill the service."""

from __future__ import annotations

import math

from matplotlib.typing import LineStyleType

from analysis.plots.canvas import (
    GREY,
    INK,
    PURPLE,
    VERMILLION,
    Plot,
    Sheet,
    column,
    draw_measured,
    highest,
    new_sheet,
    say_nothing_recorded,
)
from analysis.result import RunResult
from analysis.trap import failing_amplification
from analysis.wording import number, predicted_else_measured

CAPTION = (
    "One attempt per job means that nothing is retried. When every attempt fails, each job makes all the "
    "attempts it may; if that is at least 1/ρ (capacity over demand), failing clients alone keep the service "
    "full."
)


def draw_amplification(result: RunResult) -> Plot:
    """Attempts per job over time with the lines 1, A and 1/ρ."""
    most = failing_amplification(result.experiment)
    threshold = _threshold(result)
    title = _title(most, threshold)
    sheet = new_sheet(result, title, "attempts per job")
    if not draw_measured(sheet, result, "amplification", "attempts per job", PURPLE, width=1.9):
        say_nothing_recorded(sheet, "no job was recorded")
    measured_top = highest(column(result, "amplification"))
    top = max(1.3 * most if math.isfinite(most) else 0.0, 1.15 * measured_top, 1.5)
    if threshold is not None and threshold < 1.6 * top:
        top = max(top, 1.15 * threshold)
    sheet.axes.set_ylim(0, top)
    _line(sheet, 1.0, "1: no retries", GREY, (0, (1, 1.5)))
    if math.isfinite(most):
        _line(sheet, most, f"A = {number(most)}: every attempt fails", INK, (0, (1, 1.5)))
    if threshold is not None and threshold < top:
        words = f"1/ρ = {number(threshold)}: failing jobs alone fill the service"
        _line(sheet, threshold, words, VERMILLION, "-")
    alt = f"Line chart of attempts per job over time. {title}."
    return Plot("amplification", title, CAPTION, alt, sheet.png())


def _threshold(result: RunResult) -> float | None:
    utilization = predicted_else_measured(result, "utilization") or result.experiment.utilization
    return 1 / utilization if utilization else None


def _title(most: float, threshold: float | None) -> str:
    allowed = number(most) if math.isfinite(most) else "any number of"
    if threshold is None:
        return f"Attempts per job, of {allowed} allowed"
    if most >= threshold:
        return (
            f"Jobs may make {allowed} attempts; 1/ρ = {number(threshold)} are enough to keep the service down"
        )
    return f"Jobs may make {allowed} attempts; keeping the service down would take 1/ρ = {number(threshold)}"


def _line(sheet: Sheet, height: float, label: str, color: str, style: LineStyleType) -> None:
    sheet.axes.axhline(height, color=color, lw=1.4, ls=style, label=label, zorder=2.5)
