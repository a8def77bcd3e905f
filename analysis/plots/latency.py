"""The latency of single attempts from their planned start, by how they ended."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.lines import Line2D

from analysis.plots.canvas import (
    BLUE,
    GREEN,
    GREY,
    INK,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Plot,
    Sheet,
    column,
    draw_measured,
    highest,
    masked,
    new_sheet,
    say_nothing_recorded,
)
from analysis.result import RunResult
from analysis.wording import number

MARKS = (
    ("timeout", "timed out", VERMILLION, "x"),
    ("ok", "answered in time", GREEN, "o"),
    ("late", "answered late", ORANGE, "^"),
    ("rejected", "rejected", PURPLE, "s"),
    ("error", "connection error", INK, "D"),
    ("refused", "refused by the client", SKY, "v"),
    ("cancelled", "cancelled: another copy answered", BLUE, "<"),
    ("aborted", "open at the end", GREY, "P"),
)
CAPTION = (
    "Each mark is one attempt (a sample), at the time it was due and with the latency counted from then, so "
    "that a generator running late cannot hide a slow service. The quantiles are over all attempts."
)


def draw_latency(result: RunResult) -> Plot:
    """A scatter of attempts with the median, the 95th percentile and the timeout."""
    timeout = result.experiment.client.timeout_s
    title = _title(result)
    sheet = new_sheet(result, title, "latency from planned start, s")
    handles = _scatter(sheet, result)
    draw_measured(sheet, result, "latency_p95_s", "95th percentile", BLUE, width=1.0)
    draw_measured(sheet, result, "latency_p50_s", "median", INK, width=1.1)
    sheet.axes.axhline(
        timeout, color=INK, lw=1.2, ls=(0, (1, 1.2)), label=f"timeout T = {number(timeout)} s", zorder=2.5
    )
    if not handles:
        say_nothing_recorded(sheet, "no attempt was recorded")
    quantiles = (column(result, name) for name in ("latency_p50_s", "latency_p95_s"))
    longest = highest(timeout, masked(_of(result, "latency_s")), *quantiles)
    sheet.axes.set_ylim(0, 1.12 * longest if longest > 0 else 1)
    lines = [line for line in sheet.axes.get_lines() if not str(line.get_label()).startswith("_")]
    alt = f"Scatter chart of the latency of single attempts over time, by outcome. {title}."
    return Plot("latency", title, CAPTION, alt, sheet.png([*handles, *lines]))


def _of(result: RunResult, name: str) -> object:
    return result.attempts_sample[name] if name in result.attempts_sample else np.empty(0)


def _title(result: RunResult) -> str:
    timeout = number(result.experiment.client.timeout_s)
    outcomes = set(np.asarray(_of(result, "outcome"), dtype=str))
    if not outcomes:
        return "No attempt was recorded"
    values, counts = np.unique(np.asarray(_of(result, "outcome"), dtype=str), return_counts=True)
    share = dict(zip(values.tolist(), (counts / counts.sum()).tolist(), strict=True))
    refused = share.get("rejected", 0.0) + share.get("error", 0.0)
    if refused > share.get("timeout", 0.0) + share.get("late", 0.0):
        return f"{refused:.0%} of the attempts were rejected or failed, which no queue explains"
    if outcomes & {"timeout", "late"}:
        return f"Attempts that took the whole timeout of {timeout} s found the queue too long"
    if outcomes - {"ok", "aborted"}:
        return f"No attempt ran into the timeout of {timeout} s, but not all were answered"
    return f"Every attempt was answered within the timeout of {timeout} s"


def _scatter(sheet: Sheet, result: RunResult) -> list[Line2D]:
    outcomes = np.asarray(_of(result, "outcome"), dtype=str)
    if outcomes.size == 0:
        return []
    planned, latency = masked(_of(result, "planned_s")), masked(_of(result, "latency_s"))
    handles = []
    for outcome, label, color, marker in MARKS:
        those = outcomes == outcome
        if not those.any():
            continue
        style: dict[str, Any] = {"marker": marker, "ls": "none", "color": color}
        sheet.axes.plot(
            planned[those], latency[those], ms=2.6, alpha=0.45, mew=0.7, zorder=2, label="_attempts", **style
        )
        handles.append(Line2D([], [], ms=5, label=label, **style))
    return handles
