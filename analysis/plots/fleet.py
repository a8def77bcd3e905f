"""The story of an autoscaled fleet on one sheet: its pods, the rates, and what its signals asked for."""

from __future__ import annotations

import math

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.fleets.advice import Stakes
from analysis.fleets.decisions import signals_of
from analysis.plots.canvas import (
    BLUE,
    DPI,
    GREEN,
    GREY,
    INK,
    LEFT,
    ORANGE,
    PURPLE,
    RIGHT,
    SKY,
    STATE_TINTS,
    VERMILLION,
    Plot,
    column,
    draw_heading,
    draw_key,
    draw_phase_strip,
    draw_strip,
    dress,
    highest,
    masked,
    png_of,
    tint_phases,
)
from analysis.plots.fleet_moments import fleet_moments, reported_pods
from analysis.plots.labels import drawable, width_px
from analysis.plots.moments import Moment, state_spans
from analysis.result import RunResult
from analysis.wording import number, since_trigger

WIDTH_IN, HEIGHT_IN = 10.0, 8.32
NO_SIGNALS_IN = 1.87
"""What the sheet is lower without the panel of the signals."""
DASHED, DOTTED = (0, (5, 2.5)), (0, (1, 1.2))
SIGNAL_COLOURS = {"first": BLUE, "ingress": VERMILLION, "cpu": PURPLE}
CAPTION = (
    "Top: pods that serve and pods that are ordered; an order takes the dead time to serve. Middle: "
    "what is asked, "
    "sent and answered in time, and what the serving pods could do (dotted). "
)
SIGNALS_CAPTION = (
    "Bottom: what each signal the autoscaler read asked for, in pods; it orders the largest, up to its "
    "ceiling, and "
    "gives pods up only after the stabilization window. "
)
PREDICTED_CAPTION = "Dashed: what the fluid model predicts."


def draw_fleet(result: RunResult) -> Plot:
    """Pods, rates and, where the autoscaler left a record, signals over one time axis."""
    decisions = result.decisions
    told = decisions is not None and bool(signals_of(decisions))
    height = HEIGHT_IN if told else HEIGHT_IN - NO_SIGNALS_IN
    title = fleet_title(result)
    figure = Figure(figsize=(WIDTH_IN, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    draw_heading(figure, title if result.valid else f"INVALID RUN. {title}", WIDTH_IN)
    end_s = max(result.experiment.duration_s, 1e-9)
    draw_phase_strip(figure, result.experiment, bottom=1 - 0.62 / height, height=0.2 / height)
    states = [(start, end, word, STATE_TINTS[word]) for start, end, word in state_spans(result)]
    draw_strip(figure, "state", 1 - 0.85 / height, 0.2 / height, states, end_s)
    panels = _panels(figure, result, height, told)
    handles = [_draw_pods(panels[0], result), _draw_rates(panels[1], result)]
    if told:
        handles.append(_draw_signals(panels[2], result))
    for axes, entries in zip(panels, handles, strict=True):
        box = axes.get_position()
        draw_key(figure, entries, bottom=box.y0 - (0.7 if axes is panels[-1] else 0.3) / height)
    _mark(figure, panels, fleet_moments(result), height, end_s)
    caption = CAPTION + (SIGNALS_CAPTION if told else "")
    caption += PREDICTED_CAPTION if result.prediction.fluid is not None else ""
    return Plot(
        "fleet", title, caption.strip(), f"Line charts of pods, rates and signals. {title}.", png_of(figure)
    )


def fleet_title(result: RunResult) -> str:
    """How many pods there were and whether that helped."""
    values = result.measurement.values
    peak, settled = values.get("peak_pods"), values.get("settled_pods")
    if peak is None or settled is None:
        return "Nothing was recorded of the fleet's pods"
    at_most = f"{number(peak)} pods at most"
    if result.outcome == "trapped":
        return f"The fleet stays failed at {number(settled)} pods"
    if result.outcome == "recovered":
        took = number(values.get("recovery_s"))
        return f"With {at_most} it is well {took} s {since_trigger(result)}, and ends with {number(settled)}"
    if result.outcome == "healthy":
        return f"The fleet kept up with {at_most}"
    return f"Not settled: {number(settled)} pods when the watch ended"


def _panels(figure: Figure, result: RunResult, height: float, told: bool) -> list[Axes]:
    """Panels from top to bottom over the same time, each with room for its legend beneath."""
    heights = [1.75, 1.75, 1.45] if told else [1.75, 1.75]
    labels = ("pods", "per second", "pods asked for")
    top, panels = height - 1.72, []
    for panel_height, label in zip(heights, labels, strict=False):
        bottom = top - panel_height
        axes = figure.add_axes((LEFT, bottom / height, RIGHT - LEFT, panel_height / height))
        tint_phases(axes, result.experiment)
        dress(axes, max(result.experiment.duration_s, 1e-9), label, result.experiment.run.speedup)
        panels.append(axes)
        top = bottom - 0.42
    for axes in panels[:-1]:
        axes.set_xlabel("")
        axes.tick_params(labelbottom=False)
    return panels


def _draw_pods(axes: Axes, result: RunResult) -> list[Artist]:
    handles: list[Artist] = []
    tops: list[float] = []
    end_s = result.experiment.duration_s
    for name, label, colour, width in (
        ("replicas", "ordered", SKY, 1.4),
        ("pods", "serving", BLUE, 2.0),
    ):
        path = reported_pods(result, name)
        if path is None:
            continue
        t_s, pods = np.append(path.t_s, end_s), np.append(path.pods, path.pods[-1])
        handles += axes.plot(t_s, pods, drawstyle="steps-post", color=colour, lw=width, label=label, zorder=3)
        tops.append(float(path.pods.max()))
    fluid = result.prediction.fluid
    if fluid is not None:
        handles += axes.plot(
            fluid.t_s, fluid.pods, color=INK, lw=1.1, ls=DASHED, label="serving, predicted", zorder=4
        )
        tops.append(highest(fluid.pods))
    stakes = Stakes.of(result.experiment)
    top = max([*tops, 1.0])
    if stakes is not None:
        top = max(top, stakes.needed)
        handles.append(
            axes.axhline(
                stakes.needed, color=GREEN, lw=1.0, ls=DOTTED, zorder=2, label=f"needed, N* = {stakes.needed}"
            )
        )
        if math.isfinite(stakes.ceiling) and stakes.ceiling <= 1.6 * top:
            handles.append(_ceiling(axes, stakes.ceiling))
            top = max(top, stakes.ceiling)
    axes.set_ylim(0, 1.18 * top)
    return handles


def _ceiling(axes: Axes, pods: float) -> Line2D:
    return axes.axhline(pods, color=GREY, lw=1.0, ls=DOTTED, zorder=2, label=f"ceiling, {number(pods)}")


def _draw_rates(axes: Axes, result: RunResult) -> list[Artist]:
    fluid, t_s = result.prediction.fluid, column(result, "t_s")
    lines = (
        ("ingress_per_s", "ingress", VERMILLION, 1.4),
        ("demand_per_s", "demand", BLUE, 1.6),
        ("goodput_per_s", "goodput", GREEN, 1.8),
    )
    handles: list[Artist] = []
    tops = []
    for name, label, colour, width in lines:
        values = column(result, name)
        handles += axes.plot(
            t_s, values, drawstyle="steps-post", color=colour, lw=width, label=label, zorder=3
        )
        tops.append(highest(values))
        if fluid is not None:
            axes.plot(
                fluid.t_s,
                masked(getattr(fluid, name)),
                color=colour,
                lw=0.9,
                ls=DASHED,
                alpha=0.9,
                zorder=2.8,
            )
    service, path = result.experiment.service, reported_pods(result)
    if service is not None and path is not None:
        t, rate = np.append(path.t_s, result.experiment.duration_s), path.pods * service.rate_per_pod
        style = {"color": INK, "lw": 1.1, "ls": DOTTED, "label": "capacity", "zorder": 2.5}
        handles += axes.plot(t, np.append(rate, rate[-1]), drawstyle="steps-post", **style)  # type: ignore[arg-type]
        tops.append(highest(rate))
    axes.set_ylim(0, 1.12 * max([*tops, 1e-9]))
    if fluid is not None:
        handles.append(Line2D([], [], color=INK, lw=0.9, ls=DASHED, label="predicted"))
    return handles


def _draw_signals(axes: Axes, result: RunResult) -> list[Artist]:
    decisions, stakes = result.decisions, Stakes.of(result.experiment)
    assert decisions is not None
    t_s = decisions["t_s"].to_numpy()
    handles: list[Artist] = []
    tops = []
    for index, signal in enumerate(signals_of(decisions)):
        asked = masked(decisions.get(f"proposal:{signal}", np.full(t_s.size, np.nan)))
        colour = SIGNAL_COLOURS.get(signal, (ORANGE, PURPLE, GREY)[index % 3])
        handles += axes.plot(
            t_s, asked, drawstyle="steps-post", color=colour, lw=1.7, label=f"asked by {signal}", zorder=3
        )
        tops.append(highest(asked))
    ordered = masked(decisions["ordered"])
    handles += axes.plot(
        t_s, ordered, drawstyle="steps-post", color=SKY, lw=1.3, ls=(0, (3, 1.5)), label="ordered", zorder=3.5
    )
    tops.append(highest(ordered))
    top = max([*tops, 1.0])
    if stakes is not None and math.isfinite(stakes.ceiling) and stakes.ceiling <= 1.6 * top:
        handles.append(_ceiling(axes, stakes.ceiling))
        top = max(top, stakes.ceiling)
    if stakes is not None:
        handles.append(
            axes.axhline(
                stakes.draining_pods, color=INK, lw=1.0, ls=DOTTED, zorder=2,
                label=f"Aλ/μ = {number(stakes.draining_pods)}: only more drain",
            )
        )  # fmt: skip
        top = max(top, min(stakes.draining_pods, 3 * top))
    axes.set_ylim(0, 1.15 * top)
    return handles


def _mark(figure: Figure, panels: list[Axes], moments: list[Moment], height: float, end_s: float) -> None:
    """A line through all panels at each moment; its words above them, in the first row where they fit."""
    strip_in = 0.8
    strip = figure.add_axes((LEFT, (height - 0.9 - strip_in) / height, RIGHT - LEFT, strip_in / height))
    strip.set_xlim(0, end_s)
    strip.set_ylim(0, 1)
    strip.axis("off")
    width = strip.get_window_extent().width
    free = [0.0] * 4
    for moment in moments:
        style = DASHED if moment.predicted else "-"
        text = strip.text(
            0, 0, drawable(moment.words), fontsize=8.5, color=INK, va="center", zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
        wide = width_px(text)
        at_px = moment.t_s / end_s * width
        left_px = at_px + 4 if at_px + 4 + wide <= width else at_px - 4 - wide
        row = next((i for i, until in enumerate(free) if left_px >= until), len(free) - 1)
        free[row] = left_px + wide + 8
        level = 0.88 - 0.25 * row
        text.set_position((left_px / width * end_s, level))
        strip.plot([moment.t_s] * 2, [0.0, level + 0.1], color=INK, lw=0.9, ls=style, clip_on=False)
        for axes in panels:
            axes.axvline(moment.t_s, color=INK, lw=0.8, ls=style, alpha=0.75, zorder=5)
