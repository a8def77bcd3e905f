"""What both pictures of a trigger test share: the strip of its phases, and what they are called."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.plots.canvas import (
    DPI,
    LEFT,
    RIGHT,
    SIZE_IN,
    STATE_TINTS,
    Sheet,
    draw_heading,
    draw_strip,
    dress,
)
from analysis.trigger.result import PhaseDone, Shot, TriggerResult
from analysis.wording import percent

TINTS = {"capacity": "#e5e0f0", "spike": "#fbe0c8", "rescue": "#d6e9f8"}
NORMAL = "#f1f1f1"
WIDE_SHARE = 0.17
"""What a span needs of the width for the words "34.4%: not vulnerable"."""
VERDICT_TINTS = {"trapped": STATE_TINTS["failing"], "undecided": "#f5e6b3"}


def new_trigger_sheet(result: TriggerResult, title: str, y_label: str, start_s: float, end_s: float) -> Sheet:
    """An empty sheet from ``start_s`` to ``end_s`` of the test's time, under a strip of its phases."""
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    heading = f"INVALID TEST. {title}" if result.invalid_reasons else title
    draw_heading(figure, heading, SIZE_IN[0])
    axes = figure.add_axes((LEFT, 0.175, RIGHT - LEFT, 0.615))
    end_s = max(end_s, start_s + 1e-6)
    shown = [phase for phase in result.phases if phase.end_s > start_s and phase.start_s < end_s]
    # The phases of several pushes are too many to be named; their pushes are not.
    several = sum(start_s <= shot.spike_end_s <= end_s for shot in result.shots) > 1
    pushes = _pushes(result, end_s) if several else []
    named = pushes or [(p.start_s, p.end_s, p.name, TINTS.get(kind(p), NORMAL)) for p in shown]
    spans = [
        (max(left, start_s) - start_s, min(right, end_s) - start_s, label, tint)
        for left, right, label, tint in named
        if right > start_s and left < end_s
    ]
    draw_strip(figure, "push" if pushes else "phase", 0.804, 0.046, spans, end_s - start_s)
    dress(axes, end_s, y_label, 1.0)
    axes.set_xlim(start_s, end_s)
    axes.set_xlabel("seconds since the generator started", fontsize=9.5, labelpad=2)
    tint(axes, shown)
    return Sheet(figure, axes)


def tint(axes: Axes, phases: list[PhaseDone]) -> None:
    """Shade the phases in which the load was not normal."""
    for phase in phases:
        colour = TINTS.get(kind(phase))
        if colour is not None:
            axes.axvspan(phase.start_s, phase.end_s, color=colour, alpha=0.55, lw=0, zorder=0)


def kind(phase: PhaseDone) -> str:
    """The first word of a phase's name: several pushes number theirs."""
    return phase.name.split()[0].split("-")[0] if phase.name.strip() else ""


def pushes_named(result: TriggerResult) -> str:
    """A sentence that names every push by its number; empty if there are not several."""
    if len(result.shots) < 2:
        return ""
    named = [f"{n} at {percent(s.utilization)}: {s.verdict}" for n, s in enumerate(result.shots, 1)]
    return f" Pushes, in their order: {'; '.join(named)}."


def _pushes(result: TriggerResult, end_s: float) -> list[tuple[float, float, str, str]]:
    """A span for every push, from its baseline to that of the next, with how it ended if all have room for
    it, or else with its number, which ``pushes_named`` explains."""
    starts = [_baseline_start_s(result, shot) for shot in result.shots]
    spans = []
    ends = [*starts[1:], end_s]
    total_s = end_s - min((phase.start_s for phase in result.phases), default=0.0)
    narrowest_s = min(right - left for left, right in zip(starts, ends, strict=True))
    wide = narrowest_s >= WIDE_SHARE * total_s
    for number, (shot, left, right) in enumerate(zip(result.shots, starts, ends, strict=True), 1):
        label = f"{percent(shot.utilization)}: {shot.verdict}" if wide else str(number)
        spans.append((left, right, label, VERDICT_TINTS.get(shot.verdict, STATE_TINTS["healthy"])))
    return spans


def _baseline_start_s(result: TriggerResult, shot: Shot) -> float:
    before = [p.start_s for p in result.phases if kind(p) == "baseline" and p.start_s < shot.spike_end_s]
    return max(before, default=shot.spike_end_s)
