"""A sheet with panels that each have axes, a heading and a legend of their own."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, ScalarFormatter
from PIL import Image

from analysis.plots.canvas import BLUE, GREEN, GREY, INK, ORANGE, PURPLE, VERMILLION, thousands
from analysis.studies.sample import Sample

PANEL_IN = (5.0, 3.9)
DPI = 120
COLOURS = 192
"""With a palette a PNG of the largest sheet stays well under 150 kB; nobody sees the difference."""
POLICY_COLOURS = {"none": VERMILLION, "fixed": ORANGE, "exponential": GREEN, "jitter": BLUE}
POLICY_WORDS = {
    "none": "none: at once",
    "fixed": "fixed, T/2",
    "exponential": "exponential",
    "jitter": "full jitter",
}
SERIES = (BLUE, VERMILLION, GREEN, ORANGE, PURPLE, INK)
LEGEND: dict[str, Any] = {
    "facecolor": "white",
    "edgecolor": "none",
    "framealpha": 0.9,
    "fontsize": 8,
    "handlelength": 1.8,
    "labelspacing": 0.35,
}


@dataclass(frozen=True)
class Sheet:
    """A figure and its panels, row by row."""

    figure: Figure
    panels: tuple[Axes, ...]

    def save(self, path: Path) -> None:
        """Write the PNG, in a palette."""
        drawn = io.BytesIO()
        self.figure.savefig(drawn, format="png", dpi=DPI)
        with Image.open(drawn) as picture:
            palette = picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
        palette.save(path, format="PNG", optimize=True)


def new_sheet(title: str, rows: int, columns: int, panel_in: tuple[float, float] = PANEL_IN) -> Sheet:
    """An empty sheet under a title that says what is shown, not what comes out."""
    size = (columns * panel_in[0], rows * panel_in[1] + 0.4)
    figure = Figure(
        figsize=size, dpi=DPI, facecolor="white", layout=ConstrainedLayoutEngine(rect=(0, 0, 0.985, 1))
    )
    FigureCanvasAgg(figure)
    figure.suptitle(title, x=0.01, ha="left", fontsize=12.5, weight="bold", color=INK)
    return Sheet(figure, tuple(figure.subplots(rows, columns, squeeze=False).flat))


def dress(axes: Axes, heading: str, x_label: str, y_label: str) -> None:
    """Heading, labels, grid and spines of one panel."""
    axes.set_title(heading, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x_label, fontsize=9.5)
    axes.set_ylabel(y_label, fontsize=9.5)
    axes.tick_params(labelsize=9)
    for axis in (axes.xaxis, axes.yaxis):
        if isinstance(axis.get_major_formatter(), ScalarFormatter):
            axis.set_major_formatter(FuncFormatter(thousands))
    axes.grid(axis="y", color="#dddddd", lw=0.6, zorder=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def at_least(axes: Axes, low: float, high: float) -> None:
    """A y axis from ``low`` to ``high``, and further where a point or its interval lies outside."""
    drawn = axes.dataLim
    room = 0.03 * (high - low)
    axes.set_ylim(min(low, drawn.y0 - room), max(high, drawn.y1 + room))


def points(
    axes: Axes, x: Sequence[float], samples: Sequence[Sample], colour: str, label: str, marker: str = "o"
) -> None:
    """Means with their 95% intervals."""
    axes.errorbar(
        x,
        [s.mean for s in samples],
        yerr=[s.half_width for s in samples],
        fmt=marker,
        ms=4.5,
        color=colour,
        elinewidth=1.2,
        capsize=2.5,
        label=label,
        zorder=4,
    )


def shares(axes: Axes, x: Sequence[float], rows: Sequence[Any], colour: str, label: str) -> None:
    """Shares with their 95% intervals, joined by a line."""
    values = [row["count"] / row["of"] for row in rows]
    below = [max(0.0, v - row["interval_95"][0]) for v, row in zip(values, rows, strict=True)]
    above = [max(0.0, row["interval_95"][1] - v) for v, row in zip(values, rows, strict=True)]
    axes.errorbar(
        x,
        values,
        yerr=[below, above],
        fmt="o-",
        ms=4,
        lw=1.4,
        capsize=2.5,
        color=colour,
        label=label,
        zorder=4,
    )


def claimed(axes: Axes, x: Sequence[float], y: Sequence[float], label: str = "the source's figure") -> None:
    """The source's own figures."""
    axes.plot(x, y, ls="none", marker="x", ms=6.5, mew=1.6, color=INK, label=label, zorder=5)


def law_line(axes: Axes, height: float, label: str, colour: str = GREY) -> None:
    """A law that does not depend on x."""
    axes.axhline(height, color=colour, lw=1.3, ls=(0, (5, 2.5)), label=label, zorder=2)
