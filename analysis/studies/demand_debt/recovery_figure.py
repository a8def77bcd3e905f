"""The way back as a picture: law, fluid, seeds and the source's figures over Aρ."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from analysis import laws
from analysis.plots.canvas import BLUE, GREEN, GREY, INK, VERMILLION
from analysis.result import Floats
from analysis.studies.chart import log_y, new_chart
from analysis.studies.claims import Figure
from analysis.studies.demand_debt.recovery import CURVE, HALF, HALF_THREE, STATED, Recovery
from analysis.studies.demand_debt.specimen import (
    SPIKE_S,
    TIMEOUT_S,
)
from analysis.wording import number


def figure(recovery: Recovery) -> Figure:
    """Recovery time against Aρ, and how far fluid, seeds and source lie from the law."""

    def draw(path: Path) -> None:
        chart = new_chart(
            "Time to recover from a spike, by amplified utilization Aρ",
            "amplified utilization Aρ",
            ["seconds to an empty queue", "off from Prop. 7, %"],
            panel_in=3.9,
            legend_rows=2,
        )
        whole, off = chart.panels
        x = np.linspace(0.35, 0.985, 200)
        law = _law(x)
        long = laws.long_spike_recovery_time_s(
            amplification=3.0, spike_factor=10.0, utilization=x / 3, spike_duration_s=SPIKE_S
        )
        series = [
            (x, law, {"color": INK, "label": "Prop. 7, A = 3"}),
            (x, long, {"color": GREY, "lw": 1.0, "ls": (0, (5, 2.5)), "label": "its long-spike form"}),
            (*_points(recovery), {"color": BLUE, "marker": "s", "ms": 5, "ls": "", "label": "fluid"}),
            (
                *_seeds(recovery),
                {
                    "color": VERMILLION,
                    "marker": "_",
                    "ms": 14,
                    "ls": "",
                    "label": "request by request, each seed",
                },
            ),
            (
                *np.transpose(STATED),
                {"color": GREEN, "marker": "x", "ms": 8, "mew": 2, "ls": "", "label": "the source's figures"},
            ),
        ]
        for at, value, style in series:
            whole.plot(at, value, **style)
            off.plot(at, 100 * (value / _law(at) - 1), **style)
        for axes in chart.panels:
            axes.axvspan(1.0, 1.05, color="#f2b8a0", lw=0, label="trapped: never")
        off.set_xlim(0.35, 1.05)
        off.set_ylim(-4, 8)
        log_y(whole, [1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000])
        whole.set_ylim(1000, 200_000)
        chart.save(path)

    return Figure(
        "recovery",
        "A tenfold spike of 300 s, timeout 10 s, three attempts; below, the same as a difference from the"
        " law. The source says 2,398 s at 0.5; without retries the fluid takes"
        f" {number(recovery.fluid[HALF])} s there, with three attempts"
        f" {number(recovery.fluid[HALF_THREE])} s.",
        draw,
    )


def _law(amplified_utilization: Floats) -> Floats:
    return np.asarray(
        laws.recovery_time_s(
            amplification=3.0,
            spike_factor=10.0,
            utilization=amplified_utilization / 3,
            spike_duration_s=SPIKE_S,
            timeout_s=TIMEOUT_S,
        )
    )


def _points(recovery: Recovery) -> tuple[Floats, Floats]:
    """Aρ and the fluid's recovery times along the curve."""
    return np.array([s.amplified_utilization for s in CURVE]), np.array([recovery.fluid[s] for s in CURVE])


def _seeds(recovery: Recovery) -> tuple[Floats, Floats]:
    """Aρ and the recovery time of every seed with three attempts."""
    pairs = [
        (s.amplified_utilization, v)
        for s in CURVE
        if s in recovery.simulated
        for v in recovery.simulated[s].values
    ]
    return np.array([x for x, _ in pairs]), np.array([y for _, y in pairs])
