"""What the patient probes saw: how long each waited, over when it was sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from analysis.plots.canvas import BLUE, GREY, INK, VERMILLION, Plot, highest, say_nothing_recorded, thousands
from analysis.plots.wait import draw_timeout
from analysis.trigger.measured import measured_from_s
from analysis.trigger.observations import Floats, Observations
from analysis.trigger.result import Shot, TriggerResult
from analysis.trigger.settling import settling_s
from analysis.trigger.sheet import new_trigger_sheet
from analysis.wording import number, seconds
from domain.trigger.messages import ProbeLine
from domain.trigger.plan import TriggerPlan

NAME = "trigger-wait"
CAPTION = (
    "Each mark is a patient probe, which waits much longer than a client: its wait is the backlog it found. "
    "Where the marks rise, work arrives faster than the service can do it. A and the verdict come from how "
    "far apart the probes came back for what was sent in between (docs/theory.md), for which the hatched "
    "stretch counts too; the line is only for the eye: the straight one nearest to the marks it lies under."
)
OPEN = ("aborted", "timeout")
"""Outcomes of probes that were still waiting when somebody hung up."""
LEFT_OUT = "#c4c4c4"
BEFORE_TIMEOUTS = 6.0
LEAST_MARKS = 4
"""A line through fewer says nothing."""
AFTER = 0.25
"""How much is shown after the verdict, as a share of what is shown up to it."""


@dataclass(frozen=True)
class Marks:
    """When probes were sent and how long they waited, in seconds; each an array of pairs, shape (n, 2).

    ``open``: hung up on, so that is the least they would have waited."""

    answered: Floats
    open: Floats
    turned_away: Floats

    @property
    def longest_s(self) -> float:
        """The longest wait of any; 0 without probes."""
        return highest(*(marks[:, 1] for marks in (self.answered, self.open, self.turned_away)))


@dataclass(frozen=True)
class Fit:
    """The straight line from (``start_s``, ``start_wait_s``) to (``end_s``, ``end_wait_s``)."""

    start_s: float
    start_wait_s: float
    end_s: float
    end_wait_s: float


def marks(probes: Iterable[ProbeLine], start_s: float, end_s: float) -> Marks:
    """The probes that were sent in this time."""
    found: dict[str, list[tuple[float, float]]] = {"answered": [], "open": [], "away": []}
    for probe in probes:
        if start_s <= probe.sent_s <= end_s:
            kind = "answered" if probe.outcome == "ok" else "open" if probe.outcome in OPEN else "away"
            found[kind].append((probe.sent_s, probe.done_s - probe.sent_s))
    return Marks(*(np.array(pairs, dtype=np.float64).reshape(-1, 2) for pairs in found.values()))


def fitted(shot: Shot, answered: Floats, from_s: float, to_s: float) -> Fit | None:
    """The straight line of least squares through the answered probes of a time; None of too few."""
    if shot.amplified_utilization is None or shot.method not in ("probes", "direct probes"):
        return None
    inside = answered[(answered[:, 0] >= from_s) & (answered[:, 0] <= to_s)]
    if len(inside) < LEAST_MARKS:
        return None
    first, last = float(inside[:, 0].min()), float(inside[:, 0].max())
    if last <= first:
        return None
    middle, wait = (float(mean) for mean in inside.mean(axis=0))
    slope = float(np.polyfit(inside[:, 0] - middle, inside[:, 1], 1)[0])
    return Fit(first, wait + slope * (first - middle), last, wait + slope * (last - middle))


def draw_wait(plan: TriggerPlan, result: TriggerResult, seen: Observations) -> Plot:
    """The wait of the probes about the first push, against the timeout, with the fitted slope."""
    title = _title(plan, result)
    start_s, end_s = _window(plan, result, seen)
    found = marks(seen.probes, start_s, end_s)
    sheet = new_trigger_sheet(result, title, "wait of a probe, s", start_s, end_s)
    handles = _draw_marks(sheet.axes, found)
    if not handles:
        say_nothing_recorded(sheet, "no probe came back")
    handles.append(draw_timeout(sheet.axes, plan.client.timeout_s))
    if result.shots:
        watched_to_s = _watched_to_s(result, result.shots[0], end_s)
        handles += _draw_shot(sheet.axes, plan, result.shots[0], found, watched_to_s)
    sheet.axes.set_ylim(0, max(1.15 * found.longest_s, 1.6 * plan.client.timeout_s))
    sheet.axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    alt = f"Waits of {_probes(plan)} over the time they were sent, against the timeout. {title}."
    return Plot(NAME, title, CAPTION, alt, sheet.png(handles))


def _draw_marks(axes: Axes, found: Marks) -> list[Artist]:
    handles: list[Artist] = []
    for pairs, label, marker, colour, fill in (
        (found.answered, "probe answered", "o", BLUE, BLUE),
        (found.open, "still waiting when hung up on", "^", BLUE, "none"),
        (found.turned_away, "turned away or error", "x", VERMILLION, VERMILLION),
    ):
        if len(pairs):
            handles += axes.plot(
                *(pairs[:, 0], pairs[:, 1]),
                ls="",
                marker=marker,
                color=colour,
                mfc=fill,
                ms=4.5,
                label=label,
                zorder=3,
            )
    return handles


def _watched_to_s(result: TriggerResult, shot: Shot, end_s: float) -> float:
    """When the verdict was taken, or without one the end of the watch: probes sent later measured nothing."""
    if shot.decided_s is not None:
        return shot.spike_end_s + shot.decided_s
    return _watch_end_s(result, shot) or end_s


def _watch_end_s(result: TriggerResult, shot: Shot) -> float | None:
    ends = [phase.end_s for phase in result.phases if phase.name == "watch"]
    return next((time_s for time_s in ends if time_s > shot.spike_end_s), None)


def _draw_shot(axes: Axes, plan: TriggerPlan, shot: Shot, found: Marks, watched_to_s: float) -> list[Artist]:
    settled_s = shot.spike_end_s + settling_s(plan.client)
    from_s = measured_from_s(settled_s, plan.client.timeout_s, shot.method)
    handles: list[Artist] = []
    left_out_to = min(from_s, watched_to_s)
    if left_out_to > shot.spike_end_s:
        axes.axvspan(
            shot.spike_end_s, left_out_to, facecolor="none", edgecolor=LEFT_OUT, hatch="///", lw=0, zorder=0.4
        )
        handles.append(
            Patch(label="left out of the line", facecolor="none", edgecolor=LEFT_OUT, hatch="///", lw=0)
        )
    line = fitted(shot, found.answered, from_s, watched_to_s)
    if line is not None:
        label = "straight line through them"
        ends = [line.start_s, line.end_s], [line.start_wait_s, line.end_wait_s]
        axes.plot(*ends, color="white", lw=3.6, zorder=2.5, label="_halo")
        handles += axes.plot(*ends, color=INK, lw=1.7, zorder=2.6, label=label)
    if shot.decided_s is not None:
        axes.axvline(watched_to_s, color=GREY, lw=1.0, zorder=2)
        handles.append(Line2D([], [], color=GREY, lw=1.0, label="verdict"))
    return handles


def _window(plan: TriggerPlan, result: TriggerResult, seen: Observations) -> tuple[float, float]:
    """From some timeouts before the push until somewhat after the verdict; of one that recovers, until the
    end of the watch, so that its queue is seen to empty."""
    if not result.shots:
        return 0.0, max(seen.now_s, 1.0)
    shot = result.shots[0]
    start_s = max(0.0, shot.spike_end_s - BEFORE_TIMEOUTS * plan.client.timeout_s)
    end_s = seen.now_s
    if shot.decided_s is not None:
        decided_s = shot.spike_end_s + shot.decided_s
        shown_to_s = decided_s + AFTER * (decided_s - start_s)
        if shot.verdict == "recovers":
            shown_to_s = max(shown_to_s, _watch_end_s(result, shot) or shown_to_s)
        end_s = min(end_s, shown_to_s)
    return start_s, max(end_s, start_s + plan.client.timeout_s)


def _probes(plan: TriggerPlan) -> str:
    return "patient probes" if plan.target.probe_url is None else "patient probes past the gateway"


def _title(plan: TriggerPlan, result: TriggerResult) -> str:
    if not result.shots:
        return "No probe met a backlog: the service was not pushed"
    shot, timeout = result.shots[0], seconds(plan.client.timeout_s)
    load = shot.amplified_utilization
    if load is None:
        return f"What {_probes(plan)} waited, against the timeout of {timeout}"
    if load.low > 1:
        return f"The backlog grows {number(load.value - 1, 2)} s a second (Aρ = {number(load.value)})"
    if load.high < 1:
        return f"The backlog drains {number(1 - load.value, 2)} s a second (Aρ = {number(load.value)})"
    return f"Whether the backlog grows or drains is within the error (Aρ = {number(load.value)})"
