"""The scalers' signals as pictures: the anatomy of the trap, and Definition 9's region."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from analysis.plots.canvas import INK
from analysis.result import Floats
from analysis.studies.chart import log_y, new_chart
from analysis.studies.claims import Figure
from analysis.studies.demand_debt.scaled import (
    CALM_S,
    Scaled,
)
from analysis.studies.demand_debt.signals import ANATOMY, COLOURS, SIGNALS, TABLE, Signalled
from analysis.wording import number
from domain.fleet import Signal


def figures(signalled: Signalled) -> list[Figure]:
    """The anatomy of the trap and the achievable region."""
    return [_anatomy_figure(signalled), _region_figure(signalled)]


def back_words(signalled: Signalled, signal: Signal) -> str:
    """When a service scaled on this signal is healthy again in the fluid, and with how many pods it ends."""
    run = signalled.runs[signal][0]
    when = f"after {number(run.healthy_after_s)} s" if math.isfinite(run.healthy_after_s) else "never"
    return f"{when} on {SIGNALS[signal].lower()}, with {number(run.last_pods)} pods at the end"


def _anatomy_figure(signalled: Signalled) -> Figure:
    back = "; ".join(back_words(signalled, signal) for signal in ANATOMY)

    def draw(path: Path) -> None:
        chart = new_chart(
            "Pods, ingress and answers after a tenfold step, by what is scaled on",
            "seconds after the tenfold step",
            ["pods", "ingress per second", "answered per second"],
            panel_in=2.9,
        )
        for signal in ANATOMY:
            run = signalled.runs[signal][0]
            t, values = _thinned(run)
            for axes, series in zip(chart.panels, values, strict=True):
                axes.plot(t, series, color=COLOURS[signal], label=f"scaled on {SIGNALS[signal].lower()}")
        run = signalled.runs["first"][0]
        t, _ = _thinned(run)
        demand = np.where(t >= 0, run.step.demand_per_s, run.step.demand_per_s / run.step.factor)
        chart.panels[2].plot(t, demand, color=INK, lw=1.1, ls=(0, (1, 1.2)), label="demand")
        chart.panels[2].set_xlim(-60, 900)
        chart.panels[2].set_ylim(0, 2 * run.step.demand_per_s)
        chart.save(path)

    return Figure(
        "anatomy",
        "Fluid model: ten pods at a 50% target, timeout 10 s, three attempts, 90 s from order to first"
        " request. Means over 5 s; the last ten seconds of the backlog are answered at once, off the scale."
        f" Healthy again: {back}.",
        draw,
    )


def _thinned(run: Scaled, every_s: float = 5.0) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Means over ``every_s`` from a minute before the step on: pods, ingress and answers."""
    trace = run.trace
    shown = (trace.t_s >= CALM_S - 60) & (trace.t_s < CALM_S + 900)
    bucket = ((trace.t_s[shown] - CALM_S + 60) / every_s + 1e-6).astype(int)
    size = np.bincount(bucket)

    def mean(values: Floats) -> Floats:
        return np.asarray(np.bincount(bucket, values[shown]) / size)

    t = np.asarray(-60 + every_s * (np.arange(size.size) + 0.5), dtype=np.float64)
    return t, (mean(trace.pods), mean(trace.ingress_per_s), mean(trace.goodput_per_s))


def _region_figure(signalled: Signalled) -> Figure:
    def draw(path: Path) -> None:
        chart = new_chart(
            "Over-provisioning against work lost, by the signal scaled on",
            "peak pods over pods needed",
            ["first-attempt work lost, seconds of the stepped demand"],
            legend_rows=2,
        )
        axes = chart.axes
        ceiling = 3000.0
        for signal, words in SIGNALS.items():
            runs = signalled.runs[signal]
            finite = [min(r.lost_s, ceiling) if math.isfinite(r.healthy_after_s) else ceiling for r in runs]
            x = [r.peak_over_needed for r in runs]
            axes.plot(
                x[1:],
                finite[1:],
                "o",
                mfc="none",
                color=COLOURS[signal],
                ms=6,
                ls="",
            )
            marker = "^" if math.isinf(runs[0].healthy_after_s) else "o"
            axes.plot(x[0], finite[0], marker, color=COLOURS[signal], ms=9, label=words, ls="")
            stated = TABLE[signal]
            axes.plot(
                stated[1],
                min(stated[2], ceiling),
                "x",
                color="black",
                ms=8,
                ls="",
                label="the source's figures",
            )
            if math.isinf(runs[0].healthy_after_s):
                axes.annotate(
                    "never recovers: loss without bound",
                    (x[0], ceiling),
                    xytext=(10, -3),
                    textcoords="offset points",
                    fontsize=9,
                )
        axes.plot([], [], "o", mfc="none", color=INK, ms=6, label="other metric delays", ls="")
        axes.set_xlim(0, 14)
        log_y(axes, [100, 200, 500, 1000, 2000])
        axes.set_ylim(100, 4000)
        chart.save(path)

    return Figure(
        "region",
        "Definition 9: what a signal over-provisions at most against what it loses, after a tenfold step at"
        " a 50% target; down and left is better.",
        draw,
    )
