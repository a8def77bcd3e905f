"""Sim B: demand ramped up and down again over a service that slows down as its queue grows.

The source gives neither its differential equation nor capacity, attempts or queue. Ours, stated here:
a capacity of 1,000/s, three attempts retried at once, a queue of 1,000 places (the "hardcoded 1,000-item
queue" of its §VII) whose rejections are retried, and the capacity falling to half as the queue grows
(its §IV). That variant, ``STATED``, judges every row. Figures in requests per second go with our capacity, so
they are shown and not judged; what does not depend on it is. Demand moves by 25/s every 20 s, four hundred
timeouts. The request-level simulation has the same service without the slowing down and is for comparison.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from analysis.fluid import backlog_cleared_s, fluid_trace
from analysis.plots.canvas import BLUE, GREEN, INK, VERMILLION
from analysis.result import Floats
from analysis.simulation import simulate_seeds
from analysis.studies.agreement import close
from analysis.studies.chart import new_chart
from analysis.studies.claims import Claim, Figure
from analysis.studies.sample import Sample
from analysis.wording import number, percent
from domain.degradation import NO_DEGRADATION, Degradation
from domain.experiment import Client, Demand, Experiment, Phase, Service
from domain.queue_cap import QueueCap

SOURCE = "001 Sim B"
CAPACITY_PER_S = 1000.0
TIMEOUT_S = 0.05
LOWEST, HIGHEST, STEP = 100, 1350, 25
DWELL_S, FASTER_S = 20.0, 5.0
PLACES = 1000
HALVING = Degradation(half_queue=50.0, floor=0.5)
SEEDS = 8
FAILING, WELL = 0.5, 0.95
"""Shares of demand answered below which a step counts as collapsed, and from which on as recovered."""
SAID_COLLAPSE, SAID_RECOVERY = 950.0, 320.0
SAID_CUT, CUT_TOLERANCE = 0.7, 0.1
NEARLY_ZERO = 0.01
"""Share of demand."""


@dataclass(frozen=True, slots=True)
class Variant:
    """What the source leaves open."""

    max_attempts: int
    degradation: Degradation
    places: int | None

    @property
    def words(self) -> str:
        """The variant in a few words."""
        capacity = "capacity to half" if self.degradation.floor < 1 else "steady capacity"
        queue = "no limit on the queue" if self.places is None else f"{self.places:,} places"
        return f"m = {self.max_attempts}, {capacity}, {queue}"

    @property
    def law_per_s(self) -> float:
        """Demand below which a full queue drains at all: floor · C/m."""
        return self.degradation.floor * CAPACITY_PER_S / self.max_attempts


STATED = Variant(3, HALVING, PLACES)
STEADY = Variant(3, NO_DEGRADATION, PLACES)
VARIANTS = (
    STATED,
    STEADY,
    Variant(2, HALVING, PLACES),
    Variant(2, NO_DEGRADATION, PLACES),
    Variant(3, HALVING, None),
)


@dataclass(frozen=True, slots=True)
class Loop:
    """Goodput per second at each level of demand, up and then down."""

    demand: Floats
    goodput: Floats

    @property
    def top(self) -> int:
        """Where the way down begins."""
        return int(np.argmax(self.demand))

    @property
    def collapse_per_s(self) -> float:
        """Demand of the first step on the way up that fails; NaN if none does."""
        return self._first(slice(0, self.top + 1), self.goodput < FAILING * self.demand)

    @property
    def recovery_per_s(self) -> float:
        """Demand of the first step on the way down that is well again; NaN if none is."""
        return self._first(slice(self.top + 1, None), self.goodput >= WELL * self.demand)

    @property
    def cut(self) -> float:
        """By which share demand has to come down from collapse to recovery, whatever the capacity."""
        return 1.0 - self.recovery_per_s / self.collapse_per_s

    @property
    def peak_per_s(self) -> float:
        """The best goodput before the collapse."""
        before = self.goodput[: self.top + 1][self.demand[: self.top + 1] < self.collapse_per_s]
        return float(before.max()) if before.size else float("nan")

    def _first(self, part: slice, holds: Any) -> float:
        found = self.demand[part][holds[part]]
        return float(found[0]) if found.size else float("nan")


@dataclass(frozen=True, slots=True)
class Ramp:
    """The loops of the fluid model by variant, and those of the simulation by seed."""

    fluid: dict[Variant, Loop]
    simulated: list[Loop]
    faster: list[Loop]
    """Simulated too, with a quarter of the time at each level."""
    gain_recovers_s: float | None


def levels() -> list[int]:
    """Demand per step: up and down again."""
    up = list(range(LOWEST, HIGHEST + 1, STEP))
    return up + up[-2::-1]


def experiment(max_attempts: int, dwell_s: float = DWELL_S) -> Experiment:
    """The ramp as an experiment: one short phase for each level of demand."""
    phases = tuple(Phase(f"{level}/s", dwell_s, level / LOWEST) for level in levels())
    return Experiment(
        name="ramp",
        title="Seed 001, Sim B",
        client=Client(TIMEOUT_S, max_attempts),
        demand=Demand(float(LOWEST), phases),
        service=Service(1, CAPACITY_PER_S),
    )


def work_out(effort: float, told: Callable[[float], None]) -> Ramp:
    """Every variant in the fluid model, the steady one request by request."""
    fluid = {}
    for done, variant in enumerate(VARIANTS):
        told(0.4 * done / len(VARIANTS))
        fluid[variant] = _fluid(variant)
    seeds = list(range(1, max(2, round(SEEDS * effort)) + 1))
    simulated = _simulated(seeds, DWELL_S, lambda share: told(0.4 + 0.4 * share))
    faster = _simulated(seeds, FASTER_S, lambda share: told(0.8 + 0.2 * share))
    return Ramp(fluid, simulated, faster, _gain_two_recovers_s())


def _simulated(seeds: list[int], dwell_s: float, told: Callable[[float], None]) -> list[Loop]:
    counts = simulate_seeds(
        experiment(STEADY.max_attempts, dwell_s),
        seeds,
        queue_cap=QueueCap(PLACES, "retry"),
        on_done=lambda done: told(done / len(seeds)),
    )
    demand = np.array(levels(), dtype=np.float64)
    return [Loop(demand, answered / counts.length_s) for answered in counts.answered]


def _fluid(variant: Variant) -> Loop:
    cap = None if variant.places is None else QueueCap(variant.places, "retry")
    trace = fluid_trace(experiment(variant.max_attempts), queue_cap=cap, degradation=variant.degradation)
    demand = np.array(levels(), dtype=np.float64)
    step = np.minimum((trace.t_s / DWELL_S + 1e-9).astype(int), demand.size - 1)
    goodput = np.bincount(step, trace.goodput_per_s) / np.bincount(step)
    return Loop(demand, goodput)


def _gain_two_recovers_s() -> float | None:
    """How long after a spike a service at 25% recovers though each failed first attempt makes two retries."""
    phases = (Phase("calm", 10.0), Phase("spike", 30.0, 5.0), Phase("watch", 600.0))
    trace = fluid_trace(
        Experiment("gain", "Gain", Client(1.0, 3), Demand(250.0, phases), Service(1, CAPACITY_PER_S))
    )
    cleared = backlog_cleared_s(trace, 40.0)
    return None if cleared is None else cleared - 40.0


def claims(ramp: Ramp) -> list[Claim]:
    """The two thresholds, the fall of goodput, and the criterion for a storm."""
    stated = ramp.fluid[STATED]
    faster = Sample.of(loop.collapse_per_s for loop in ramp.faster)
    collapse, recovery, peak = (
        Sample.of(getattr(loop, name) for loop in ramp.simulated)
        for name in ("collapse_per_s", "recovery_per_s", "peak_per_s")
    )
    ours_decides = (
        f"the source does not give its capacity; ours, {number(CAPACITY_PER_S)}/s, was chosen and decides"
        " this figure"
    )
    left = float(stated.goodput[stated.top] / stated.demand[stated.top])
    return [
        Claim(
            "Going up, goodput collapses at a demand of",
            SOURCE,
            "around 950/s",
            f"{number(stated.collapse_per_s)}/s fluid; steady capacity, request by request:"
            f" {collapse.words('/s')}, {number(faster.mean, 4)}/s with a ramp four times as fast",
            None,
            f"{ours_decides}. In a fluid nothing is late below capacity; chance brings the collapse forward,"
            " the more the longer it has",
        ),
        Claim(
            "Before it collapses, goodput reaches",
            SOURCE,
            "900/s",
            f"{number(stated.peak_per_s)}/s fluid; steady capacity, request by request: {peak.words('/s')}",
            None,
            ours_decides,
        ),
        Claim(
            "Once it collapses, goodput drops to",
            SOURCE,
            "nearly zero",
            f"{percent(left)} of demand at the top of the ramp, fluid",
            left <= NEARLY_ZERO,
            f"judged as: at most {percent(NEARLY_ZERO)}",
        ),
        Claim(
            "Coming down, it recovers at a demand of",
            SOURCE,
            "around 320/s",
            f"{number(stated.recovery_per_s)}/s fluid; steady capacity, request by request:"
            f" {recovery.words('/s')}",
            None,
            f"{ours_decides}. A full queue drains only below the capacity left over m, here"
            f" {number(STATED.law_per_s)}/s",
        ),
        _cut(ramp),
        Claim(
            "A feedback gain of 1 or more, retries per failed request, pushes the system straight into"
            " metastable failure",
            "001 §III",
            "stuck",
            "not stuck"
            if ramp.gain_recovers_s is None
            else f"back {number(ramp.gain_recovers_s)} s after a fivefold spike of 30 s",
            ramp.gain_recovers_s is None,
            "each failed first attempt makes two retries here, at 25% utilization. The gain per request is"
            " not what decides: Aρ is, here 0.75, and below 1 the backlog drains whatever the gain",
        ),
    ]


def _cut(ramp: Ramp) -> Claim:
    """The only figure of the loop that does not depend on the capacity; judged on ``STATED`` alone."""
    stated = ramp.fluid[STATED]
    judged = close(stated.cut, SAID_CUT, CUT_TOLERANCE)
    others = {v: loop.cut for v, loop in ramp.fluid.items() if v != STATED and np.isfinite(loop.cut)}
    near = [v.words for v, cut in others.items() if close(cut, SAID_CUT, CUT_TOLERANCE).agrees]
    never = [v.words for v, loop in ramp.fluid.items() if np.isnan(loop.recovery_per_s)]
    shown = "; ".join(f"{percent(round(cut, 3))} with {v.words}" for v, cut in others.items())
    fits = f"Of the others only {' and '.join(near)} would be within it" if near else "No other would be"
    return Claim(
        "Demand has to be cut, from collapse to recovery, by",
        SOURCE,
        "nearly 70%",
        f"{percent(round(stated.cut, 3))} fluid, {STATED.words}",
        judged.agrees,
        judged.because(
            f"This does not depend on the capacity. It rests on the halved capacity and the {PLACES:,} places"
            " of the source's §IV and §VII and on the three attempts of its Sim A: its Sim B gives none of"
            " them."
            f" {fits}: {shown}" + (f"; no recovery on this ramp with {', '.join(never)}" if never else "")
        ).why,
    )


def data(ramp: Ramp) -> dict[str, Any]:
    """Loops and thresholds, by variant and by seed."""
    return {
        "demand_per_s": levels(),
        "fluid": [
            {"variant": v.words, "law_per_s": v.law_per_s, **_plain(loop)} for v, loop in ramp.fluid.items()
        ],
        "simulated": [_plain(loop) for loop in ramp.simulated],
        "simulated_faster": [_plain(loop) for loop in ramp.faster],
        "gain_two_recovers_s": ramp.gain_recovers_s,
    }


def _plain(loop: Loop) -> dict[str, Any]:
    return {
        "collapse_per_s": loop.collapse_per_s,
        "recovery_per_s": loop.recovery_per_s,
        "peak_per_s": loop.peak_per_s,
        "goodput_per_s": loop.goodput,
    }


def figure(ramp: Ramp) -> Figure:
    """Goodput against demand, up and down, with and without the capacity halved."""
    ends = " and of ".join(
        f"{number(loop.collapse_per_s)}/s and {number(loop.recovery_per_s)}/s ({words})"
        for words, loop in (("left", ramp.fluid[STATED]), ("right", ramp.fluid[STEADY]))
    )

    def draw(path: Path) -> None:
        chart = new_chart(
            "Goodput while demand is ramped up and down again",
            "demand, first attempts per second",
            ["goodput per second", ""],
            side_by_side=True,
            share_y=True,
            legend_rows=2,
            panel_titles=["capacity halves under a queue (fluid)", "steady capacity (fluid; dots: one seed)"],
        )
        for axes, variant in zip(chart.panels, (STATED, STEADY), strict=True):
            loop = ramp.fluid[variant]
            axes.plot([0, HIGHEST], [0, HIGHEST], color="#bbbbbb", lw=0.9, label="all demand answered")
            top = loop.top
            axes.plot(loop.demand[: top + 1], loop.goodput[: top + 1], color=GREEN, label="going up")
            axes.plot(loop.demand[top:], loop.goodput[top:], color=VERMILLION, label="coming down")
            axes.axvline(
                variant.law_per_s,
                color=INK,
                lw=1.1,
                ls=(0, (5, 2.5)),
                label="capacity left over m: drains below",
            )
            for said in (SAID_COLLAPSE, SAID_RECOVERY):
                axes.axvline(said, color=BLUE, lw=1.0, ls=(0, (1, 1.2)), label="the source's thresholds")
            axes.set_xlim(0, HIGHEST)
        one = ramp.simulated[0]
        right = chart.panels[1]
        right.plot(one.demand[: one.top + 1], one.goodput[: one.top + 1], "o", color=GREEN, ms=3)
        right.plot(one.demand[one.top :], one.goodput[one.top :], "o", color=VERMILLION, ms=3)
        chart.save(path)

    return Figure(
        "hysteresis",
        "Demand ramped 100 → 1,350 → 100/s by 25/s every 20 s; timeout 50 ms, three attempts, 1,000 places"
        f" in the queue, capacity 1,000/s. In the fluid goodput collapses and recovers at"
        f" {ends}.",
        draw,
    )
