"""What every plot shares: the sheet, the colours, the strips of phases and states, the time axis."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from matplotlib.typing import ColorType

from analysis.plots.labels import drawable, label_spans, shrink_to_fit
from analysis.plots.moments import state_spans
from analysis.result import Floats, RunResult
from analysis.wording import number
from domain.experiment import Experiment

SIZE_IN = (10.0, 4.5)
DPI = 150
LEFT, RIGHT = 0.075, 0.975
STRIP_HEIGHT = 0.046

# Okabe and Ito's palette (2008), which the colour-blind can tell apart.
BLUE, VERMILLION, GREEN, ORANGE = "#0072B2", "#D55E00", "#009E73", "#E69F00"
PURPLE, SKY, INK, GREY = "#CC79A7", "#56B4E9", "#222222", "#6b6b6b"

ROLE_TINTS = {"trigger": "#fbe0c8", "shed": "#d6e9f8", "normal": "#f1f1f1"}
STATE_TINTS = {"healthy": "#c9ead9", "failing": "#f2b8a0", "recovered": "#c9ead9", "not known": "#f1f1f1"}


@dataclass(frozen=True)
class Plot:
    """A finished picture: file name without suffix, words for people who see it and who do not, PNG."""

    name: str
    title: str
    caption: str
    alt: str
    png: bytes

    @property
    def size_px(self) -> tuple[int, int]:
        """Width and height, as the header of the PNG says."""
        return int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")


@dataclass(frozen=True)
class Sheet:
    """A figure with one axes over scenario time, under a strip of phases and one of states."""

    figure: Figure
    axes: Axes

    def png(self, handles: Sequence[Artist] = ()) -> bytes:
        """The finished picture, with a legend under it."""
        entries = list(handles) or [
            line for line in self.axes.get_lines() if not str(line.get_label()).startswith("_")
        ]
        draw_key(self.figure, entries)
        return png_of(self.figure)


def draw_key(figure: Figure, entries: Sequence[Artist], *, bottom: float = 0.0) -> None:
    """A legend in one line, at this height of the figure."""
    if entries:
        figure.legend(
            handles=list(entries),
            loc="lower center",
            bbox_to_anchor=((LEFT + RIGHT) / 2, bottom),
            ncols=len(entries),
            frameon=False,
            fontsize=9,
            handlelength=2.2,
            columnspacing=1.5,
        )


def png_of(figure: Figure) -> bytes:
    """The finished figure."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()


def new_sheet(result: RunResult, title: str, y_label: str) -> Sheet:
    """An empty sheet with title, phases, states and time axis."""
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    draw_heading(figure, title if result.valid else f"INVALID RUN. {title}", SIZE_IN[0])
    axes = figure.add_axes((LEFT, 0.175, RIGHT - LEFT, 0.575))
    end_s = max(result.experiment.duration_s, 1e-9)
    draw_phase_strip(figure, result.experiment, bottom=0.814)
    draw_strip(figure, "state", 0.762, STRIP_HEIGHT, _tinted_states(result), end_s)
    tint_phases(axes, result.experiment)
    dress(axes, end_s, y_label, result.experiment.run.speedup)
    return Sheet(figure, axes)


def draw_heading(figure: Figure, heading: str, width_in: float) -> None:
    """The title of a sheet, as large as fits."""
    text = figure.text(
        LEFT, 0.982, drawable(heading), ha="left", va="top", fontsize=12.5, weight="bold", color=INK
    )
    shrink_to_fit(text, (RIGHT - LEFT) * width_in * DPI)


def draw_phase_strip(
    figure: Figure, experiment: Experiment, *, bottom: float, height: float = STRIP_HEIGHT
) -> None:
    """The strip with the names of the phases."""
    end_s = max(experiment.duration_s, 1e-9)
    draw_strip(figure, "phase", bottom, height, _phase_spans(experiment), end_s)


def tint_phases(axes: Axes, experiment: Experiment) -> None:
    """Shade the phases that are not normal."""
    for placed in experiment.placed_phases:
        if placed.phase.role != "normal":
            axes.axvspan(
                placed.start_s, placed.end_s, color=ROLE_TINTS[placed.phase.role], alpha=0.55, lw=0, zorder=0
            )


def thousands(value: float, _position: int | None = None) -> str:
    """A tick label."""
    return number(value)


def column(result: RunResult, name: str) -> Floats:
    """A column of the series with NaN for what is missing or infinite."""
    return masked(result.series[name]) if name in result.series else np.full(len(result.series), np.nan)


def masked(values: object) -> Floats:
    """Floats with NaN, which leaves a gap in a line, for whatever is not finite."""
    floats = np.asarray(values, dtype=np.float64)
    return cast(Floats, np.where(np.isfinite(floats), floats, np.nan))


def highest(*arrays: Floats | float | None) -> float:
    """The largest finite value in any of them, 0 if there is none."""
    tops = [float(np.nanmax(a)) for a in map(masked, (x for x in arrays if x is not None)) if _drawn(a)]
    return max(tops, default=0.0)


def draw_measured(
    sheet: Sheet, result: RunResult, name: str, label: str, color: ColorType, *, width: float = 1.6
) -> bool:
    """Draw a column of the series as a stepped line; False when there is nothing to draw."""
    values = column(result, name)
    if not _drawn(values):
        return False
    sheet.axes.plot(
        column(result, "t_s"), values, drawstyle="steps-post", color=color, lw=width, label=label, zorder=3
    )
    return True


def draw_predicted(sheet: Sheet, result: RunResult, values: Floats, color: ColorType) -> None:
    """Draw a path of the fluid model as a thin dashed line (call only when there is one)."""
    fluid = result.prediction.fluid
    if fluid is None:
        return
    darker = np.array(_rgb(color)) * 0.72
    sheet.axes.plot(
        fluid.t_s, masked(values), color=tuple(darker), lw=1.1, ls=(0, (5, 2.5)), zorder=4, label="_fluid"
    )


def fluid_key(result: RunResult) -> list[Line2D]:
    """The legend entry for dashed lines, if there are any."""
    if result.prediction.fluid is None:
        return []
    return [Line2D([], [], color=INK, lw=1.1, ls=(0, (5, 2.5)), label="fluid prediction")]


def say_nothing_recorded(sheet: Sheet, what: str) -> None:
    """Say in the middle of the sheet that there is nothing to draw."""
    sheet.axes.text(
        0.5, 0.5, what, transform=sheet.axes.transAxes, ha="center", va="center", fontsize=12, color=GREY
    )


def say_beside(axes: Axes, words: str, at_s: float, left_half: bool, row: int = 0) -> None:
    """Words at a moment near the top, to its right in the left half and to its left in the other; a further
    row is lower."""
    axes.annotate(
        drawable(words),
        (at_s, 0.95 - 0.1 * row),
        xycoords=("data", "axes fraction"),
        xytext=(5 if left_half else -5, 0),
        textcoords="offset points",
        ha="left" if left_half else "right",
        va="center",
        fontsize=9,
        color=INK,
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.5},
        zorder=6,
    )


def _drawn(values: Floats) -> bool:
    return values.size > 0 and bool(np.isfinite(values).any())


def _rgb(color: ColorType) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(color)


def _phase_spans(experiment: Experiment) -> list[tuple[float, float, str, str]]:
    spans = []
    for placed in experiment.placed_phases:
        phase = placed.phase
        label = phase.name
        if phase.factor != 1:
            label += f" ×{number(phase.factor)}"
        if phase.capacity_factor != 1:
            label += f" (capacity ×{number(phase.capacity_factor)})"
        spans.append((placed.start_s, placed.end_s, label, ROLE_TINTS[phase.role]))
    return spans


def _tinted_states(result: RunResult) -> list[tuple[float, float, str, str]]:
    return [(start, end, word, STATE_TINTS[word]) for start, end, word in state_spans(result)]


def draw_strip(
    figure: Figure,
    name: str,
    bottom: float,
    height: float,
    spans: list[tuple[float, float, str, str]],
    end_s: float,
) -> None:
    """A strip of named spans (start, end, label, tint) over the time axis, which ends at ``end_s``."""
    strip = figure.add_axes((LEFT, bottom, RIGHT - LEFT, height))
    strip.set_xlim(0, end_s)
    strip.set_ylim(0, 1)
    strip.axis("off")
    strip.text(
        -0.006, 0.5, name, transform=strip.transAxes, ha="right", va="center_baseline", fontsize=8, color=GREY
    )
    for start, end, _, tint in spans:
        strip.axvspan(start, end, facecolor=tint, edgecolor="white", lw=1.0)
    label_spans(strip, [(start, end, label) for start, end, label, _ in spans], overflow=name == "phase")


def dress(axes: Axes, end_s: float, y_label: str, speedup: float) -> None:
    """Axes over scenario time: limits, labels, ticks, grid."""
    axes.set_xlim(0, end_s)
    scaled = "" if speedup == 1 else f"  (÷ {number(speedup)} = wall clock)"
    axes.set_xlabel(f"scenario time, s{scaled}", fontsize=9.5, labelpad=2)
    axes.set_ylabel(y_label, fontsize=9.5)
    axes.tick_params(labelsize=9)
    axes.xaxis.set_major_locator(MaxNLocator(9, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    axes.grid(axis="y", color="#dddddd", lw=0.6, zorder=0.5)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
