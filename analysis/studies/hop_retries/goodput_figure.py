"""The picture of the loaded chains: goodput after a spike, by utilization and reach of the deadline."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import FuncFormatter

from analysis.plots.canvas import BLUE, GREEN, INK, ORANGE, PURPLE, VERMILLION, thousands
from analysis.studies.chart import new_chart
from analysis.studies.claims import Figure
from analysis.studies.hop_retries.law import amplification
from analysis.studies.hop_retries.variants import (
    ATTEMPTS,
    CALLERS,
    DEADLINE_S,
    EDGE,
    ENOUGH_LEFT,
    NONE,
    OWN_END,
    SERVICES,
    VARIANTS,
    Case,
    Row,
    chain,
    rows,
    watch_s,
    words,
)
from analysis.wording import number

LENGTHS, FEWER_LENGTHS = (1, 2, 3), (1, 2)
"""H, a panel each; the fewer at a low effort."""
LOW_EFFORT = 0.5
LEAST_LOAD, MOST_LOAD, LOADS = 0.01, 0.9, 13
SEEDS = 2
WATCH_S, SHORTER_WATCH_S = 100.0, 50.0
"""Of chains that stay failed by the law; the shorter one far above its threshold, where load is dear."""
FAR_ABOVE = 4.0
STYLES = {
    NONE: (INK, "o"),
    EDGE: (PURPLE, "s"),
    CALLERS: (VERMILLION, "^"),
    SERVICES: (ORANGE, "v"),
    OWN_END: (BLUE, "D"),
    ENOUGH_LEFT: (GREEN, "P"),
}
"""Colour and marker of each variant."""


@dataclass(frozen=True)
class Curves:
    """``rows[hops][variant]``: one row per utilization."""

    rows: dict[int, dict[str, list[Row]]]


def measure(effort: float, progress: Callable[[float], None]) -> Curves:
    """Goodput after a spike of every variant at every utilization; ``effort`` scales loads and seeds."""
    loads = np.geomspace(LEAST_LOAD, MOST_LOAD, max(3, round(LOADS * min(1.0, effort))))
    seeds = range(1, max(1, round(SEEDS * effort)) + 1)
    found: dict[int, dict[str, list[Row]]] = {}
    lengths = LENGTHS if effort >= LOW_EFFORT else FEWER_LENGTHS
    for done, hops in enumerate(lengths):
        found[hops] = {variant: rows(_cases(variant, hops, loads), seeds) for variant in VARIANTS}
        progress((done + 1) / len(lengths))
    return Curves(found)


def figure(found: Curves) -> Figure:
    """A panel for each H, side by side, with the law's threshold of each curve as a tick on top."""
    deadline = (
        f"A deadline of {number(DEADLINE_S)}T reaches nobody, the user's client, all callers, or callers and"
        " services."
    )
    served = {
        variant: words([amplification(chain(variant, hops)).served for hops in found.rows])
        for variant in (NONE, EDGE, CALLERS, SERVICES)
    }
    law = "; ".join(f"{variant} {numbers}" for variant, numbers in served.items())
    return Figure(
        "trap",
        f"Share of requests answered in time after a spike, {ATTEMPTS} attempts per hop. {deadline} Ticks"
        f" on top are 1/A_D: {law} at H = {words(list(found.rows))}. Services that drop what the caller has"
        " given up on (own end) are trapped only near capacity, and those that also want enough time left not"
        " at all.",
        lambda path: _draw(found, path),
    )


def data(found: Curves) -> list[dict[str, Any]]:
    """Every row."""
    return [row.plain() for each in found.rows.values() for curve in each.values() for row in curve]


def _cases(variant: str, hops: int, loads: np.ndarray[Any, np.dtype[np.float64]]) -> list[Case]:
    tried = chain(variant, hops)
    served = amplification(tried).served
    cases = []
    for load in map(float, loads):
        if_trapped_s = SHORTER_WATCH_S if served * load > FAR_ABOVE else WATCH_S
        cases.append(Case(variant, tried, load, watch_s(tried, load, if_trapped_s=if_trapped_s)))
    return cases


def _draw(found: Curves, path: Path) -> None:
    chart = new_chart(
        "Goodput after a spike, by how far the deadline goes",
        "utilization ρ by first attempts",
        ["share of requests answered in time", *[""] * (len(found.rows) - 1)],
        side_by_side=True,
        share_y=True,
        legend_rows=2,
        panel_titles=[f"H = {hops}" for hops in found.rows],
    )
    for axes, (hops, curves) in zip(chart.panels, found.rows.items(), strict=True):
        for variant, curve in curves.items():
            colour, marker = STYLES[variant]
            load = [row.case.utilization for row in curve]
            good = [row.goodput.mean for row in curve]
            axes.plot(load, good, marker=marker, color=colour, ms=4, lw=1.3, label=variant)
            served = amplification(chain(variant, hops)).served
            if served > 1:
                axes.plot([1 / served], [1.07], "|", color=colour, ms=10, mew=2, clip_on=False)
        axes.set_xscale("log")
        axes.set_xticks([0.01, 0.03, 0.1, 0.3, 0.9])
        axes.minorticks_off()
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.set_ylim(-0.03, 1.1)
    chart.save(path)
