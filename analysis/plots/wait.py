"""How long the queue was: the wait an attempt met, against the timeout."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.plots.canvas import (
    BLUE,
    INK,
    SKY,
    Plot,
    Sheet,
    column,
    draw_measured,
    draw_predicted,
    fluid_key,
    highest,
    new_sheet,
    say_nothing_recorded,
    thousands,
)
from analysis.result import Floats, FluidTrace, RunResult
from analysis.wording import number

if TYPE_CHECKING:
    from analysis.simulation.bands import Bands

STEEP = 4.0
"""From this many timeouts on, the axis is linear up to the timeout and logarithmic above it."""

BAND_CAPTION = (
    " Shaded: where nine of ten simulated runs are at each moment; chance takes the tenth out of it."
)


FLEET_CAPTION = (
    " All over the capacity of the pods that serve at that moment: with more of them coming the true "
    "wait is shorter."
)


def draw_wait(result: RunResult) -> Plot:
    """The server's backlog in seconds against the fluid wait and the timeout; else latency quantiles."""
    timeout = result.experiment.client.timeout_s
    reported = bool(np.isfinite(column(result, "wait_s")).any())
    title = _title(result, reported)
    wait = (
        "wait in the queue, s" if result.experiment.fleet is None else "backlog, s of work of the pods then"
    )
    sheet = new_sheet(result, title, wait if reported else "latency from planned start, s")
    if reported:
        _draw_reported(sheet, result)
        drawn = True
    else:
        p95 = draw_measured(sheet, result, "latency_p95_s", "latency, 95th percentile", SKY)
        drawn = draw_measured(sheet, result, "latency_p50_s", "latency, median", BLUE) or p95
    if not drawn:
        say_nothing_recorded(sheet, "neither wait nor latency was recorded")
    fluid, bands = result.prediction.fluid, result.prediction.bands
    predicted_s = None if fluid is None else _predicted_wait(result, fluid)
    if predicted_s is not None:
        draw_predicted(sheet, result, predicted_s, BLUE)
    chance = [draw_band(sheet.axes, bands)] if bands is not None else []
    names = ("wait_s",) if reported else ("latency_p50_s", "latency_p95_s")
    measured = [column(result, name) for name in names]
    predicted = [predicted_s, bands.backlog.high_s if bands else None]
    scale_wait(sheet.axes, timeout, highest(*measured, *predicted))
    draw_timeout(sheet.axes, timeout)
    lines = [line for line in sheet.axes.get_lines() if not str(line.get_label()).startswith("_")]
    return Plot(
        "wait",
        title,
        _caption(timeout, reported)
        + (FLEET_CAPTION if reported and result.experiment.fleet is not None else "")
        + (BAND_CAPTION if bands else ""),
        f"Line chart of the wait over time against the timeout of {number(timeout)} s. {title}.",
        sheet.png([*lines, *fluid_key(result), *chance]),
    )


def _predicted_wait(result: RunResult, fluid: FluidTrace) -> Floats:
    """The fluid wait; of a fleet its backlog over the capacity then, which is what the server reports."""
    if result.experiment.fleet is None:
        return fluid.wait_s
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(fluid.backlog / fluid.capacity_per_s, dtype=np.float64)


def _draw_reported(sheet: Sheet, result: RunResult) -> None:
    """The wait as a line from report to report: buckets may be shorter than the time between two."""
    t_s, wait = column(result, "t_s"), column(result, "wait_s")
    there = np.isfinite(wait)
    sheet.axes.plot(t_s[there], wait[there], color=BLUE, lw=1.8, label="wait the server reports", zorder=3)


def _title(result: RunResult, reported: bool) -> str:
    timeout = number(result.experiment.client.timeout_s)
    if not reported and highest(column(result, "latency_p95_s")) == 0:
        return "Nothing was recorded of the wait"
    if not reported:
        return f"The server reports no backlog: latency stands in, against the timeout of {timeout} s"
    longest = highest(column(result, "wait_s"))
    if result.experiment.fleet is not None:
        return f"The backlog grew to {number(longest)} s of the pods' work, against a timeout of {timeout} s"
    if longest <= result.experiment.client.timeout_s:
        return f"The wait never passed the timeout of {timeout} s"
    return f"The wait grew to {number(longest)} s, against a timeout of {timeout} s"


def _caption(timeout: float, reported: bool) -> str:
    if reported:
        return (
            f"An attempt that meets a wait above T = {number(timeout)} s is abandoned before it is served, "
            "but served all the same: that work is lost. Answers are in time again only below the line. "
            "Above the timeout the axis is logarithmic if the wait is very long."
        )
    return (
        "A client waits no longer than its timeout, so this shows when the service was too slow, not how "
        "long its queue was."
    )


def scale_wait(axes: Axes, timeout: float, longest: float) -> None:
    """From zero to ``longest``; logarithmic above the timeout when the wait is very long."""
    top = max(1.15 * longest, 1.35 * timeout)
    if longest <= STEEP * timeout:
        axes.set_ylim(0, top)
        return
    axes.set_yscale("symlog", linthresh=timeout, linscale=1.0)
    powers = timeout * 10.0 ** np.arange(0, np.ceil(np.log10(top / timeout)) + 1)
    ticks = [0.0, timeout / 2, *(tick * part for tick in powers for part in (1, 3))]
    axes.yaxis.set_major_locator(FixedLocator([tick for tick in ticks if tick <= top]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(thousands))
    axes.set_ylim(0, 1.6 * longest)


def draw_timeout(axes: Axes, timeout: float) -> Line2D:
    """The line above which all work is for nobody."""
    axes.axhspan(0, timeout, color=INK, alpha=0.03, lw=0, zorder=0)
    return axes.axhline(
        timeout, color=INK, lw=1.2, ls=(0, (1, 1.2)), label=f"timeout T = {number(timeout)} s", zorder=2.5
    )


def draw_band(axes: Axes, bands: Bands) -> Artist:
    """Shade what nine simulated runs of ten have for a backlog at each moment."""
    backlog, count = bands.backlog, len(bands.seeds)
    return axes.fill_between(
        backlog.t_s,
        backlog.low_s,
        backlog.high_s,
        color=SKY,
        alpha=0.4,
        lw=0,
        zorder=1.5,
        label=f"5–95% of {count} simulated runs",
    )
