"""F7: the curves for several m, the collapse loads, and where there is a loop at all."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis import laws
from analysis.plots.canvas import BLUE, GREY, INK, VERMILLION
from analysis.studies.collapse_law.collapse_load_claims import ATTEMPTS
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


def draw_unified(data: dict[str, Any], path: Path) -> None:
    """The curves with what was measured on them, the onset by m, the lattice."""
    sheet = new_sheet("The curve by attempts, collapse loads beside its top, and where it folds", 1, 3)
    _curves(sheet.panels[0], data["shift"])
    _attempts(sheet.panels[1], data["attempts"])
    _lattice(sheet.panels[2], data["ceilings"]["scan"])
    sheet.save(path)


def _curves(axes: Axes, rows: list[dict[str, Any]]) -> None:
    x = np.linspace(0, 1, 500)
    for m, colour in zip((1, 2, 4, math.inf), SERIES, strict=False):
        name = "∞" if math.isinf(m) else f"{m:g}"
        axes.plot(x, laws.steady_utilization(x, 2.0, m), color=colour, lw=1.5, label=f"law: m = {name}")
        for row in rows:
            same = row["max_attempts"] == ("inf" if math.isinf(m) else m)
            if same and len(row["values"]) > 1:
                ours = sample(row)
                marker = "o" if row["policy"] == "none" else "s"
                axes.errorbar(
                    [ours.mean],
                    [row["load"] + (-0.005 if row["policy"] == "none" else 0.005)],
                    xerr=[ours.half_width],
                    fmt=marker,
                    ms=5,
                    color=colour,
                    capsize=2.5,
                )
    axes.plot([], [], "o", color=INK, label="measured, at once")
    axes.plot([], [], "s", color=INK, label="measured, full jitter")
    measured = [s.mean - s.half_width for row in rows if len((s := sample(row)).values) > 1]
    axes.set_xlim(max(0.0, min([0.2, *measured])), 0.8)
    axes.set_ylim(0.05, 0.55)
    dress(axes, "θ = 2: the curve, and runs at λ = 0.28μ", "utilization x by all attempts", "load λ/μ")
    axes.legend(loc="lower center", ncols=2, **LEGEND)


def _attempts(axes: Axes, rows: list[dict[str, Any]]) -> None:
    chosen = [row for row in rows if row["theta"] == 2.0]
    m = np.linspace(1.5, 9, 200)
    axes.plot(m, laws.collapse_ceiling(2.0, m), color=GREY, lw=1.5, label="law: ceiling, θ = 2")
    axes.plot(m, 1 / m, color=GREY, lw=1.2, ls=(0, (1, 1.5)), label="law: recovery threshold 1/m")
    points(
        axes,
        [row["max_attempts"] for row in chosen],
        [sample(row) for row in chosen],
        BLUE,
        "measured, jitter",
    )
    claimed(axes, list(ATTEMPTS), [value for value, _ in ATTEMPTS.values()])
    at_least(axes, 0, 0.7)
    dress(axes, "Collapse load by attempts, θ = 2", "attempts a job may make, m", "collapse load λ/μ")
    axes.legend(loc="upper right", **LEGEND)


def _lattice(axes: Axes, scan: list[dict[str, Any]]) -> None:
    for folds, colour, words in ((True, VERMILLION, "two stable states"), (False, BLUE, "one")):
        found = [row for row in scan if row["folds"] == folds]
        axes.plot(
            [row["theta"] for row in found],
            [row["max_attempts"] for row in found],
            ls="none",
            marker="s" if folds else "o",
            ms=4,
            color=colour,
            label=f"the curve has {words}",
        )
    theta = np.linspace(0.18, 6.1, 300)
    axes.plot(theta, 1 + 2 / theta, color=INK, lw=1.5, label="law: (m − 1)θ = 2")
    axes.set_ylim(0.4, 15.5)
    axes.set_yticks(range(1, 13))
    dress(
        axes,
        f"Where the curve folds: {len(scan)} points",
        "timeout θ, mean services",
        "attempts a job may make, m",
    )
    axes.legend(loc="upper right", ncols=2, **LEGEND)
