"""The story of a trigger test: what was sent and what was answered in time, over its phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.ticker import FuncFormatter

from analysis.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    INK,
    VERMILLION,
    Plot,
    Sheet,
    highest,
    say_beside,
    say_nothing_recorded,
    thousands,
)
from analysis.trigger.observations import Floats, Observations
from analysis.trigger.result import TriggerResult
from analysis.trigger.sheet import new_trigger_sheet, pushes_named
from analysis.wording import number, percent, seconds
from domain.trigger.plan import TriggerPlan

NAME = "trigger-story"
CAPTION = (
    "First attempts are what users ask for; the attempts hold the retries too, and while they stay above the "
    "capacity line the backlog grows. Goodput is what is answered within the timeout. Patient requests "
    "(grey) look for the capacity, and are not clients."
)
MOST_BUCKETS = 220
PER_TIMEOUT = 3.0
LEAST_BUCKET_S = 0.1


@dataclass(frozen=True)
class Rates:
    """Per second in buckets; ``edges_s`` has one more than the others, all of shape (n,)."""

    edges_s: Floats
    attempts: Floats
    first: Floats
    goodput: Floats
    patient: Floats


def rates(seen: Observations, timeout_s: float) -> Rates | None:
    """What the ticks counted, per second of buckets of a third of a timeout or more; None without ticks."""
    if len(seen.ticks) < 2:
        return None
    start_s, end_s = seen.ticks[0].t_s, seen.ticks[-1].t_s
    if end_s <= start_s:
        return None
    width_s = max(LEAST_BUCKET_S, timeout_s / PER_TIMEOUT, (end_s - start_s) / MOST_BUCKETS)
    buckets = max(1, int((end_s - start_s) / width_s))
    edges = np.linspace(start_s, end_s, buckets + 1)
    times = seen.column("t_s")

    def per_s(name: str) -> Floats:
        counted = np.interp(edges, times, seen.column(name))
        return np.asarray(np.diff(counted) / np.diff(edges), dtype=np.float64)

    first = per_s("first")
    return Rates(edges, first + per_s("retries"), first, per_s("answered"), per_s("saturated"))


def draw_story(plan: TriggerPlan, result: TriggerResult, seen: Observations) -> Plot:
    """Attempts, first attempts, goodput and capacity over the time of the test."""
    title = _title(result)
    found = rates(seen, plan.client.timeout_s)
    start_s, end_s = (0.0, 1.0) if found is None else (float(found.edges_s[0]), float(found.edges_s[-1]))
    sheet = new_trigger_sheet(result, title, "per second", start_s, end_s)
    if found is None:
        say_nothing_recorded(sheet, "no tick was recorded")
        top = 0.0
    else:
        _draw(sheet, found, result)
        top = highest(found.attempts, found.patient)
    capacity = result.capacity_per_s
    if capacity is not None:
        words = f"capacity {number(capacity.value)}/s" + (" (given)" if result.capacity_given else "")
        sheet.axes.axhline(capacity.value, color=INK, lw=1.2, ls=(0, (1, 1.2)), label=words, zorder=2.5)
        sheet.axes.axhspan(capacity.low, capacity.high, color=INK, alpha=0.08, lw=0, zorder=0.6)
        top = max(top, capacity.high)
    sheet.axes.set_ylim(0, 1.12 * top if top > 0 else 1)
    sheet.axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    names = ", ".join(phase.name for phase in result.phases)
    alt = f"Line chart of attempts, first attempts and goodput per second over the phases {names}. {title}."
    return Plot(NAME, title, CAPTION + pushes_named(result), alt, sheet.png())


def _draw(sheet: Sheet, found: Rates, result: TriggerResult) -> None:
    if found.patient.any():
        _line(sheet, found.edges_s, found.patient, "patient requests answered", GREY, 1.3)
    _line(sheet, found.edges_s, found.attempts, "all attempts", VERMILLION, 1.6)
    _line(sheet, found.edges_s, found.first, "first attempts", BLUE, 1.9)
    _line(sheet, found.edges_s, found.goodput, "goodput: answered in time", GREEN, 1.9)
    for shot in result.shots:
        if shot.decided_s is not None:
            at_s = shot.spike_end_s + shot.decided_s
            sheet.axes.axvline(at_s, color=INK, lw=1.1, zorder=5, label="_verdict")
            _say_verdict(sheet, at_s, found, shot.verdict if len(result.shots) == 1 else "")


def _line(sheet: Sheet, edges_s: Floats, values: Floats, label: str, colour: str, width: float) -> None:
    # A stretch of nothing before and after is no measurement of anything.
    shown = values.copy()
    if label.startswith("patient"):
        shown[shown == 0] = np.nan
    stepped = np.append(shown, shown[-1])
    sheet.axes.plot(edges_s, stepped, drawstyle="steps-post", color=colour, lw=width, label=label, zorder=3)


def _say_verdict(sheet: Sheet, at_s: float, found: Rates, verdict: str) -> None:
    if not verdict:
        return
    left_half = at_s < (found.edges_s[0] + found.edges_s[-1]) / 2
    say_beside(sheet.axes, f"verdict: {verdict}", at_s, left_half)


def _title(result: TriggerResult) -> str:
    """What is to be seen, in a sentence."""
    if not result.shots:
        return "The service was not pushed"
    shot = result.shots[0]
    at = f"at {percent(shot.utilization)} utilization"
    match result.verdict:
        case "trapped":
            return f"Trapped: with the load back {at}, goodput did not come back"
        case "recovers" if shot.recovered_s is not None:
            return f"Goodput came back {seconds(shot.recovered_s)} after the push, {at}"
        case "recovers":
            return f"The backlog drains {at}: goodput comes back"
        case "not vulnerable":
            return f"Pushed {at}, the service did not stay failed"
        case _:
            return f"Whether goodput comes back {at} is not settled"
