"""F1: the kernel and the fixed-point curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis import laws
from analysis.plots.canvas import BLUE, GREY, INK, ORANGE
from analysis.studies.collapse_law.kernel import LONG_S
from analysis.studies.collapse_law.pictures.sheet import (
    LEGEND,
    POLICY_COLOURS,
    POLICY_WORDS,
    claimed,
    dress,
    new_sheet,
    points,
)
from analysis.studies.collapse_law.rows import sample


def draw_curve(data: dict[str, Any], path: Path) -> None:
    """Left the late share without retries, right the utilization with them."""
    sheet = new_sheet("Late attempts without retries, and utilization with them, beside the laws", 1, 2)
    _kernel(sheet.panels[0], data["kernel"])
    _branch(sheet.panels[1], data["curve"])
    sheet.save(path)


def _kernel(axes: Axes, kernel: dict[str, Any]) -> None:
    theta = kernel["theta"]
    x = np.linspace(0.05, 1, 200)
    axes.plot(x, laws.timeout_kernel(x, theta), color=GREY, lw=1.5, label="law: $e^{-θ(1-λ/μ)}$")
    for name, colour, words, shift in (
        ("protocol", ORANGE, "the source's horizon", -0.006),
        ("long", BLUE, f"{LONG_S:,.0f} mean services", 0.006),
    ):
        rows = [row for row in kernel[name] if row["pooled"] > 0]
        shares = np.array([row["pooled"] for row in rows])
        # A logarithmic axis has no room for an interval that reaches zero.
        reach = np.array([row["half_width_95"] for row in rows])
        axes.errorbar(
            [row["load"] + shift for row in rows],
            shares,
            yerr=[np.minimum(reach, 0.95 * shares), reach],
            fmt="o",
            ms=4,
            capsize=2.5,
            color=colour,
            label=words,
            zorder=4,
        )
    claimed(axes, [0.46, 0.92], [0.075, 0.665])
    axes.set_yscale("log")
    axes.set_ylim(0.004, 1.2)
    dress(axes, f"Without retries, θ = {theta:g}", "load λ/μ", "late attempts over attempts")
    axes.legend(loc="upper left", **LEGEND)


def _branch(axes: Axes, rows: list[dict[str, Any]]) -> None:
    x = np.linspace(0, 1, 600)
    axes.plot(laws.steady_utilization(x, 5.0, 6.0), x, color=GREY, lw=1.5, label="law: $λ/μ = g_6(x)$")
    ceiling, peak = laws.collapse_ceiling(5.0, 6), laws.ceiling_offered_utilization(5.0, 6)
    axes.plot([ceiling], [peak], marker="D", ms=5, color=INK, ls="none", label=f"ceiling {ceiling:.3f}")
    for policy, shift in (("none", -0.002), ("jitter", 0.002)):
        chosen = [row for row in rows if row["policy"] == policy]
        points(
            axes,
            [row["load"] + shift for row in chosen],
            [sample(row) for row in chosen],
            POLICY_COLOURS[policy],
            f"measured, {POLICY_WORDS[policy]}",
        )
        for row in chosen:
            share = row["tipped"] / row["seeds"]
            axes.annotate(
                f"{share:.0%}",
                (row["load"], 0.055 if policy == "none" else 0.015),
                fontsize=7,
                ha="center",
                color=POLICY_COLOURS[policy],
            )
    axes.set_xlim(0.1, 0.6)
    axes.set_ylim(0, 1.0)
    dress(
        axes,
        "With retries, m = 6, θ = 5; %: runs tipped, left out",
        "load λ/μ (first attempts)",
        "utilization x by all attempts",
    )
    axes.legend(loc="center left", **LEGEND)
