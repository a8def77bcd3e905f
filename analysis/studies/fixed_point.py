"""Seed 004: load raises failures, failures raise retries, retries raise load, and where that settles.

Every figure is worked out in exact fractions (``laws.fixed_point_enclosure``), so what is compared is the
source's arithmetic and not our rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from analysis import laws
from analysis.plots.canvas import BLUE, GREEN, INK, ORANGE, VERMILLION
from analysis.studies.agreement import Agreement, as_printed, close, same
from analysis.studies.chart import new_chart
from analysis.studies.claims import Claim, Figure, Progress, StudyResult
from analysis.wording import number, percent

TITLE = "Feedback: load, failures, retries, load, and where that settles"
CITATION = "a lesson on the feedback of retries, without title, author or date (004)"
SOURCE = "004"
STATED = (
    ("0.95", 4, "0.1", "1.727"),
    ("0.95", 3, "0.1", "1.439"),
    ("0.95", 2, "0.1", "1.168"),
    ("0.95", 1, "0.1", "0.95"),
    ("0.80", 4, "0.1", "0.8888"),
    ("0.90", 4, "0.1", "0.9999"),
)
"""Offered load, attempts (the source's retries and one), base failure rate, and the load it settles at."""
RECOMPUTED = (("0.98", 3, "0.05", "1.38247"), ("0.98", 4, "0.05", "1.63311"))
"""The source says only that these two storm, the second harder."""
STEPS = ("0.95", "1.06", "1.11", "1.17", "1.24")
DIGITS = (5, 13, 39, 119, 358)
LAST_DIGITS = 3000
ITERATES = 7
GRID = 40
"""Loads and attempts at which the fixed point is looked for from both sides."""
MOST_TURNS = 20_000


@dataclass(frozen=True, slots=True)
class ExactStep:
    """One turn of the loop in fractions, from ``load`` on."""

    load: Fraction
    overload_share: Fraction
    failure: Fraction
    amplification: Fraction
    next_load: Fraction

    @property
    def digits(self) -> int:
        """Digits of the load it leads to, in the longer of numerator and denominator."""
        return max(len(str(self.next_load.numerator)), len(str(self.next_load.denominator)))


def exact_steps(utilization: str, max_attempts: int, base_failure: str, steps: int) -> list[ExactStep]:
    """λ, F(λ), F(F(λ)), … without rounding."""
    demand, base = Fraction(utilization), Fraction(base_failure)
    turns, load = [], demand
    for _ in range(steps):
        share = max(Fraction(0), (load - 1) / load)
        failure = base + (1 - base) * share
        attempts = sum((failure**n for n in range(max_attempts)), Fraction(0))
        turns.append(ExactStep(load, share, failure, attempts, demand * attempts))
        load = turns[-1].next_load
    return turns


def run(effort: float, progress: Progress) -> StudyResult:
    """Work out every figure; exact, so ``effort`` changes nothing."""
    progress("exact fractions", 0.0)
    turns = exact_steps("0.95", 4, "0.1", ITERATES)
    progress("one fixed point or two", 0.5)
    apart = _widest_gap()
    claims = [
        *map(_settles, STATED),
        _failure_rate(),
        _over_capacity(),
        _steps(turns),
        *_worked_step(turns),
        _digits(turns),
        _seventh(turns),
        *_exercise(),
        _hysteresis(apart),
    ]
    return StudyResult(
        name="fixed-point",
        title=TITLE,
        claims=tuple(claims),
        figures=(_curve(), _loop()),
        data={
            "fixed_points": [_enclosed(*row) for row in (*STATED, *RECOMPUTED)],
            "steps": [
                {
                    "load": float(t.load),
                    "failure": float(t.failure),
                    "amplification": float(t.amplification),
                    "next_load": float(t.next_load),
                    "digits": t.digits,
                }
                for t in turns
            ],
            "widest_gap_between_limits": apart,
        },
        settings={
            "effort": effort,
            "source": CITATION,
            "symbols": "λ is the load offered, in capacities; base is the share that fails without overload",
            "arithmetic": "exact fractions",
            "enclosure_width": 1e-9,
        },
    )


def _enclosed(utilization: str, attempts: int, base: str, stated: str) -> dict[str, Any]:
    found = laws.fixed_point_enclosure(utilization, attempts, base)
    return {
        "utilization": float(utilization),
        "max_attempts": attempts,
        "base_failure": float(base),
        "stated": stated,
        "low": float(found.low),
        "high": float(found.high),
        "closed_form": laws.fixed_point_load(float(utilization), attempts, float(base)),
    }


def _settles(row: tuple[str, int, str, str]) -> Claim:
    utilization, attempts, base, stated = row
    found = laws.fixed_point_enclosure(utilization, attempts, base)
    judged = as_printed(found.middle, stated)
    return Claim(
        f"Load settles, λ = {utilization}, retries {attempts - 1}, base {base}",
        SOURCE,
        stated,
        f"{found.middle:.5f}" + (" (exact)" if found.width == 0 else " (enclosure 1e-9 wide)"),
        judged.agrees,
        judged.why,
    )


def _failure_rate() -> Claim:
    load = laws.fixed_point_enclosure("0.95", 4, "0.1").middle
    rate = 100 * laws.overload_failure_probability(load, 0.1)
    judged = as_printed(rate, "47.9")
    return Claim(
        "Failure rate where it settles, λ = 0.95, retries 3, base 0.1",
        SOURCE,
        "47.9%",
        f"{rate:.2f}%",
        judged.agrees,
        judged.why,
    )


def _over_capacity() -> Claim:
    load = laws.fixed_point_enclosure("0.95", 4, "0.1").middle
    return Claim(
        '"and then eighty per cent over capacity"',
        SOURCE,
        "80% over capacity",
        f"{percent(load - 1)} over capacity",
        close(load - 1, 0.8, 0.05).agrees,
        f"{percent(load / 0.95 - 1)} is what it lies over the offered load of 0.95; capacity is 1",
    )


def _steps(turns: list[ExactStep]) -> Claim:
    ours = [f"{float(t.load):.2f}" for t in turns[: len(STEPS)]]
    judged = same(ours, list(STEPS))
    return Claim(
        "The iteration walks",
        SOURCE,
        " → ".join(STEPS),
        " → ".join(f"{float(t.load):.5f}" for t in turns[: len(STEPS)]),
        judged.agrees,
        "equal in every printed digit" if judged.agrees else "differs in the printed digits",
    )


def _worked_step(turns: list[ExactStep]) -> list[Claim]:
    step = turns[1]
    figures = (
        ("Step two by hand: the load", step.load, "1.05545"),
        ("Step two by hand: its overload share", step.overload_share, "0.05254"),
        ("Step two by hand: its failure rate", step.failure, "0.14728"),
        ("Step two by hand: its attempts per job", step.amplification, "1.17217"),
        ("Step two by hand: the load it leads to", step.next_load, "1.11356"),
    )
    claims = []
    for statement, value, stated in figures:
        judged = as_printed(float(value), stated)
        claims.append(Claim(statement, SOURCE, stated, f"{float(value):.6f}", judged.agrees, judged.why))
    return claims


def _digits(turns: list[ExactStep]) -> Claim:
    ours = [t.digits for t in turns[: len(DIGITS)]]
    judged = same(ours, list(DIGITS))
    return Claim(
        "Digits of the exact iterates",
        SOURCE,
        ", ".join(map(str, DIGITS)),
        ", ".join(map(str, ours)),
        judged.agrees,
        "the longer of numerator and denominator, in lowest terms",
    )


def _seventh(turns: list[ExactStep]) -> Claim:
    digits = turns[ITERATES - 1].digits
    return Claim(
        "Digits by the seventh iterate",
        SOURCE,
        "over 3,000",
        f"{digits:,}",
        digits > LAST_DIGITS,
        "each step triples them",
    )


def _exercise() -> list[Claim]:
    low, high = (laws.fixed_point_enclosure("0.9", m, "0.05") for m in (3, 4))
    moved = float(high.low / low.low - 1)
    two, three = (laws.fixed_point_enclosure(u, m, b).middle for u, m, b, _ in RECOMPUTED)
    threshold = laws.first_overload_utilization(3, 0.05)
    constant = laws.retry_amplification(3, 0.05)
    close_to = as_printed(moved * 1e4, "1")
    edge = as_printed(constant, "1.0525")
    return [
        Claim(
            "A third retry at λ = 0.9, base 0.05, moves the fixed point by",
            SOURCE,
            "one part in ten thousand",
            f"{moved * 1e4:.2f} parts in ten thousand",
            close_to.agrees,
            f"from {float(low.middle):.5f} to {float(high.middle):.5f}; {close_to.why} (there is one)",
        ),
        Claim(
            "At λ = 0.98 two and three retries both storm, three harder",
            SOURCE,
            "no figures",
            f"{two:.5f} and {three:.5f}",
            1 < two < three,
            "both above capacity",
        ),
        Claim(
            "With base 0.05 and two retries the loop engages once",
            SOURCE,
            "λ × 1.0525 > 1",
            f"λ × {constant:.4f} > 1, λ > {threshold:.5f}",
            edge.agrees,
            edge.why,
        ),
    ]


def _hysteresis(apart: float) -> Claim:
    judged = Agreement(
        apart > 1e-3,
        "the map has exactly one fixed point for every load, so the load it settles at depends on nothing"
        " but the demand of now: lower λ, and the storm ends at once. A queue remembers; this model has"
        " none, so it shows an overload but no metastable failure",
    )
    return Claim(
        'The overload "does not end when the original trigger does"',
        SOURCE,
        "it stays",
        "no trace is left: started from λ and from the ceiling λ(r + 1), the iteration ends within"
        f" {apart:.0e} of the same load",
        judged.agrees,
        judged.why,
    )


def _widest_gap() -> float:
    """The largest distance between the limits of the iteration from below and from above, over a grid."""
    widest = 0.0
    for utilization in np.linspace(0.5, 1.2, GRID):
        for attempts in (2, 3, 4):
            limits = [_limit(float(utilization), attempts, start) for start in (1.0, float(attempts))]
            widest = max(widest, abs(limits[0] - limits[1]))
    return widest


def _limit(utilization: float, attempts: int, start: float) -> float:
    load = utilization * start
    for _ in range(MOST_TURNS):
        failure = laws.overload_failure_probability(load, 0.1)
        following = utilization * laws.retry_amplification(attempts, failure)
        if abs(following - load) < 1e-13:
            break
        load = following
    return load


def _curve() -> Figure:
    def draw(path: Path) -> None:
        chart = new_chart(
            "Where the load settles, by offered load and retries",
            "offered load λ, in capacities",
            ["load the service sees, in capacities"],
            legend_rows=2,
        )
        axes = chart.axes
        loads = np.linspace(0.5, 1.1, 601)
        for attempts, colour in zip((1, 2, 3, 4), (GREEN, BLUE, ORANGE, VERMILLION), strict=True):
            settled = laws.fixed_point_load(loads, attempts, 0.1)
            retries = attempts - 1
            axes.plot(loads, settled, color=colour, label=f"{retries} retr{'y' if retries == 1 else 'ies'}")
        axes.axhline(1.0, color=INK, lw=1.1, ls=(0, (1, 1.2)), label="capacity")
        stated = [(float(u), float(s)) for u, _, _, s in STATED]
        axes.plot(*zip(*stated, strict=True), "x", color="black", ms=7, label="the source's figures")
        axes.set_xlim(0.5, 1.1)
        axes.set_ylim(0.4, 2.6)
        chart.save(path)

    return Figure("fixed-point", "The fixed point at a base failure rate of 10%, by number of retries.", draw)


def crossings() -> int:
    """How often the map of the second picture crosses the diagonal, from no load to all attempts."""
    loads = np.linspace(0.01, 4.0, 100_000)
    above = 0.95 * laws.retry_amplification(4, laws.overload_failure_probability(loads, 0.1)) > loads
    return int(np.count_nonzero(above[1:] != above[:-1]))


def _loop() -> Figure:
    settled, count = laws.fixed_point_load(0.95, 4, 0.1), crossings()
    crossed = "once: there is one settled state, not two" if count == 1 else f"{count} times"

    def draw(path: Path) -> None:
        chart = new_chart(
            f"The iteration from 0.95 to {number(settled, 4)}, with three retries",
            "load fed in, in capacities",
            ["load it leads to"],
        )
        axes = chart.axes
        loads = np.linspace(0.9, 1.9, 401)
        answer = 0.95 * laws.retry_amplification(4, laws.overload_failure_probability(loads, 0.1))
        axes.plot(loads, answer, color=VERMILLION, label="λ × attempts(p(load))")
        axes.plot(loads, loads, color=INK, lw=1.0, label="load in = load out")
        turns = laws.feedback_steps(0.95, 4, 0.1, 30)
        corners = [(0.95, 0.9)]
        for turn in turns:
            corners += [(turn.load, turn.next_load), (turn.next_load, turn.next_load)]
        axes.plot(*zip(*corners, strict=True), color=BLUE, lw=1.0, label="the iteration")
        axes.plot(settled, settled, "o", color=GREEN, ms=8, label=f"fixed point {number(settled, 4)}")
        axes.set_xlim(0.9, 1.9)
        axes.set_ylim(0.9, 1.9)
        chart.save(path)

    return Figure(
        "iteration",
        "Each step feeds the load back in. Where the curve crosses the diagonal the load has settled; it does"
        f" so {crossed}.",
        draw,
    )
