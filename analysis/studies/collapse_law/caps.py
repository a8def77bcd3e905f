"""F5, left: goodput under a queue cap, for each thing that a rejected attempt can do next."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, get_args

from analysis import laws
from analysis.simulation import simulate, simulate_seeds
from analysis.studies.agreement import Agreement, all_hold, as_printed, interval_within
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.bisection import for_each, threshold
from analysis.studies.collapse_law.judgement import claim, mean_over, single_run
from analysis.studies.collapse_law.protocol import (
    ATTEMPTS,
    CRATER_BELOW,
    FAILS_BELOW,
    HIGHEST_LOAD,
    final_goodput,
    steady,
    windows_s,
)
from analysis.studies.collapse_law.rows import Row, pick, plain_values, sample
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.counting import counted
from analysis.studies.sample import Sample
from analysis.wording import number
from domain.queue_cap import OnRejection, QueueCap

THETA = 5.0
PLACES = (2, 5, 10)
CHOICES: tuple[OnRejection, ...] = get_args(OnRejection)
LOADS = [round(0.1 * i, 1) for i in range(1, 15)]
GRADES = (FAILS_BELOW, CRATER_BELOW)
SEEDS, THRESHOLD_SEEDS = 100, 50
ROW = {0.5: 0.99, 0.8: 0.96, 1.0: 0.77, 1.3: 0.67}
"""The source's goodput at L = 2, by load."""
UNCAPPED = "no cap"
THRESHOLDS: tuple[tuple[int | None, float, float], ...] = (
    (2, CRATER_BELOW, HIGHEST_LOAD),
    (5, FAILS_BELOW, 0.66),
    (10, FAILS_BELOW, 0.53),
    (10, CRATER_BELOW, 0.447),
    (None, FAILS_BELOW, 0.42),
    (None, CRATER_BELOW, 0.42),
)
"""(L, share of demand, load from which goodput is below it); the highest load stands for "never"."""
FEWEST_SEEDS = 3
"""How many the source used here is not said; this is the fewest that it uses anywhere else in §6.5."""
CHOSEN = "what a rejected attempt does, by which choice comes nearest to the source's row at L = 2"
TRIED = "what a rejected attempt does, of which this is one of the choices tried"
WORDS: dict[str, str] = {
    "retry": "retries at once, under its backoff",
    "after-timeout": "retries after its timeout",
    "give-up": "gives up",
}


@dataclass(frozen=True, slots=True)
class System:
    """A queue cap, if any, and the backoff of its clients."""

    cap: QueueCap | None
    policy: str = "jitter"

    @property
    def key(self) -> dict[str, Any]:
        """What its rows are found by."""
        places, choice = (self.cap.places, self.cap.on_rejection) if self.cap else (None, UNCAPPED)
        return {"places": places, "choice": choice, "policy": self.policy}


SYSTEMS = (*(System(QueueCap(places, choice)) for places in PLACES for choice in CHOICES), System(None))
INSTANT = System(QueueCap(2, "after-timeout"), "none")
"""Not what the source says it used, but nearest to its row at L = 2."""


def measure(effort: float) -> dict[str, Any]:
    """Goodput over demand by load, and the loads at which it falls below 80% and 30%."""
    return {
        "theta": THETA,
        "goodput": [
            _goodput(system, load, SEEDS * effort) for system in (*SYSTEMS, INSTANT) for load in LOADS
        ],
        "thresholds": [
            _threshold(system, grade, THRESHOLD_SEEDS * effort) for system in SYSTEMS for grade in GRADES
        ],
        "kernel": {str(places): laws.capped_timeout_probability(places, THETA) for places in PLACES},
    }


def _goodput(system: System, load: float, count: float) -> dict[str, Any]:
    seeds = seeds_of(f"cap goodput {system.key} {load}", count)
    run = steady(load, theta=THETA, seed=0, policy=system.policy)
    counts = simulate_seeds(run, seeds, edges_s=windows_s(run), queue_cap=system.cap)
    return {**system.key, "load": load, "values": plain_values(final_goodput(counts))}


def _threshold(system: System, grade: float, count: float) -> dict[str, Any]:
    def falls_at(seed: int) -> float:
        def fails(load: float) -> bool:
            run = steady(load, theta=THETA, seed=seed, policy=system.policy)
            counts = simulate(run, edges_s=windows_s(run), queue_cap=system.cap)
            return bool(final_goodput(counts)[0] < grade)

        return threshold(fails, 0.0, HIGHEST_LOAD)

    seeds = seeds_of(f"cap threshold {system.key} {grade}", count)
    return {**system.key, "grade": grade, "values": plain_values(for_each(seeds, falls_at))}


def _at(data: Row, load: float, choice: str, policy: str = "jitter") -> Sample:
    return sample(pick(data["goodput"], places=2, choice=choice, policy=policy, load=load))


def fit(data: Row, choice: str, policy: str = "jitter") -> float:
    """Root mean square of our means at L = 2 minus the source's row."""
    gaps = [_at(data, load, choice, policy).mean - claimed for load, claimed in ROW.items()]
    return math.sqrt(sum(gap * gap for gap in gaps) / len(gaps))


def best_choice(data: Row) -> OnRejection:
    """What a rejected attempt must do, with jitter, for our row to come nearest to the source's."""
    return min(CHOICES, key=lambda choice: fit(data, choice))


def goes_through(data: Row, choice: str, policy: str = "jitter") -> bool:
    """Whether the 95% intervals of our means at L = 2 hold every point of the source's row."""
    means = {load: _at(data, load, choice, policy) for load in ROW}
    return all(abs(ours.mean - ROW[load]) <= ours.half_width for load, ours in means.items())


def claims(data: Row) -> list[Claim]:
    """What §6.5 says of queue caps."""
    best = best_choice(data)
    return [
        *_kernel(data),
        *_readings(
            [
                *(_row(data, choice, "jitter", best) for choice in CHOICES),
                _row(data, "after-timeout", INSTANT.policy, best),
            ]
        ),
        _tracking(data, best),
        *_craters(data, best),
    ]


def _kernel(data: Row) -> list[Claim]:
    return [
        *(
            claim(
                f"Late share of what a cap of L = {places} admits at θ = 5 is at most P(Erlang(L+1) > T)",
                "§6.5",
                f"{text}, loop gain {gain}",
                f"{(late := data['kernel'][str(places)]):.4f}, loop gain {ATTEMPTS * late:.2f}",
                as_printed(late, text),
            )
            for places, text, gain in ((2, "0.125", 0.75), (5, "0.616", 3.7))
        ),
        claim(
            "The largest cap under which the loop cannot sustain itself, θ = 5, m = 6",
            "§6.5",
            "L ≲ θ − 1 = 4",
            f"L = {(largest := laws.largest_breaking_cap(THETA, ATTEMPTS)):g}; the loop gain of L = 4 is "
            f"{laws.loop_gain(4, THETA, ATTEMPTS):.2f}",
            Agreement(largest == THETA - 1, "by the source's own rule, loop gain below 1"),
        ),
    ]


def _readings(rows: list[Claim]) -> list[Claim]:
    """One figure of the source in several readings: those that fail refute it only if none agrees."""
    if not any(row.agrees for row in rows):
        return rows
    return [
        replace(row, agrees=None, why=f"not the source's reading, as another one agrees: {row.why}")
        if row.agrees is False
        else row
        for row in rows
    ]


def _tracking(data: Row, best: str) -> Claim:
    found = {load: sample(pick(data["goodput"], places=2, choice=best, load=load)) for load in LOADS}
    shortfalls = {load: min(1.0, 1 / load) - ours.mean for load, ours in found.items()}
    worst = max(shortfalls, key=lambda load: shortfalls[load])
    agrees = all_hold(
        interval_within(gap - found[load].half_width, gap + found[load].half_width, -1.0, 0.05)
        for load, gap in shortfalls.items()
    )
    return claim(
        f"L = 2 (a rejected attempt {WORDS[best]}): goodput tracks min(λ, μ)/λ across the sweep",
        "§6.5",
        ", ".join(f"{x:.2f}" for x in ROW.values()) + " against 1, 1, 1, 0.77",
        f"up to {number(shortfalls[worst], 2)} ± {number(found[worst].half_width, 2)} below it, at {worst}μ",
        Agreement(
            agrees,
            "judged as: nowhere more than 0.05 below, with the whole 95% interval; the source's own figures "
            "are up to 0.23 below",
            chance=True,
        ).fitted_to(CHOSEN),
    )


def _row(data: Row, choice: str, policy: str, best: str) -> Claim:
    samples = {load: _at(data, load, choice, policy) for load in ROW}
    judged = {load: mean_over(samples[load], claimed, FEWEST_SEEDS) for load, claimed in ROW.items()}
    off = [f"{load}μ" for load, judgement in judged.items() if judgement.agrees is False]
    unsure = [f"{load}μ" for load, judgement in judged.items() if judgement.agrees is None]
    words = "each within chance" if not off else f"beyond chance at {', '.join(off)}"
    if unsure and not off:
        words = f"too few seeds to tell at {', '.join(unsure)}"
    nearest = ", the nearest of the three with jitter" if (choice, policy) == (best, "jitter") else ""
    return claim(
        f"L = 2, {policy}: goodput over demand at 0.5, 0.8, 1.0, 1.3μ, if a rejected attempt {WORDS[choice]}",
        "§6.5",
        ", ".join(f"{x:.2f}" for x in ROW.values()) + " (jitter; what a rejected attempt does is not said)",
        ", ".join(f"{s.mean:.2f}" for s in samples.values())
        + f" ({counted(len(samples[0.5].values), 'seed')})",
        Agreement(
            all_hold(judgement.agrees for judgement in judged.values()),
            f"{words}, judged as means over {FEWEST_SEEDS} seeds; root mean square difference "
            f"{number(fit(data, choice, policy), 2)}{nearest}",
            chance=True,
        ).fitted_to(TRIED),
    )


def _craters(data: Row, best: str) -> list[Claim]:
    """The thresholds and points, with the choice that fits the source's row best."""
    lines = []
    for places, grade, claimed in THRESHOLDS:
        choice = UNCAPPED if places is None else best
        ours = sample(pick(data["thresholds"], places=places, choice=choice, grade=grade))
        name = "No cap" if places is None else f"L = {places} (a rejected attempt {WORDS[choice]})"
        lines.append(
            claim(
                f"{name}: goodput falls below {grade:.0%} of demand from",
                "§6.5",
                f"{claimed}μ" if claimed < HIGHEST_LOAD else "at least 1.4μ",
                f"{ours.words('μ')}; spread between seeds {number(ours.sd, 2)}",
                (
                    single_run(ours, HIGHEST_LOAD - 0.01, HIGHEST_LOAD)
                    if claimed == HIGHEST_LOAD
                    else mean_over(ours, claimed, FEWEST_SEEDS)
                ).fitted_to("" if places is None else CHOSEN),
            )
        )
    for places, load, point in ((None, 0.6, 0.0), (10, 0.5, 0.03)):
        choice = UNCAPPED if places is None else best
        ours = sample(pick(data["goodput"], places=places, choice=choice, policy="jitter", load=load))
        lines.append(
            claim(
                f"{'No cap' if places is None else f'L = {places}'}: goodput over demand at {load}μ",
                "§6.5",
                f"{point:.2f}",
                f"{ours.words()}; spread between seeds {number(ours.sd, 2)}",
                mean_over(ours, point, FEWEST_SEEDS).fitted_to("" if places is None else CHOSEN),
            )
        )
    return lines
