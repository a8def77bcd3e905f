"""The trade-off matrix as a picture: one row a mitigation, one column a measure, a number in every cell."""

from __future__ import annotations

from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from analysis.mitigations.columns import ANSWERED, COLUMNS, Column, share_text
from analysis.mitigations.matrix import Matrix, Row
from analysis.mitigations.mitigation import NONE
from analysis.plots.canvas import DPI, GREY, INK, Plot, png_of
from analysis.plots.labels import drawable, shrink_to_fit
from analysis.wording import number

WIDTH_IN = 12.0
ROW_IN = 0.265
HEAD_IN, FOOT_IN = 1.94, 0.62
NAME_WIDTH = 3.9
"""Width of the names, in columns."""
OUTCOME_WIDTH = 2.6
GAP = 0.18
"""Between groups of columns or rows."""
COLOURS = LinearSegmentedColormap.from_list("good to bad", ["#bfe6d6", "#f7f4e6", "#f0a184", "#d9603b"])
"""From green to vermillion through a pale yellow: light to dark, so that it also reads without colour."""
NEUTRAL = "#f1f1f1"
CAPTION = (
    "Each row is one way to defend client or service, each column what it does or costs; green is better. "
    "Grey says nothing of better or worse."
)


def draw_tradeoffs(matrix: Matrix) -> Plot:
    """The table of coloured cells."""
    rows = matrix.rows
    groups = len({row.mitigation.group for row in rows})
    height = HEAD_IN + FOOT_IN + ROW_IN * (len(rows) + GAP * (groups - 1))
    figure = Figure(figsize=(WIDTH_IN, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    title = tradeoffs_title(matrix)
    axes = figure.add_axes((0.012, FOOT_IN / height, 0.976, (height - HEAD_IN - FOOT_IN) / height))
    lefts, right = _lefts()
    tops = _tops(rows)
    axes.set_xlim(0.0, right)
    axes.set_ylim(len(rows) + GAP * (groups - 1), 0.0)
    axes.axis("off")
    _head(axes, lefts)
    for index, (row, top) in enumerate(zip(rows, tops, strict=True)):
        _draw_row(axes, row, top, lefts, matrix)
        group = row.mitigation.group
        if group != NONE and (not index or rows[index - 1].mitigation.group != group):
            axes.text(0.02, top + 0.5, group, ha="left", va="center", fontsize=7.2, color=GREY)
    _words(figure, title, matrix, height)
    return Plot("matrix", title, CAPTION, _alt(matrix, title), png_of(figure))


def tradeoffs_title(matrix: Matrix) -> str:
    """How many of the mitigations get the service out of its failure."""
    rows = [row for row in matrix.rows if row.mitigation.group != NONE]
    name, bare = matrix.experiment.name, next((r for r in matrix.rows if r.mitigation.name == "none"), None)
    if not rows:
        return f"{name} without any mitigation"
    if bare is not None and bare.gets_up:
        return f"{name} gets up without any mitigation; what {len(rows)} of them cost"
    safe = sum(row.gets_up for row in rows)
    return f"{safe} of {len(rows)} mitigations get {name} up again in every seed"


def most_answered(matrix: Matrix) -> str:
    """Which mitigation answered most of the storm's jobs, the first of those that read the same.

    Empty where there is no mitigation, or no job.
    """
    known = [
        (row.mitigation.name, value)
        for row in matrix.rows
        if row.mitigation.group != NONE and (value := row.values.get(ANSWERED)) is not None
    ]
    if not known:
        return ""
    most = share_text(max(value for _, value in known))
    first, *others = [name for name, value in known if share_text(value) == most]
    bare = next((row.values.get(ANSWERED) for row in matrix.rows if row.mitigation.name == "none"), None)
    without = "" if bare is None else f"; {share_text(bare)} without any mitigation"
    said = f"Most jobs due in trigger and watch were answered in time with {first}: {most}{without}."
    return f"{said} {len(others) + 1} share the first place." if others else said


def _lefts() -> tuple[list[float], float]:
    """Where each column begins, and where the last one ends, in widths of a column."""
    lefts, at = [], NAME_WIDTH
    for index, column in enumerate(COLUMNS):
        if index and column.group != COLUMNS[index - 1].group:
            at += GAP
        lefts.append(at)
        at += _width(column)
    return lefts, at


def _width(column: Column) -> float:
    return OUTCOME_WIDTH if column.unit == "outcome" else 1.0


def _tops(rows: tuple[Row, ...]) -> list[float]:
    tops, at = [], 0.0
    for index, row in enumerate(rows):
        if index and row.mitigation.group != rows[index - 1].mitigation.group:
            at += GAP
        tops.append(at)
        at += 1.0
    return tops


def _head(axes: Axes, lefts: list[float]) -> None:
    """Headings aslant, under the names of their groups."""
    for column, left in zip(COLUMNS, lefts, strict=True):
        axes.text(
            left + 0.5 * _width(column), -0.18, column.heading, rotation=48, ha="left", va="bottom",
            rotation_mode="anchor", fontsize=7.6, color=INK,
        )  # fmt: skip
    for name, group in groupby(zip(COLUMNS, lefts, strict=True), key=lambda pair: pair[0].group):
        members = list(group)
        start, end = members[0][1], members[-1][1] + _width(members[-1][0])
        axes.plot([start + 0.06, end - 0.06], [-3.3, -3.3], color=GREY, lw=0.8, clip_on=False)
        words = name.replace(": ", ":\n")
        axes.text(
            (start + end) / 2, -3.42, words, ha="center", va="bottom", fontsize=7.6, weight="bold",
            color=INK, linespacing=1.05,
        )  # fmt: skip


def _draw_row(axes: Axes, row: Row, top: float, lefts: list[float], matrix: Matrix) -> None:
    axes.text(
        NAME_WIDTH - 0.12, top + 0.5, drawable(row.mitigation.name, 40), ha="right", va="center",
        fontsize=8.2, color=INK, weight="bold" if row.mitigation.group == NONE else "normal",
    )  # fmt: skip
    timeout_s = matrix.experiment.client.timeout_s
    for column, left in zip(COLUMNS, lefts, strict=True):
        value = row.values.get(column.key)
        badness = column.badness(value, timeout_s, row.outcomes)
        face = NEUTRAL if badness is None else COLOURS(badness)
        box = Rectangle((left, top), _width(column), 1.0, facecolor=face, edgecolor="white", lw=1.2, zorder=1)
        axes.add_patch(box)
        words = column.text(value, row.outcomes) + _live_mark(column, row)
        text = axes.text(
            left + _width(column) / 2, top + 0.52, drawable(words), ha="center", va="center", fontsize=7.6,
            color=INK, zorder=2,
        )  # fmt: skip
        shrink_to_fit(text, box.get_window_extent().width - 6, smallest=5.0)


def _live_mark(column: Column, row: Row) -> str:
    """Beside the simulated outcome, whether a valid live run ended like that."""
    if column.unit != "outcome" or row.agrees is None:
        return ""
    return ", live ✓" if row.agrees else ", live ✗"


def _words(figure: Figure, title: str, matrix: Matrix, height: float) -> None:
    heading = figure.text(
        0.012, 1 - 0.09 / height, drawable(title), ha="left", va="top", fontsize=13, weight="bold", color=INK
    )
    shrink_to_fit(heading, 0.976 * WIDTH_IN * DPI)
    below = figure.text(
        0.012, 1 - 0.34 / height, drawable(most_answered(matrix), 260), ha="left", va="top", fontsize=9.5,
        color=INK,
    )  # fmt: skip
    shrink_to_fit(below, 0.976 * WIDTH_IN * DPI)
    for line, words in enumerate(foot_notes(matrix)):
        figure.text(
            0.012, (FOOT_IN - 0.14 - 0.155 * line) / height, drawable(words, 260), ha="left", va="top",
            fontsize=7.6, color=GREY,
        )  # fmt: skip


def foot_notes(matrix: Matrix) -> list[str]:
    """What the numbers rest on, in sentences of a line each."""
    experiment = matrix.experiment
    seeds = len(matrix.seeds)
    service, rho = experiment.service, experiment.utilization
    assert service is not None
    assert rho is not None
    threshold = f"A trap needs {number(1 / rho)} attempts a job or more" if rho > 0 else "There is no demand"
    return [
        f"{experiment.name}: {experiment.title}. Simulated, {seeds} {'seed' if seeds == 1 else 'seeds'}; "
        f"durations in scenario time.{_live_note(matrix)}",
        f"Timeout {number(experiment.client.timeout_s)} s, "
        f"{number(experiment.client.max_attempts)} attempts, capacity "
        f"{number(service.capacity_per_s)}/s, utilization {number(rho)}. {threshold}.",
        "Colours: goodput, answered and outcome 0 to 100%, shares of jobs 0 to 10%, recovery 0 to 30 "
        "timeouts, latency 0 to a tenth of the timeout.",
    ]


def _live_note(matrix: Matrix) -> str:
    """What the marks of live runs mean, where there are any; all other numbers stay simulated."""
    runs = sum(row.live is not None for row in matrix.rows)
    if not runs:
        return ""
    return f" Live ✓: one run on real sockets ({runs} were made) ended as at least one seed in twenty does."


def _alt(matrix: Matrix, title: str) -> str:
    return f"Table of {len(matrix.rows)} mitigations by {len(COLUMNS)} measures in coloured cells. {title}."
