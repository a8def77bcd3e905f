"""F5: queue caps and timeouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis import laws
from analysis.plots.canvas import BLUE, GREY, INK
from analysis.studies.collapse_law.caps import CHOICES, PLACES, ROW, UNCAPPED, WORDS, best_choice
from analysis.studies.collapse_law.pictures.sheet import (
    LEGEND,
    SERIES,
    at_least,
    claimed,
    dress,
    new_sheet,
    points,
)
from analysis.studies.collapse_law.rows import sample


def draw_interventions(data: dict[str, Any], path: Path) -> None:
    """Goodput by cap, goodput by what a rejected attempt does, collapse load by timeout."""
    sheet = new_sheet("Goodput under a queue cap of L places, and collapse load by timeout", 1, 3)
    _caps(sheet.panels[0], data["caps"])
    _choices(sheet.panels[1], data["caps"])
    _timeouts(sheet.panels[2], data["timeouts"])
    sheet.save(path)


def _line(
    axes: Axes,
    caps: dict[str, Any],
    places: int | None,
    choice: str,
    colour: str,
    label: str,
    policy: str = "jitter",
) -> None:
    rows = [
        row
        for row in caps["goodput"]
        if (row["places"], row["choice"], row["policy"]) == (places, choice, policy)
    ]
    loads = [row["load"] for row in rows]
    points(axes, loads, [sample(row) for row in rows], colour, label)
    axes.plot(loads, [sample(row).mean for row in rows], color=colour, lw=1.3, zorder=3)


def _limit(axes: Axes) -> None:
    x = np.linspace(0.1, 1.4, 100)
    axes.plot(
        x, np.minimum(1, 1 / x), color=GREY, lw=1.3, ls=(0, (5, 2.5)), label="the server's limit min(1, μ/λ)"
    )
    at_least(axes, -0.03, 1.55)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1.0])


def _caps(axes: Axes, caps: dict[str, Any]) -> None:
    best = best_choice(caps)
    for places, colour in zip(PLACES, SERIES, strict=False):
        gain = laws.loop_gain(places, caps["theta"], 6)
        _line(axes, caps, places, best, colour, f"L = {places}, loop gain {gain:.2f}")
    _line(axes, caps, None, UNCAPPED, INK, "no cap")
    _limit(axes)
    dress(
        axes,
        f"By cap, θ = 5, jitter, m = 6; a rejected attempt\n{WORDS[best]}",
        "load λ/μ",
        "goodput over demand",
    )
    axes.legend(loc="upper right", **LEGEND)


def _choices(axes: Axes, caps: dict[str, Any]) -> None:
    for choice, colour in zip(CHOICES, SERIES, strict=False):
        _line(axes, caps, 2, choice, colour, WORDS[choice])
    _line(axes, caps, 2, "after-timeout", SERIES[3], f"{WORDS['after-timeout']}, no backoff", "none")
    claimed(axes, list(ROW), list(ROW.values()), "the source's row")
    _limit(axes)
    at_least(axes, 0.25, 1.08)
    dress(axes, "By what a rejected attempt does, L = 2", "load λ/μ", "goodput over demand")
    axes.legend(loc="lower left", **LEGEND)


def _timeouts(axes: Axes, rows: list[dict[str, Any]]) -> None:
    theta = np.geomspace(0.8, 25, 200)
    axes.plot(theta, laws.collapse_ceiling(theta), color=GREY, lw=1.5, label="law: ceiling for m = ∞")
    thetas = [row["theta"] for row in rows]
    points(axes, thetas, [sample(row) for row in rows], BLUE, "measured, full jitter, m = 6")
    off = (-0.11, -0.39, -0.25, 0.0, -0.05)
    claimed(
        axes,
        thetas,
        [row["ceiling_endless"] * (1 + gap) for row, gap in zip(rows, off, strict=True)],
        "the source's, 3 seeds each",
    )
    axes.set_xscale("log")
    axes.set_xticks(thetas, [f"{t:g}" for t in thetas])
    axes.minorticks_off()
    dress(axes, "By timeout, no cap", "timeout θ, mean services", "collapse load λ/μ")
    axes.legend(loc="upper left", **LEGEND)
