"""F2: where runs collapse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator, ScalarFormatter

from analysis import laws
from analysis.plots.canvas import BLUE, GREY, ORANGE
from analysis.studies.collapse_law.pictures.sheet import (
    LEGEND,
    POLICY_COLOURS,
    POLICY_WORDS,
    at_least,
    claimed,
    dress,
    law_line,
    new_sheet,
    points,
    shares,
)
from analysis.studies.collapse_law.rows import pick, sample

THETA_COLOURS = {5.0: BLUE, 2.0: ORANGE}


def draw_onset(data: dict[str, Any], path: Path) -> None:
    """Tipping probability, collapse loads of the policies, drift with the horizon, bursts."""
    sheet = new_sheet("Where runs collapse: by load, policy and timeout, horizon, burst", 2, 2)
    _tipping(sheet.panels[0], data["tipping"])
    _policies(sheet.panels[1], data["policies"])
    _horizons(sheet.panels[2], data["horizons"])
    _bursts(sheet.panels[3], data["burst"])
    sheet.save(path)


def _tipping(axes: Axes, tipping: dict[str, Any]) -> None:
    for theta, colour in THETA_COLOURS.items():
        rows = [row for row in tipping["rows"] if row["theta"] == theta]
        shares(axes, [row["load"] for row in rows], rows, colour, f"θ = {theta:g}, full jitter, m = 6")
        ceiling = tipping["ceilings"][f"{theta:g}"]
        axes.axvline(ceiling, color=colour, lw=1.2, ls=(0, (5, 2.5)), label=f"ceiling {ceiling:.3f}")
    claimed(axes, [0.30, 0.45, 0.525, 0.22], [0.0, 0.5, 0.96, 0.5])
    dress(axes, "Probability of collapse within 90(θ+1) + 150", "load λ/μ", "share of runs that collapse")
    axes.set_ylim(-0.03, 1.03)
    axes.set_xlim(0, 1.0)
    axes.legend(loc="lower right", **LEGEND)


def _policies(axes: Axes, rows: list[dict[str, Any]]) -> None:
    theta = np.geomspace(1.5, 27, 200)
    axes.plot(theta, laws.collapse_ceiling(theta, 6.0), color=GREY, lw=1.5, label="law: ceiling for m = 6")
    for i, policy in enumerate(POLICY_COLOURS):
        chosen = [row for row in rows if row["policy"] == policy]
        points(
            axes,
            [row["theta"] * 1.06 ** (i - 1.5) for row in chosen],
            [sample(row) for row in chosen],
            POLICY_COLOURS[policy],
            POLICY_WORDS[policy],
        )
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator([2, 5, 20]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(ScalarFormatter())
    dress(
        axes,
        "Mean collapse load of each policy, by bisection",
        "timeout θ, mean services",
        "collapse load λ/μ",
    )
    axes.legend(loc="upper left", **LEGEND)


def _horizons(axes: Axes, rows: list[dict[str, Any]]) -> None:
    lengths = [row["length_s"] for row in rows]
    points(axes, lengths, [sample(row) for row in rows], BLUE, "ours: mean collapse load, full jitter")
    claimed(axes, lengths, [0.502, 0.424, 0.386, 0.384], "the source's, 3 seeds each")
    law_line(axes, rows[0]["ceiling"], f"ceiling {rows[0]['ceiling']:.3f}")
    at_least(axes, 0.25, 0.6)
    dress(
        axes,
        "Collapse load by length of the run, θ = 5",
        "horizon, mean services",
        "collapse load λ/μ",
    )
    axes.legend(loc="lower left", **LEGEND)


def _bursts(axes: Axes, burst: dict[str, Any]) -> None:
    for policy in ("none", "jitter"):
        rows = [row for row in burst["shares"] if row["policy"] == policy]
        mean = sample(pick(burst["least"], policy=policy)).mean
        words = f"{POLICY_WORDS[policy]}; least that tips it: mean {mean:.1f}"
        shares(axes, [row["size"] for row in rows], rows, POLICY_COLOURS[policy], words)
    depth = burst["separatrix"]
    axes.axvline(depth, color=GREY, lw=1.3, ls=(0, (5, 2.5)), label=f"mean-field separatrix {depth:.1f}")
    axes.axvline(10.3, color="#222222", lw=1.0, ls=(0, (1, 1.5)), label="the source's least burst, 10.3 ± 3")
    axes.axvspan(7.3, 13.3, color="#222222", alpha=0.07, lw=0)
    axes.set_ylim(0, 1.05)
    dress(
        axes,
        "A synchronised burst at half the ceiling, θ = 5",
        "attempts sent together at time zero",
        "share of runs that collapse",
    )
    axes.legend(loc="lower right", **LEGEND)
