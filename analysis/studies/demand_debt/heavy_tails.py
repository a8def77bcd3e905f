"""What the seed leaves open: do heavy-tailed service times bring about their own trigger?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from analysis.plots.canvas import BLUE, GREEN, INK, ORANGE, PURPLE, VERMILLION
from analysis.simulation import simulate_seeds
from analysis.studies.chart import log_y, new_chart
from analysis.studies.claims import Claim, Figure
from analysis.studies.demand_debt.specimen import PODS, RATE_PER_POD, experiment, seeds
from analysis.wording import number
from domain.experiment import Phase, Service
from domain.service_time import ServiceTime

SOURCE = "002, left open"
DURATION_S = 5000.0
SHORTEST_S = 200.0
SEEDS = 4
UTILIZATIONS = (0.5, 0.8, 0.95)
LAST = 5
"""Windows (of a hundred) over which a run is judged."""
TIMES = (
    (ServiceTime("exponential"), "exponential", BLUE),
    (ServiceTime("hyperexponential", 10.0), "hyperexponential, cv 10", GREEN),
    (ServiceTime("lognormal", 5.0), "lognormal, cv 5", PURPLE),
    (ServiceTime("pareto", 2.5), "Pareto, α = 2.5", "#888888"),
    (ServiceTime("pareto", 1.5), "Pareto, α = 1.5 (infinite variance)", ORANGE),
    (ServiceTime("pareto", 1.2), "Pareto, α = 1.2 (infinite variance)", VERMILLION),
)


@dataclass(frozen=True, slots=True)
class Tail:
    """One distribution at one utilization, without a trigger."""

    words: str
    infinite_variance: bool
    utilization: float
    seeds: int
    fell: int
    """Seeds that ended with less than half of the jobs answered."""
    late_per_million: float
    """Over the seeds that did not fall; NaN if all did."""


@dataclass(frozen=True, slots=True)
class Tails:
    """All of them."""

    tails: list[Tail]
    duration_s: float


def work_out(effort: float, told: Callable[[float], None]) -> Tails:
    """Steady load at full rate, for a shorter time below effort 1."""
    duration_s = max(SHORTEST_S, DURATION_S * min(1.0, effort))
    cases = [(time, words, u) for time, words, _ in TIMES for u in UTILIZATIONS]
    tails = []
    for done, (time, words, utilization) in enumerate(cases):
        told(done / len(cases))
        tails.append(_tail(time, words, utilization, duration_s, seeds(effort, SEEDS)))
    return Tails(tails, duration_s)


def _tail(time: ServiceTime, words: str, utilization: float, duration_s: float, chosen: list[int]) -> Tail:
    steady = experiment(utilization, [Phase("steady", duration_s)])
    steady = replace(steady, service=Service(PODS, RATE_PER_POD, time))
    counts = simulate_seeds(steady, chosen, edges_s=np.linspace(0.0, duration_s, 101).tolist())
    answered = counts.answered[:, -LAST:].sum(axis=1) / counts.jobs[:, -LAST:].sum(axis=1)
    fell = answered < 0.5
    late, sent = counts.late.sum(axis=1)[~fell].sum(), counts.attempts.sum(axis=1)[~fell].sum()
    return Tail(
        words,
        time.kind == "pareto" and time.parameter <= 2.0,
        utilization,
        len(chosen),
        int(fell.sum()),
        1e6 * float(late) / float(sent) if sent else float("nan"),
    )


def claims(tails: Tails) -> list[Claim]:
    """The answer: only when the variance is infinite, and then at high utilization."""
    tame, wild = _tame(tails), _wild(tails)
    return [
        Claim(
            "Heavy-tailed service times could produce triggers of their own",
            SOURCE,
            "an open question",
            f"{_fell(tame)} with a finite variance fell; {_fell(wild)} with an infinite one ({_where(wild)})",
            None,
            f"{number(tails.duration_s)} s without a trigger, ten pods, T a thousand mean services of one"
            " pod. One very long attempt takes a pod out of ten away for as long as it lasts: at 95%"
            " utilization that is an overload, and its retry is drawn anew. With a finite variance single"
            " attempts time out, and nothing follows from it",
        )
    ]


def _tame(tails: Tails) -> list[Tail]:
    return [t for t in tails.tails if not t.infinite_variance]


def _wild(tails: Tails) -> list[Tail]:
    return [t for t in tails.tails if t.infinite_variance]


def _fell(tails: list[Tail]) -> str:
    return f"{sum(t.fell for t in tails)} of {sum(t.seeds for t in tails)} runs"


def _where(tails: list[Tail]) -> str:
    parts = [f"{sum(t.fell for t in tails if t.utilization == u)} at ρ = {u:g}" for u in UTILIZATIONS]
    return ", ".join(parts)


def data(tails: Tails) -> dict[str, Any]:
    """Runs that fell and late attempts, by distribution and utilization."""
    return {
        "duration_s": tails.duration_s,
        "runs": [
            {
                "service_time": t.words,
                "utilization": t.utilization,
                "seeds": t.seeds,
                "fell": t.fell,
                "late_per_million": t.late_per_million,
            }
            for t in tails.tails
        ],
    }


def figure(tails: Tails) -> Figure:
    """Runs that fell, by utilization and distribution."""
    tame, wild = _tame(tails), _wild(tails)

    def draw(path: Path) -> None:
        chart = new_chart(
            "Steady load without a trigger, by distribution of service times",
            "utilization ρ",
            ["share of runs that ended failed", "late attempts per million, runs that held"],
            side_by_side=True,
            legend_rows=2,
        )
        fell, late = chart.panels
        width = 0.8 / len(TIMES)
        places = np.arange(len(UTILIZATIONS))
        for n, (_, words, colour) in enumerate(TIMES):
            rows = [t for t in tails.tails if t.words == words]
            at = places + (n - (len(TIMES) - 1) / 2) * width
            fell.bar(at, [t.fell / t.seeds for t in rows], 0.9 * width, color=colour, label=words)
            shown = [max(t.late_per_million, 0.03) for t in rows]
            late.plot(at, shown, "o", color=colour, ms=6)
        for axes in chart.panels:
            axes.set_xticks(places, [f"{u:g}" for u in UTILIZATIONS])
        fell.set_ylim(0, 1.05)
        log_y(late, [0.1, 1, 10, 100, 1000, 10_000])
        most = max((t.late_per_million for t in tails.tails if t.late_per_million > 0), default=0.0)
        late.set_ylim(0.02, max(100.0, 1.5 * most))
        late.axhline(0.03, color=INK, lw=0.8, ls=(0, (1, 1.2)))
        late.annotate(
            "none", (0.01, 0.032), xycoords=("axes fraction", "data"), ha="left", va="bottom", fontsize=9
        )
        chart.save(path)

    return Figure(
        "heavy-tails",
        "Ten pods, timeout 10 s, three attempts, steady load and no trigger. A run that ended with less"
        f" than half of its jobs answered has failed: {_fell(tame)} with a finite variance, {_fell(wild)}"
        " with an infinite one.",
        draw,
    )
