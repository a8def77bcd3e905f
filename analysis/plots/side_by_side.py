"""Runs over one another: goodput and backlog against scenario time, one line a run."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from analysis.mitigations.runs import ScoredRun
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
    VERMILLION,
    Plot,
    column,
    draw_heading,
    draw_phase_strip,
    dress,
    highest,
    png_of,
    tint_phases,
)
from analysis.plots.forecast import AXIS_NOTE
from analysis.plots.labels import drawable
from analysis.plots.wait import scale_wait

SIZE_IN = (10.0, 6.8)
COLOURS = (VERMILLION, BLUE, GREEN, ORANGE, PURPLE, SKY, INK)
KEY_COLUMNS, KEY_LINE = 4, 0.032
STYLES = ("-", (0, (5, 2)), (0, (1, 1.2)))
"""As many as go with the colours into different pairs, since neither number divides the other."""
OPACITY = 0.85
WIDEST, NARROWEST = 2.8, 1.2
"""Line widths of the first run, which lies below all others, and of the last, in points."""
CAPTION = (
    "Above: jobs answered in time over normal demand, which is that without trigger or shedding, or over the "
    "demand that stepped up for good. Below: the work that waits, in seconds; first in, first out, "
    "nobody waits for what is beyond the timeout."
)


def draw_side_by_side(runs: Sequence[ScoredRun]) -> Plot:
    """Goodput and, where services tell it, backlog; phases are those of the first run."""
    title = side_by_side_title(runs)
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    draw_heading(figure, title, SIZE_IN[0])
    end_s = max(run.result.experiment.duration_s for run in runs)
    longest = max((run.result.experiment for run in runs), key=lambda experiment: experiment.duration_s)
    draw_phase_strip(figure, longest, bottom=0.865, height=0.034)
    bottom = 0.09 + KEY_LINE * math.ceil((len(runs) + 1) / KEY_COLUMNS)
    height = (0.85 - bottom - 0.06) / 2
    backlog = figure.add_axes((LEFT, bottom, RIGHT - LEFT, height))
    goodput = figure.add_axes((LEFT, bottom + height + 0.06, RIGHT - LEFT, height))
    whose = "stepped" if all(run.result.experiment.step_s is not None for run in runs) else "normal"
    for axes, label in ((goodput, f"goodput over {whose} demand"), (backlog, "backlog, s of work")):
        tint_phases(axes, longest)
        dress(axes, end_s, label, longest.run.speedup)
    goodput.set_xlabel("")
    goodput.tick_params(labelbottom=False)
    widths = np.linspace(WIDEST, NARROWEST, len(runs))
    handles = [
        _draw_run(goodput, backlog, run, index, float(width))
        for index, (run, width) in enumerate(zip(runs, widths, strict=True))
    ]
    goodput.set_ylim(0.0, min(max(1.1, 1.1 * _top(goodput)), 6.0))
    timeouts = {run.result.experiment.client.timeout_s for run in runs}
    scale_wait(backlog, max(timeouts), _top(backlog))
    if backlog.get_yscale() != "linear":
        _note_axis(backlog)
    for timeout_s in timeouts:
        backlog.axhline(timeout_s, color=INK, lw=0.9, ls=(0, (1, 1.2)))
    handles.append(Line2D([], [], color=INK, lw=0.9, ls=(0, (1, 1.2)), label=_timeout_label(timeouts)))
    _draw_key(figure, handles)
    return Plot(
        "compare", title, CAPTION, f"Line charts of goodput and backlog over time. {title}.", png_of(figure)
    )


def side_by_side_title(runs: Sequence[ScoredRun]) -> str:
    """Each run and what became of it."""
    words = [f"{run.name}: {run.score.outcome if run.result.valid else 'INVALID'}" for run in runs]
    return "; ".join(words)


def _timeout_label(timeouts: Collection[float]) -> str:
    return "timeout T" if len(timeouts) == 1 else "timeouts; T is the longest"


def _note_axis(axes: Axes) -> None:
    # On the right, as in the forecast: the left margin holds no second line beside the tick labels.
    axes.text(
        1.006, 0.5, AXIS_NOTE, transform=axes.transAxes, rotation=90, va="center", fontsize=8, color=GREY
    )


def _draw_run(goodput: Axes, backlog: Axes, run: ScoredRun, index: int, width: float) -> Line2D:
    style = {
        "color": COLOURS[index % len(COLOURS)],
        "ls": STYLES[index % len(STYLES)],
        "lw": width,
        "alpha": OPACITY,
        "zorder": 3,
    }
    result = run.result
    rate = result.experiment.watched_rate_per_s
    t = column(result, "t_s")
    goodput.plot(t, column(result, "goodput_per_s") / rate, drawstyle="steps-post", **style)  # type: ignore[arg-type]
    wait = column(result, "wait_s")
    # The target is asked twice a second: a narrow bucket may hold no answer, and that is no gap.
    known = np.isfinite(wait)
    if known.any():
        backlog.plot(t[known], wait[known], **style)  # type: ignore[arg-type]
    name = run.name if result.valid else f"{run.name} (INVALID)"
    return Line2D([], [], label=drawable(name, 44), **style)  # type: ignore[arg-type]


def _top(axes: Axes) -> float:
    return highest(*(np.asarray(line.get_ydata(), dtype=np.float64) for line in axes.get_lines()))


def _draw_key(figure: Figure, handles: Sequence[Line2D]) -> None:
    figure.legend(
        handles=list(handles), loc="lower center", bbox_to_anchor=((LEFT + RIGHT) / 2, 0.005),
        ncols=min(KEY_COLUMNS, len(handles)), frameon=False, fontsize=9, handlelength=2.4, columnspacing=1.5,
    )  # fmt: skip
