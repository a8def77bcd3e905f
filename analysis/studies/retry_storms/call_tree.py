"""Sim A: how load multiplies along a chain of five services that each make three attempts."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.plots.canvas import BLUE, GREEN, VERMILLION
from analysis.studies.agreement import close, same
from analysis.studies.chain import READINGS, Chain, Draws, Reading
from analysis.studies.chart import log_y, new_chart
from analysis.studies.claims import Claim, Figure
from analysis.wording import number, percent

SOURCE = "001 Sim A"
CHAIN = Chain(services=5, max_attempts=3)
REQUESTS = 40_000
SEED = 1
COLOURS = {"each hop alone": VERMILLION, "only the last": BLUE, "every service": GREEN}
PRINTED = ((0.1, 1.52, 0.995), (0.7, 22.99, 0.1228))
"""p, load and success as the source prints them."""


@dataclass(frozen=True, slots=True)
class CallTree:
    """Draws for each printed p and reading."""

    draws: dict[tuple[float, Reading], Draws]
    requests: int


def work_out(effort: float, told: Callable[[float], None]) -> CallTree:
    """Monte Carlo of every reading at every printed p."""
    requests = max(200, round(REQUESTS * effort))
    cases = [(p, reading) for p, _, _ in PRINTED for reading in READINGS]
    draws = {}
    for done, (p, reading) in enumerate(cases):
        told(done / len(cases))
        draws[p, reading] = CHAIN.draw(p, reading, requests, random.Random(f"{SEED} {p} {reading}"))
    return CallTree(draws, requests)


def claims(tree: CallTree) -> list[Claim]:
    """The formula, its Monte Carlo, and the words beside the formula."""
    rows = []
    for p, load, success in PRINTED:
        exact_load, exact_success = CHAIN.exact(p, "each hop alone")
        drawn = tree.draws[p, "each hop alone"]
        judged = close(exact_load, load, 0.003)
        rows.append(
            Claim(
                f"Load at the last of 5 services, p = {p:g}",
                SOURCE,
                f"{load:g}×",
                f"{number(exact_load, 5)}× exact; {drawn.load.words('×', of='request')}",
                judged.agrees,
                judged.because(
                    "Each hop makes 1 + p + p² attempts on its own account; four hops multiply"
                ).why,
            )
        )
        judged = close(exact_success, success, 0.005)
        rows.append(
            Claim(
                f"Users served, p = {p:g}",
                SOURCE,
                f"{100 * success:.4g}%",
                f"{100 * exact_success:.2f}% exact; {100 * drawn.served:.2f} ±"
                f" {100 * drawn.served_half_width:.2f}% ({tree.requests:,} requests)",
                judged.agrees,
                judged.because(
                    "(1 − p³)⁵: five retried calls, though the load counts only four. The source's own figure"
                    " comes from a simulation"
                ).why,
            )
        )
    rows += [_ceiling(), _retries_or_attempts(), *_only_the_last(tree)]
    return rows


def _ceiling() -> Claim:
    ceiling = CHAIN.exact(1.0, "each hop alone")[0]
    judged = same(ceiling, 81.0)
    return Claim("Ceiling of the load as p → 1", SOURCE, "81×", f"{ceiling:g}×", judged.agrees, "3⁴")


def _retries_or_attempts() -> Claim:
    ceiling = Chain(services=5, max_attempts=4).exact(1.0, "each hop alone")[0]
    judged = same(ceiling, 81.0)
    return Claim(
        '"Each tier is allowed up to 3 retries" has the ceiling 3⁴ = 81×',
        SOURCE,
        "81×",
        f"{ceiling:g}×",
        judged.agrees,
        "three retries are four attempts, so the ceiling is 4⁴. The figures belong to three attempts,"
        " which is two retries: the listing's k counts attempts",
    )


def _only_the_last(tree: CallTree) -> list[Claim]:
    rows = []
    for p, load, success in PRINTED:
        exact_load, exact_success = CHAIN.exact(p, "only the last")
        drawn = tree.draws[p, "only the last"]
        rows.append(
            Claim(
                f'"The bottom service fails" {percent(p)} of the time, and nothing else does',
                SOURCE,
                f"load {load:g}×, {100 * success:.4g}% served",
                f"load {number(exact_load, 4)}× exact, {number(drawn.load.mean, 4)} ±"
                f" {number(drawn.load.half_width, 2)}× drawn; {100 * exact_success:.2f}% served",
                close(exact_load, load, 0.01).agrees,
                "the source's formula makes every one of the four hops fail with p on its own account. If"
                " only the last service fails, the hop above it hides most failures (p³ remain), and load"
                " is at most 1/(1 − p)",
            )
        )
    return rows


def data(tree: CallTree) -> dict[str, Any]:
    """Every number, exact and drawn."""
    rows = []
    for (p, reading), drawn in tree.draws.items():
        exact_load, exact_success = CHAIN.exact(p, reading)
        rows.append(
            {
                "p": p,
                "reading": reading,
                "load_exact": exact_load,
                "served_exact": exact_success,
                "load_drawn": drawn.load.mean,
                "load_half_width_95": drawn.load.half_width,
                "served_drawn": drawn.served,
                "served_half_width_95": drawn.served_half_width,
            }
        )
    return {"requests": tree.requests, "rows": rows}


def figure(tree: CallTree) -> Figure:
    """Load and success against p, for the three readings."""

    def draw(path: Path) -> None:
        chart = new_chart(
            "Attempts and users served in a chain of five services, by what fails",
            "failure probability p",
            ["attempts at the last service, per request", "users served"],
            side_by_side=True,
        )
        p = np.linspace(0.0, 0.95, 96)
        load, served = chart.panels
        for reading in READINGS:
            curve = np.array([CHAIN.exact(x, reading) for x in p])
            load.plot(p, curve[:, 0], color=COLOURS[reading], label=reading)
            served.plot(p, curve[:, 1], color=COLOURS[reading])
        for (x, reading), drawn in tree.draws.items():
            load.plot(x, drawn.load.mean, "o", color=COLOURS[reading], ms=5)
            served.plot(x, drawn.served, "o", color=COLOURS[reading], ms=5)
        for x, said_load, said_served in PRINTED:
            for axes, said in ((load, said_load), (served, said_served)):
                axes.plot(x, said, "x", color="black", ms=8, label="the source's figures")
        log_y(load, [1, 2, 5, 10, 20, 50])
        chart.save(path)

    return Figure(
        "call-tree",
        "Five services, three attempts per hop. Lines: exact; dots: Monte Carlo; crosses: the source,"
        " whose formula is that of each hop alone: every hop fails with p on its own account. Only the last:"
        " it fails, and callers without an answer fail in turn. Every service: each loses its answer with p.",
        draw,
    )
