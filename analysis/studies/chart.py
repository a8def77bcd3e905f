"""A chart of a study: a title that says what is seen, one or more panels, a legend under them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from analysis.plots.canvas import INK, thousands
from analysis.plots.labels import drawable, shrink_to_fit

WIDTH_IN = 9.0
PANEL_IN = 4.2
DPI = 110
LEFT, RIGHT = 0.1, 0.975


@dataclass(frozen=True)
class Chart:
    """A figure and its panels, top to bottom or left to right."""

    figure: Figure
    panels: tuple[Axes, ...]
    legend_rows: int

    @property
    def axes(self) -> Axes:
        """The only panel, or the first."""
        return self.panels[0]

    def save(self, path: Path) -> None:
        """Write the PNG, with one legend for all panels under them."""
        entries: dict[str, Artist] = {}
        for axes in self.panels:
            for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
                entries.setdefault(label, handle)
        if entries:
            self.figure.legend(
                list(entries.values()),
                list(entries),
                loc="lower center",
                bbox_to_anchor=((LEFT + RIGHT) / 2, 0.0),
                ncols=math.ceil(len(entries) / self.legend_rows),
                frameon=False,
                fontsize=9,
                handlelength=2.2,
                columnspacing=1.5,
            )
        self.figure.savefig(path, format="png", dpi=DPI, metadata={"Software": None})


def new_chart(
    title: str,
    x_label: str,
    y_labels: Sequence[str],
    *,
    side_by_side: bool = False,
    share_y: bool = False,
    panel_in: float = PANEL_IN,
    legend_rows: int = 1,
    panel_titles: Sequence[str] = (),
) -> Chart:
    """An empty chart with a panel for every label of a y axis; stacked panels share the x axis."""
    count = len(y_labels)
    rows, columns = (1, count) if side_by_side else (count, 1)
    below_in = 0.55 + 0.22 * legend_rows
    above_in = 0.75 if panel_titles else 0.5
    height_in = above_in + rows * panel_in * (1.0 if rows == 1 else 0.62) + below_in
    figure = Figure(figsize=(WIDTH_IN, height_in), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    text = figure.text(
        LEFT,
        1 - 0.1 / height_in,
        drawable(title),
        ha="left",
        va="top",
        fontsize=12,
        weight="bold",
        color=INK,
    )
    shrink_to_fit(text, (RIGHT - LEFT) * WIDTH_IN * DPI)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=not side_by_side, sharey=share_y)
    figure.subplots_adjust(
        left=LEFT,
        right=RIGHT,
        top=1 - above_in / height_in,
        bottom=below_in / height_in,
        hspace=0.12,
        wspace=0.08 if share_y else 0.2,
    )
    panels = tuple(grid.flat)
    for axes, label in zip(panels, y_labels, strict=True):
        _dress(axes, label)
    for axes in panels if side_by_side else panels[-1:]:
        axes.set_xlabel(x_label, fontsize=9.5)
    for axes, words in zip(panels, panel_titles, strict=False):
        axes.set_title(words, fontsize=10)
    return Chart(figure, panels, legend_rows)


def log_y(axes: Axes, ticks: Sequence[float]) -> None:
    """A logarithmic y axis with these ticks, in plain numbers."""
    axes.set_yscale("log")
    axes.set_yticks(ticks)
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))


def _dress(axes: Axes, y_label: str) -> None:
    axes.set_ylabel(y_label, fontsize=9.5)
    axes.tick_params(labelsize=9)
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    axes.grid(axis="y", color="#dddddd", lw=0.6, zorder=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
