"""One request at a time: how retries at every hop multiply, and how many fit into a deadline.

The deadline is tried exactly, with a last service that always fails after the same time: how many attempts
reach it before the deadline. How a queue fares under it is in ``traps``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis import laws
from analysis.plots.canvas import BLUE, GREEN, INK, ORANGE, VERMILLION
from analysis.studies.agreement import close, same
from analysis.studies.chain import Chain, Draws, Reading
from analysis.studies.chart import log_y, new_chart
from analysis.studies.claims import Claim, Figure
from analysis.wording import number, percent

SOURCE = "003"
HOPS, ATTEMPTS = 4, 4
CHAIN = Chain(services=HOPS + 1, max_attempts=ATTEMPTS)
REQUESTS = 100_000
RETRY_RATES = (0.001, 0.03)
PROBABILITIES = (0.1, 0.3, 0.5, 0.7, 0.9, 0.95)
SAID_RISE = 1.03**4
RISE_TOLERANCE = 0.01
LOWERED = 2
"""Attempts at the one hop where R is lowered to 1."""
SLACK = 10.0
PREDICATE_SLACKS = (4.0, 3.0)
"""Slacks that a worst case of 4 fits and does not fit."""
DEADLINE_S = 0.5
FAILS_AFTER_S = (0.001, 0.002, 0.005, 0.02, 0.1)
LENGTHS = (1, 2, 3, 4, 5, 6)
SEED = 1


@dataclass(slots=True)
class DeadlineWalk:
    """One request through a chain whose last service always fails, after ``fails_after_s`` each time.

    Every hop makes up to ``max_attempts``, none after the deadline; nothing else takes time.
    """

    max_attempts: int
    fails_after_s: float
    deadline_s: float
    reached: int = 0

    def call(self, hops: int) -> None:
        """Make the attempts of a hop with ``hops`` hops to go; counts those that reach the last service."""
        for _ in range(self.max_attempts):
            if self.reached * self.fails_after_s >= self.deadline_s:
                return
            if hops == 1:
                self.reached += 1
            else:
                self.call(hops - 1)


def attempts_before(hops: int, max_attempts: int, fails_after_s: float, deadline_s: float) -> int:
    """Attempts at the last service for one request of a user; an infinite deadline is none at all."""
    walk = DeadlineWalk(max_attempts, fails_after_s, deadline_s)
    walk.call(hops)
    return walk.reached


@dataclass(frozen=True)
class Alone:
    """Draws: chains with few failures by rate and reading, chains whose last service fails by rate."""

    requests: int
    few: dict[tuple[float, Reading], Draws]
    failing: dict[float, Draws]


def work_out(effort: float, progress: Callable[[float], None]) -> Alone:
    """Draw the chains; ``effort`` scales the requests."""
    requests = max(500, round(REQUESTS * effort))
    readings: tuple[Reading, ...] = ("each hop alone", "only the last")
    few = {(p, r): _draw(p, r, requests) for p in RETRY_RATES for r in readings}
    progress(0.5)
    failing = {p: _draw(p, "only the last", max(200, requests // 20)) for p in PROBABILITIES}
    progress(1.0)
    return Alone(requests, few, failing)


def claims(alone: Alone) -> list[Claim]:
    """The product, the predicate, the trace, and the deadline of one request."""
    return [
        _worst_case(),
        _lowered_hop(),
        _predicate(),
        _guaranteed(alone.failing),
        *_trace(alone.few),
        _deadline(),
    ]


def figures(alone: Alone) -> tuple[Figure, ...]:
    """The load by failure rate, and the attempts that fit into a deadline."""
    return _load_figure(alone.failing), _deadline_figure()


def data(alone: Alone) -> dict[str, Any]:
    """Every number behind them."""
    return {
        "few_failures": [{"p": p, "reading": r, **_plain(d, p, r)} for (p, r), d in alone.few.items()],
        "failing": [{"p": p, **_plain(d, p, "only the last")} for p, d in alone.failing.items()],
        "deadline": _deadline_rows(),
        "decisions": _decisions(),
    }


def _draw(p: float, reading: Reading, requests: int) -> Draws:
    return CHAIN.draw(p, reading, requests, random.Random(f"{SEED} {p} {reading}"))


def _plain(drawn: Draws, p: float, reading: Reading) -> dict[str, Any]:
    return {
        "load_exact": CHAIN.exact(p, reading)[0],
        "load_drawn": drawn.load.mean,
        "half_width_95": drawn.load.half_width,
    }


def _worst_case() -> Claim:
    law = laws.hop_amplification(ATTEMPTS, HOPS)
    walked = attempts_before(HOPS, ATTEMPTS, 0.001, math.inf)
    judged = same((law, walked), (256.0, 256))
    return Claim(
        "Worst case at the last service, H = 4, R = 3",
        SOURCE,
        "256 arrivals per request",
        f"{law:g} by (1 + R)^H; {walked} counted",
        judged.agrees,
        "the last service fails every time",
    )


def _lowered_hop() -> Claim:
    factors = [
        _lowered(hops, at) / laws.hop_amplification(ATTEMPTS, hops) for hops in LENGTHS for at in range(hops)
    ]
    others = laws.hop_amplification(ATTEMPTS, HOPS - 1)
    constant = max(factors) - min(factors) < 1e-12
    found = number(min(factors)) + ("" if constant else f" to {number(max(factors))}")
    return Claim(
        "Lowering R at the noisiest hop reduces fan-out by a constant factor",
        SOURCE,
        "a constant factor; the product stays",
        f"{laws.hop_amplification(ATTEMPTS, HOPS):g} → {_lowered(HOPS, HOPS - 1):g} with R = {LOWERED - 1} at"
        f" one hop; a factor of {found} at any hop of H = 1 to {LENGTHS[-1]}",
        constant and _lowered(HOPS, 0) == LOWERED * others,
        f"(1 + {LOWERED - 1})/(1 + {ATTEMPTS - 1}) whatever the other hops are, which still multiply to"
        f" {others:g}",
    )


def _lowered(hops: int, at: int) -> float:
    """The worst case of a chain with fewer attempts at one hop."""
    return laws.layered_amplification([LOWERED if hop == at else ATTEMPTS for hop in range(hops)])


def _predicate() -> Claim:
    safe = {slack: laws.retries_are_safe(2, 2, slack) for slack in PREDICATE_SLACKS}
    decided = {slack: laws.decide(max_attempts=2, hops=2, slack=slack).row.verdict for slack in safe}
    differ = [slack for slack in safe if safe[slack] != (decided[slack] is laws.Verdict.SAFE)]
    shown = (differ or list(safe))[0]
    return Claim(
        "Retrying is safe if and only if (1 + R)^H ≤ slack",
        f"{SOURCE} predicate",
        "safe" if safe[shown] else "not safe",
        f'"{decided[shown].value}" by the source\'s own decision boundary, R = 1, H = 2, slack {shown:g}',
        not differ,
        "the source says both: safe (its predicate), and treat as degraded without a deadline (its decision"
        " boundary). The worst case does fit, so the predicate is right as arithmetic; the slack it is"
        " compared with is what a correlated failure takes away",
    )


def _guaranteed(failing: dict[float, Draws]) -> Claim:
    half = failing[0.5]
    needed = _load_reaches(SLACK)
    return Claim(
        f"Above the slack (here 256 > {SLACK:g}) amplification is guaranteed in any correlated slowdown",
        f"{SOURCE} decision boundary",
        "guaranteed",
        f"half of the attempts failing: {number(CHAIN.exact(0.5, 'only the last')[0])}× exact,"
        f" {number(half.load.mean)} ± {number(half.load.half_width, 2)}× drawn; over {SLACK:g}× from p ="
        f" {needed:.3f}",
        None,
        "some amplification, always; more than the slack only when nearly every attempt fails. With one"
        " failing service the load is (1 − p^256)/(1 − p), so the worst case is an outage and not a slowdown",
    )


def _load_reaches(load: float) -> float:
    grid = np.linspace(0.0, 1.0, 100_001)
    return float(grid[np.argmax(laws.last_service_load(grid[:-1], ATTEMPTS, HOPS + 1) >= load)])


def _trace(drawn: dict[tuple[float, Reading], Draws]) -> list[Claim]:
    before, after = (drawn[p, "each hop alone"].load for p in RETRY_RATES)
    exact_before, exact_after = (CHAIN.exact(p, "each hop alone")[0] for p in RETRY_RATES)
    one = drawn[RETRY_RATES[1], "only the last"].load
    judged = close(exact_after / exact_before, SAID_RISE, RISE_TOLERANCE)
    single = CHAIN.exact(RETRY_RATES[1], "only the last")[0] / CHAIN.exact(RETRY_RATES[0], "only the last")[0]
    alone = close(single, SAID_RISE, RISE_TOLERANCE)
    return [
        Claim(
            "Retry rates of 3% instead of 0.1% at each of four hops raise arrivals by",
            f"{SOURCE} trace",
            f"(1.03)⁴ = {SAID_RISE:.4f}",
            f"{exact_after / exact_before:.4f} exact; {after.mean / before.mean:.4f} drawn"
            f" ({len(after.values):,} requests)",
            judged.agrees,
            judged.because("This holds if each hop fails on its own account").why,
        ),
        Claim(
            "A single slow dependency, retried at 3%, raises arrivals as much",
            f"{SOURCE} trace",
            f"×{SAID_RISE:.4f}",
            f"×{single:.4f} exact; drawn {number(one.mean, 5)} ± {number(one.half_width, 2)} arrivals per"
            f" request at {percent(RETRY_RATES[1])}",
            alone.agrees,
            alone.because(
                "When only the last service is slow, the hop above it hides the failures (p⁴ remain, about"
                " one in a million) and the hops further up have nothing to retry. All four rates rise"
                " together only if every hop times out by itself"
            ).why,
        ),
        Claim(
            "Fan-out at the last service before the slowdown",
            f"{SOURCE} trace",
            "4",
            f"{exact_before:.3f} arrivals per request",
            None,
            "one request makes four calls along four hops, and one of them arrives at the last service; the"
            " excerpt ends in the middle of the sentence",
        ),
        Claim(
            "Saturation with every upstream retrying a modest 2 to 4%",
            f"{SOURCE} signature",
            "terminal CPU at saturation",
            f"{percent(1.02**4 - 1)} to {percent(1.04**4 - 1)} more load",
            None,
            "so it saturates only a service with less than that to spare; 256× needs every attempt to fail",
        ),
    ]


def _deadline() -> Claim:
    fast = FAILS_AFTER_S[1]
    lengths = [attempts_before(hops, ATTEMPTS, fast, DEADLINE_S) for hops in LENGTHS]
    bound = math.ceil(DEADLINE_S / fast)
    return Claim(
        "A propagated deadline bounds the work of a request whose attempts follow one another, whatever R"
        " and H",
        f"{SOURCE} decision boundary",
        "bounded",
        f"at most {bound} attempts for H = 1 to {LENGTHS[-1]}: {', '.join(map(str, lengths))}",
        max(lengths) <= bound,
        f"attempts of {1000 * fast:g} ms within {1000 * DEADLINE_S:g} ms: min(m^H, D/s). A bound is not yet"
        f" a safe"
        f" load: with s = {1000 * fast:g} ms nearly the whole worst case of 256 gets through, with s ="
        f" {1000 * FAILS_AFTER_S[-1]:g} ms {attempts_before(HOPS, ATTEMPTS, FAILS_AFTER_S[-1], DEADLINE_S)}"
        f" do",
    )


def _deadline_rows() -> list[dict[str, Any]]:
    return [
        {"hops": hops, "fails_after_s": s, "reached": attempts_before(hops, ATTEMPTS, s, DEADLINE_S)}
        for s in FAILS_AFTER_S
        for hops in LENGTHS
    ]


def _decisions() -> list[dict[str, Any]]:
    rows = []
    for slack in (4.0, SLACK, 256.0):
        for deadline, shared in ((False, False), (True, False), (False, True)):
            made = laws.decide(
                max_attempts=ATTEMPTS, hops=HOPS, slack=slack, deadline=deadline, shared_budget=shared
            )
            rows.append(
                {
                    "slack": slack,
                    "deadline": deadline,
                    "shared_budget": shared,
                    "verdict": made.row.verdict.value,
                }
            )
    return rows


def _load_figure(failing: dict[float, Draws]) -> Figure:
    worst = laws.hop_amplification(ATTEMPTS, HOPS)

    def draw(path: Path) -> None:
        chart = new_chart(
            "Attempts at the last service, by its failure rate",
            "share of attempts that fail at the last service",
            ["attempts at the last service, per request"],
        )
        axes = chart.axes
        p = np.linspace(0.0, 0.9995, 2000)
        axes.plot(
            p, laws.last_service_load(p, ATTEMPTS, HOPS + 1), color=BLUE, label="only the last service fails"
        )
        axes.plot(
            p, laws.call_tree_load(p, ATTEMPTS, HOPS + 1), color=VERMILLION, label="each hop fails by itself"
        )
        axes.plot(
            list(failing), [d.load.mean for d in failing.values()], "o", color=BLUE, ms=5, label="drawn"
        )
        axes.axhline(256, color=INK, lw=1.1, ls=(0, (1, 1.2)), label="(1 + R)^H = 256")
        log_y(axes, [1, 3, 10, 30, 100, 300])
        axes.set_xlim(0, 1)
        chart.save(path)

    return Figure(
        "load",
        "Four hops of four attempts: attempts at the last service by its failure rate; dots are drawn at"
        f" random, lines exact. If only the last service fails, half of {worst:g} is passed from a"
        f" failure rate of {_load_reaches(worst / 2):.3f} on.",
        draw,
    )


def _deadline_figure() -> Figure:
    bounds = ", ".join(f"{DEADLINE_S / s:g} at {1000 * s:g} ms" for s in FAILS_AFTER_S)

    def draw(path: Path) -> None:
        chart = new_chart(
            f"Attempts under a deadline of {1000 * DEADLINE_S:g} ms, by how long a failure takes",
            "hops H, four attempts each",
            ["attempts at the last service, per request"],
            legend_rows=2,
        )
        axes = chart.axes
        colours = (VERMILLION, ORANGE, BLUE, GREEN, "#888888")
        axes.plot(
            LENGTHS, [ATTEMPTS**h for h in LENGTHS], color=INK, ls=(0, (1, 1.2)), label="no deadline: m^H"
        )
        for s, colour in zip(FAILS_AFTER_S, colours, strict=True):
            reached = [attempts_before(hops, ATTEMPTS, s, DEADLINE_S) for hops in LENGTHS]
            axes.plot(LENGTHS, reached, "o-", color=colour, ms=4, label=f"fails after {1000 * s:g} ms")
        log_y(axes, [3, 10, 30, 100, 300, 1000, 3000])
        axes.set_xticks(LENGTHS)
        chart.save(path)

    return Figure(
        "deadline",
        f"One request with a deadline of {1000 * DEADLINE_S:g} ms that every hop consumes; the last service"
        f" always fails. No line passes D/s, the deadline over the time of one failure: {bounds}.",
        draw,
    )
