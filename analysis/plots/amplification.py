"""How many attempts each job made, against the number at which failing jobs alone fill the service."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.typing import LineStyleType

from analysis.fleets.pod_path import PodPath
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
from analysis.plots.fleet_moments import reported_pods
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
    room = _fleets_room(result)
    threshold = None if result.experiment.fleet is not None else _threshold(result)
    title = _title(most, threshold) if room is None else _fleets_title(result, most, room)
    sheet = new_sheet(result, title, "attempts per job")
    if not draw_measured(sheet, result, "amplification", "attempts per job", PURPLE, width=1.9):
        say_nothing_recorded(sheet, "no job was recorded")
    measured_top = highest(column(result, "amplification"))
    top = max(1.3 * most if math.isfinite(most) else 0.0, 1.15 * measured_top, 1.5)
    if threshold is not None and threshold < 1.6 * top:
        top = max(top, 1.15 * threshold)
    if room is not None:
        top = max(top, min(1.15 * highest(room.pods), 3.0 * top))
        t_s = np.append(room.t_s, result.experiment.duration_s)
        sheet.axes.plot(
            t_s, np.append(room.pods, room.pods[-1]), drawstyle="steps-post", color=VERMILLION, lw=1.4,
            label="1/ρ: attempts per job that the pods have room for", zorder=2.5,
        )  # fmt: skip
    sheet.axes.set_ylim(0, top)
    _line(sheet, 1.0, "1: no retries", GREY, (0, (1, 1.5)))
    if math.isfinite(most):
        _line(sheet, most, f"A = {number(most)}: every attempt fails", INK, (0, (1, 1.5)))
    if threshold is not None and threshold < top:
        words = f"1/ρ = {number(threshold)}: failing jobs alone fill the service"
        _line(sheet, threshold, words, VERMILLION, "-")
    alt = f"Line chart of attempts per job over time. {title}."
    return Plot("amplification", title, CAPTION, alt, sheet.png())


def _fleets_room(result: RunResult) -> PodPath | None:
    """1/ρ of a fleet at each moment: what its pods could do over the demand then."""
    service = result.experiment.service
    path = reported_pods(result) if result.experiment.fleet is not None else None
    if service is None or path is None:
        return None
    ends = [placed.end_s for placed in result.experiment.placed_phases]
    factors = np.array([placed.phase.factor for placed in result.experiment.placed_phases])
    phase = np.minimum(np.searchsorted(ends, path.t_s, side="right"), factors.size - 1)
    demand = result.experiment.demand.arrival_rate_per_s * factors[phase]
    with np.errstate(divide="ignore"):
        return PodPath(path.t_s, path.pods * service.rate_per_pod / demand)


def _fleets_title(result: RunResult, most: float, room: PodPath) -> str:
    allowed = number(most) if math.isfinite(most) else "any number of"
    start, end = result.experiment.watch
    largest, last = number(room.most(start, end)), number(room.at(end))
    if largest == last:
        return f"Jobs may make {allowed} attempts; the fleet has room for {largest} a job"
    return (
        f"Jobs may make {allowed} attempts; at its largest the fleet had room for {largest}, at the end "
        f"for {last}"
    )


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
