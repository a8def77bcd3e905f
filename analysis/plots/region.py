"""Definition 9's region as a picture: over-provisioning against work lost, by what the fleet is scaled on."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis.fleets.region import Region, RegionPoint, frontier
from analysis.plots.canvas import (
    BLUE,
    DPI,
    GREY,
    INK,
    LEFT,
    RIGHT,
    SIZE_IN,
    VERMILLION,
    Plot,
    draw_heading,
    draw_key,
    png_of,
    thousands,
)
from analysis.plots.labels import drawable
from analysis.wording import number

CAPTION = (
    "Definition 9: the most pods over those the demand needs at the target, N/N*, against the jobs "
    "lost from the step "
    "on, in seconds of that demand. Down and left is better; an arrow: trapped, it goes on losing. The "
    "line joins the "
    "predicted signals that no other beats in both (the frontier). Predicted for {watched} s after the "
    "step, measured "
    "to the end of the watch."
)
NEAR = 0.012
"""Points as near as this, in parts of the axes, share a label."""


def draw_region(region: Region, measured: Sequence[RegionPoint]) -> Plot:
    """Rings for the fluid model's points, discs for measured ones."""
    predicted = region.points
    title = region_title(predicted)
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    draw_heading(figure, title, SIZE_IN[0])
    axes = figure.add_axes((LEFT, 0.205, RIGHT - LEFT, 0.68))
    _dress(axes, [*predicted, *measured])
    _draw_frontier(axes, predicted)
    for point in predicted:
        _draw_point(axes, point, filled=False)
    for point in measured:
        _draw_point(axes, point, filled=True)
    _label(axes, predicted)
    draw_key(figure, _key(predicted, measured))
    caption = CAPTION.format(watched=number(region.watched_s))
    return Plot(
        "region", title, caption, f"Scatter of over-provisioning against work lost. {title}.", png_of(figure)
    )


def region_title(points: Sequence[RegionPoint]) -> str:
    """Which signals never recover, and which of the others is cheapest."""
    trapped = [point.name for point in points if point.is_trapped]
    free = [point for point in points if not point.is_trapped]
    if not free:
        return "Whatever it is scaled on, the fleet stays failed"
    best = min(free, key=lambda point: (point.lost_s, point.over_provisioning, len(point.name)))
    times = number(best.over_provisioning)
    least = f"{best.name} loses least: {number(best.lost_s)} s of demand, at {times} times the pods"
    return f"{_listed(trapped)} stays failed; {least}" if trapped else least[0].upper() + least[1:]


def _listed(names: Sequence[str]) -> str:
    return "Scaled on " + " and on ".join(names) + " it"


def _dress(axes: Axes, points: Sequence[RegionPoint]) -> None:
    right = max((point.over_provisioning for point in points), default=1.0)
    top = max((point.lost_s for point in points), default=1.0)
    axes.set_xlim(0, 1.3 * max(right, 1.0))
    axes.set_ylim(0, 1.32 * max(top, 1e-9))
    axes.set_xlabel("most pods over those needed, max N/N*", fontsize=9.5, labelpad=2)
    axes.set_ylabel("work lost, s of the demand", fontsize=9.5)
    axes.tick_params(labelsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(9, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    axes.grid(color="#dddddd", lw=0.6, zorder=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.axvline(1.0, color=GREY, lw=1.0, ls=(0, (1, 1.2)), zorder=1)
    axes.annotate(
        "as many as needed", (1.0, 0.0), xytext=(4, 5), textcoords="offset points", fontsize=8, color=GREY
    )


def _draw_frontier(axes: Axes, points: Sequence[RegionPoint]) -> None:
    best = frontier(points)
    xs, ys = [point.over_provisioning for point in best], [point.lost_s for point in best]
    axes.plot(xs, ys, color=BLUE, lw=1.2, ls=(0, (1, 1.2)), zorder=2)


def _draw_point(axes: Axes, point: RegionPoint, *, filled: bool) -> None:
    colour = VERMILLION if point.is_trapped else BLUE
    x, y = point.over_provisioning, point.lost_s
    size, face = (8, colour) if filled else (12, "white")
    axes.plot(x, y, "o", mfc=face, mec=colour, ms=size, mew=1.8, ls="", zorder=5 if filled else 4)
    if point.is_trapped:
        axes.annotate(
            "", (x, y), xytext=(0, 30), textcoords="offset points", zorder=3.5,
            arrowprops={"arrowstyle": "<|-", "color": colour, "lw": 1.6, "shrinkB": 6},
        )  # fmt: skip


def _label(axes: Axes, predicted: Sequence[RegionPoint]) -> None:
    """One label for all points at a place, to their right; the run's own in bold."""
    right, top = axes.get_xlim()[1], axes.get_ylim()[1]
    groups: list[list[RegionPoint]] = []
    for point in predicted:
        near = next(
            (
                group
                for group in groups
                if abs(group[0].over_provisioning - point.over_provisioning) < NEAR * right
                and abs(group[0].lost_s - point.lost_s) < NEAR * top
            ),
            None,
        )
        if near is None:
            groups.append([point])
        else:
            near.append(point)
    for group in groups:
        names, first = "; ".join(point.name for point in group), group[0]
        figures = f"{number(first.lost_s)} s lost, {number(first.over_provisioning)} × N*"
        figures += ", and rising" if first.is_trapped else ""
        axes.annotate(
            f"{drawable(names, 60)}\n{figures}",
            (first.over_provisioning, first.lost_s),
            xytext=(22, 20) if first.is_trapped else (13, 0),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color=INK,
            weight="bold" if any(point.own for point in group) else "normal",
            zorder=6,
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 1.0},
        )


def _key(predicted: Sequence[RegionPoint], measured: Sequence[RegionPoint]) -> list[Line2D]:
    entries = []
    if predicted:
        entries.append(
            Line2D([], [], marker="o", mfc="white", mec=BLUE, ms=11, mew=1.8, ls="", label="fluid prediction")
        )
        entries.append(Line2D([], [], color=BLUE, lw=1.2, ls=(0, (1, 1.2)), label="frontier"))
    if measured:
        words = "measured in this run" if len(measured) == 1 else "measured"
        entries.append(Line2D([], [], marker="o", color=BLUE, ms=8, ls="", label=words))
    if any(point.is_trapped for point in [*predicted, *measured]):
        entries.append(Line2D([], [], marker="o", color=VERMILLION, ms=8, ls="", label="trapped"))
    return entries
