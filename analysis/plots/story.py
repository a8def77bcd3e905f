"""The story of a run: what was asked, what was sent, what was answered in time."""

from __future__ import annotations

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from analysis.plots.canvas import (
    BLUE,
    GREEN,
    INK,
    VERMILLION,
    Plot,
    Sheet,
    column,
    draw_measured,
    draw_predicted,
    fluid_key,
    highest,
    new_sheet,
    say_beside,
    say_nothing_recorded,
    thousands,
)
from analysis.plots.fleet_moments import reported_pods
from analysis.plots.moments import Moment, recoveries
from analysis.result import Floats, RunResult
from analysis.wording import measured_else_predicted, number, since_trigger, trigger_name

LINES = (
    ("ingress_per_s", "ingress: all attempts", VERMILLION, 1.6),
    ("demand_per_s", "demand: first attempts", BLUE, 1.9),
    ("goodput_per_s", "goodput: answered in time", GREEN, 1.9),
)
TALL = 3.0
"""From this many capacities on, the axis is a square root."""
CAPTION = (
    "Demand is what users ask for, ingress what reaches the service with the retries in it, goodput what "
    "is answered within the timeout. While ingress stays above the capacity line the backlog grows."
)


def draw_story(result: RunResult) -> Plot:
    """Demand, ingress, goodput and capacity against scenario time, over the fluid prediction."""
    title = story_title(result)
    sheet = new_sheet(result, title, "per second")
    drawn = [draw_measured(sheet, result, *line, width=width) for *line, width in LINES]
    fluid = result.prediction.fluid
    if fluid is not None:
        for values, line in zip(
            (fluid.ingress_per_s, fluid.demand_per_s, fluid.goodput_per_s), LINES, strict=True
        ):
            draw_predicted(sheet, result, values, line[2])
    if not any(drawn):
        say_nothing_recorded(sheet, "no attempt was recorded")
    capacity = _draw_capacity(sheet, result)
    paths = [fluid.ingress_per_s, fluid.demand_per_s] if fluid else []
    top = highest(*(column(result, line[0]) for line in LINES), *paths, capacity)
    _scale(sheet, top, capacity)
    _mark(sheet, result, recoveries(result))
    caption = CAPTION if fluid is None else f"{CAPTION} Dashed: what the fluid model predicts."
    return Plot("story", title, caption, _alt(result, title), sheet.png(_legend(sheet, result)))


def story_title(result: RunResult) -> str:
    """What is to be seen, in a sentence."""
    if result.series.empty:
        return "Nothing was recorded"
    if result.outcome == "healthy":
        through = f" through the {trigger_name(result)}" if result.experiment.trigger else ""
        return f"Goodput kept up with demand{through}"
    if result.outcome == "recovered":
        took = result.measurement.values.get("recovery_s")
        return f"Goodput came back {number(took)} s {since_trigger(result)}" if took else "Goodput came back"
    if result.outcome == "undecided":
        return "Whether goodput comes back is not settled within this run"
    return _trapped_title(result)


def _trapped_title(result: RunResult) -> str:
    demand, ingress, capacity = (
        measured_else_predicted(result, key) for key in ("demand_per_s", "ingress_per_s", "capacity_per_s")
    )
    if result.experiment.step_s is not None:
        return _trapped_fleet_title(result, ingress, capacity)
    if demand and ingress and capacity and ingress > capacity:
        back = f"demand fell back to {number(demand)}/s" if _was_spike(result) else "capacity came back"
        return f"Trapped: {back}, retries keep ingress at {number(ingress)}/s, over {number(capacity)}/s"
    return f"Trapped: the {trigger_name(result)} ended and goodput did not come back"


def _trapped_fleet_title(result: RunResult, ingress: float | None, capacity: float | None) -> str:
    pods = result.measurement.values.get("settled_pods")
    if pods is None or not ingress or not capacity:
        return f"Trapped: goodput did not come back after the {trigger_name(result)} began"
    return (
        f"Trapped at {number(pods)} pods: retries keep ingress at {number(ingress)}/s, over "
        f"{number(capacity)}/s"
    )


def _was_spike(result: RunResult) -> bool:
    return any(phase.factor > 1 for phase in result.experiment.demand.phases)


def _draw_capacity(sheet: Sheet, result: RunResult) -> float | None:
    """The capacity, stepped where a phase cuts it; the highest value drawn."""
    fleet = _draw_fleets_capacity(sheet, result)
    if fleet is not None:
        return fleet
    service = result.experiment.service
    capacity = service.capacity_per_s if service else measured_else_predicted(result, "capacity_per_s")
    placed = result.experiment.placed_phases
    if capacity is None or not placed:
        return None
    edges = [p.start_s for p in placed] + [placed[-1].end_s]
    levels = [capacity * p.phase.capacity_factor for p in placed]
    label = "capacity" if service else "capacity (measured)"
    style = {"drawstyle": "steps-post", "color": INK, "lw": 1.2, "ls": (0, (1, 1.2))}
    sheet.axes.plot(edges, [*levels, levels[-1]], label=label, zorder=2.5, **style)  # type: ignore[arg-type]
    return max(levels)


def _draw_fleets_capacity(sheet: Sheet, result: RunResult) -> float | None:
    """What the serving pods could do, stepped where their number changes; None without a fleet that told."""
    service = result.experiment.service
    path = reported_pods(result) if result.experiment.fleet is not None else None
    if service is None or path is None:
        return None
    rate = path.pods * service.rate_per_pod
    t_s, rate = np.append(path.t_s, result.experiment.duration_s), np.append(rate, rate[-1])
    sheet.axes.plot(
        t_s, rate, drawstyle="steps-post", color=INK, lw=1.2, ls=(0, (1, 1.2)), label="capacity of the pods",
        zorder=2.5,
    )  # fmt: skip
    return highest(rate)


def _scale(sheet: Sheet, top: float, capacity: float | None) -> None:
    """From zero; square-root when a spike would flatten what happens about the capacity line."""
    if capacity and top > TALL * capacity:
        sheet.axes.set_yscale("function", functions=(_signed_root, _signed_square))
        sheet.axes.yaxis.set_major_locator(FixedLocator(_root_ticks(1.2 * top)))
        sheet.axes.yaxis.set_major_formatter(FuncFormatter(thousands))
        sheet.axes.set_ylabel("per second (square-root axis)")
    sheet.axes.set_ylim(0, 1.25 * top if top > 0 else 1)


def _root_ticks(top: float) -> list[float]:
    """Round numbers up to ``top`` that are not crowded on a square-root axis."""
    decades = 10.0 ** np.arange(np.floor(np.log10(top)) - 2, np.ceil(np.log10(top)) + 1)
    ticks: list[float] = []
    for tick in sorted((step * float(d) for d in decades for step in (1, 2, 5)), reverse=True):
        above = ticks[-1] if ticks else np.inf
        if tick <= top and min(above**0.5 - tick**0.5, tick**0.5) >= 0.11 * top**0.5:
            ticks.append(tick)
    return [*ticks, 0.0]


def _signed_root(values: Floats) -> Floats:
    return np.sign(values) * np.sqrt(np.abs(values))


def _signed_square(values: Floats) -> Floats:
    return np.sign(values) * np.square(values)


def _mark(sheet: Sheet, result: RunResult, moments: list[Moment]) -> None:
    """A line at each moment; the words all on the side with more room, clear of both lines."""
    if not moments:
        return
    times = [moment.t_s for moment in moments]
    left_half = sum(times) / len(times) < result.experiment.duration_s / 2
    for row, moment in enumerate(moments):
        style = (0, (5, 2.5)) if moment.predicted else "-"
        sheet.axes.axvline(moment.t_s, color=INK, lw=1.1, ls=style, zorder=5)
        say_beside(sheet.axes, moment.words, max(times) if left_half else min(times), left_half, row)


def _legend(sheet: Sheet, result: RunResult) -> list[Line2D]:
    lines = [line for line in sheet.axes.get_lines() if not str(line.get_label()).startswith("_")]
    return [*lines, *fluid_key(result)]


def _alt(result: RunResult, title: str) -> str:
    phases = ", ".join(phase.name for phase in result.experiment.demand.phases)
    return f"Line chart of demand, ingress and goodput per second over the phases {phases}. {title}."
