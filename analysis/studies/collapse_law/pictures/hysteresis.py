"""F3: the way down is not the way up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis import laws
from analysis.plots.canvas import BLUE, GREY, INK, VERMILLION
from analysis.studies.collapse_law.pictures.sheet import (
    LEGEND,
    POLICY_COLOURS,
    POLICY_WORDS,
    SERIES,
    at_least,
    claimed,
    dress,
    new_sheet,
    points,
)
from analysis.studies.collapse_law.recovery import HOLD_S
from analysis.studies.collapse_law.recovery_claims import THRESHOLDS
from analysis.studies.collapse_law.rows import pick, sample

RUNS = 25
"""Drains shown of each kind, so that the points can be told apart."""


def draw_hysteresis(data: dict[str, Any], path: Path) -> None:
    """The ramp, the recovery thresholds, the trap, the drain times."""
    sheet = new_sheet("Up and down a ramp, and what drains after load is shed", 2, 2)
    _ramp(sheet.panels[0], data["ramp"])
    _thresholds(sheet.panels[1], data["recovery"])
    _trap(sheet.panels[2], data["trap"])
    _drains(sheet.panels[3], data["drains"])
    sheet.save(path)


def _ramp(axes: Axes, ramp: dict[str, Any]) -> None:
    for row in ramp["policies"]:
        colour = POLICY_COLOURS[row["policy"]]
        for way, style in (("up", "-"), ("down", (0, (4, 2)))):
            mean = np.array([step["mean"] for step in row[way]])
            reach = np.array([step["half_width_95"] for step in row[way]])
            label = POLICY_WORDS[row["policy"]] if way == "up" else "_"
            axes.plot(ramp[way], mean, color=colour, lw=1.6, ls=style, label=label, zorder=3)
            # Goodput is never below zero, whatever the interval of its mean says.
            low = np.maximum(0.0, mean - reach)
            axes.fill_between(ramp[way], low, mean + reach, color=colour, alpha=0.12, lw=0)
    axes.plot([], [], color=INK, lw=1.4, ls=(0, (4, 2)), label="on the way down")
    axes.axvline(laws.collapse_ceiling(5.0, 6), color=GREY, lw=1.2, ls=(0, (1, 1.5)), label="ceiling")
    axes.axvline(laws.recovery_threshold(6), color=GREY, lw=1.2, ls=(0, (5, 2.5)), label="μ/m")
    at_least(axes, -0.03, 1.1)
    dress(
        axes,
        f"Up and down a ramp, {ramp['dwell_s']:g} mean services a step",
        "load λ/μ",
        "goodput over demand",
    )
    axes.legend(loc="center right", bbox_to_anchor=(1.0, 0.62), **LEGEND)


def _thresholds(axes: Axes, rows: list[dict[str, Any]]) -> None:
    m = np.linspace(3, 11, 100)
    axes.plot(m, 1 / m, color=GREY, lw=1.5, label="law: μ/m, however long one waits")
    attempts = [row["max_attempts"] for row in rows]
    axes.plot(
        attempts,
        [row["law_within_hold"] for row in rows],
        ls="none",
        marker="_",
        ms=16,
        mew=1.8,
        color=VERMILLION,
        label=f"law: drained within {HOLD_S:,.0f} mean services",
    )
    points(axes, attempts, [sample(row) for row in rows], BLUE, "measured within that time")
    claimed(axes, list(THRESHOLDS), list(THRESHOLDS.values()), "the source's, dwell not given")
    at_least(axes, 0, 0.34)
    dress(
        axes,
        f"The highest load at which it drains in {HOLD_S:,.0f} services",
        "attempts a job may make, m",
        "load λ/μ",
    )
    axes.legend(loc="upper right", **LEGEND)


def _trap(axes: Axes, rows: list[dict[str, Any]]) -> None:
    for m, colour, words in (("inf", VERMILLION, "m = ∞"), (6.0, BLUE, "m = 6")):
        row = pick(rows, max_attempts=m)
        depth = np.array(row["mean_depth"])
        t_s = np.array(row["t_s"])[: depth.size]
        axes.plot(
            t_s, np.where(depth > 0.5, depth, np.nan), color=colour, lw=1.8, label=f"{words}: mean over seeds"
        )
    axes.plot(
        [HOLD_S], [48785], marker="x", ms=6.5, mew=1.6, ls="none", color=INK, label="the source's, m = ∞"
    )
    axes.set_yscale("log")
    dress(
        axes,
        "Shed from 0.9μ to 0.05μ and held there",
        "time since it was shed, mean services",
        "attempts in the queue",
    )
    axes.legend(loc="lower left", **LEGEND)


def _drains(axes: Axes, rows: list[dict[str, Any]]) -> None:
    most = 0.0
    for row, colour in zip(rows, SERIES, strict=False):
        axes.plot(
            row["law_s"][:RUNS], row["times_s"][:RUNS], ls="none", marker="o", ms=3, color=colour,
            label=f"λ = {row['load']:g}μ, {POLICY_WORDS[row['policy']]}: one run each",
        )  # fmt: skip
        most = max(most, *row["law_s"], *(t for t in row["times_s"] if np.isfinite(t)))
    axes.plot([0, 1.05 * most], [0, 1.05 * most], color=GREY, lw=1.3, label="as the law says")
    claimed(axes, [2500, 4375], [2474, 4496])
    dress(axes, "Time to drain, m = 6, θ = 5", "law D/(μ − λm), mean services", "measured, mean services")
    axes.legend(loc="lower right", **LEGEND)
