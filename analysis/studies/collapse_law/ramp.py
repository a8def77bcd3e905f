"""F3: one run up a ramp of loads and down again, its queue and its retries carried along."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.simulation import simulate_seeds
from analysis.studies.agreement import Agreement, all_hold, interval_within
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.judgement import claim, single_run
from analysis.studies.collapse_law.protocol import ATTEMPTS, CRATER_BELOW, POLICIES, staged
from analysis.studies.collapse_law.rows import Row, sample
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.collapse_law.shares import Share
from analysis.studies.sample import Sample
from analysis.wording import number

THETA = 5.0
DWELL_S = 150.0
"""The source does not say how long it stays at a load."""
UP = [round(0.05 + 0.025 * i, 3) for i in range(31)]
DOWN = UP[-2::-1]
SEEDS = 100


def measure(effort: float) -> dict[str, Any]:
    """Goodput over demand at every step, for each policy: means over seeds, and where it craters."""
    return {
        "theta": THETA,
        "dwell_s": DWELL_S,
        "up": UP,
        "down": DOWN,
        "policies": [_row(policy, SEEDS * effort) for policy in POLICIES],
    }


def _row(policy: str, count: float) -> dict[str, Any]:
    seeds = seeds_of(f"ramp {policy}", count)
    run = staged(THETA, ATTEMPTS, policy, [(DWELL_S, load) for load in UP + DOWN], 0)
    goodput = simulate_seeds(run, seeds).goodput_ratio
    up, down = goodput[:, : len(UP)], goodput[:, len(UP) :]
    cratered = up < CRATER_BELOW
    first = np.where(cratered.any(axis=1), cratered.argmax(axis=1), len(UP) - 1)
    return {
        "policy": policy,
        "up": _means(up),
        "down": _means(down),
        "crater_loads": [UP[i] for i in first],
        "never_cratered": int((~cratered.any(axis=1)).sum()),
        "stays_cratered": Share(int((down < CRATER_BELOW).all(axis=1).sum()), len(seeds)).plain(),
    }


def _means(goodput: NDArray[np.float64]) -> list[dict[str, object]]:
    samples = [Sample.of(x for x in step if not math.isnan(x)) for step in goodput.T]
    return [{"mean": s.mean, "half_width_95": s.half_width} for s in samples]


def claims(data: Row) -> list[Claim]:
    """What §6.3 says of the ramp."""
    lines = []
    for row in data["policies"]:
        loads = sample(row, "crater_loads")
        lines.append(
            claim(
                f"On the way up the ramp goodput craters between 0.45μ and 0.68μ, {row['policy']}",
                "§6.3",
                "0.45μ to 0.68μ over the four policies",
                f"{loads.words('μ')}, {number(min(loads.values))} to {number(max(loads.values))}μ; "
                f"{sum(0.45 <= x <= 0.68 for x in loads.values)} between 0.45μ and 0.68μ, "
                f"{row['never_cratered']} never",
                single_run(loads, 0.45, 0.68).fitted_to(f"the {DWELL_S:g}/μ that the ramp stays at a load"),
            )
        )
    stays = [Share(r["stays_cratered"]["count"], r["stays_cratered"]["of"]) for r in data["policies"]]
    all_of = Share(sum(s.count for s in stays), sum(s.of for s in stays))
    lines.append(
        claim(
            "It stays cratered all the way down to 0.05μ, for all four policies",
            "§6.3",
            "all four",
            all_of.words(),
            Agreement(
                all_hold(interval_within(*s.interval, 0.5, 1.0) for s in stays),
                "judged as: of every policy more than half the seeds, with 95% confidence, are below 30% at "
                "every step down",
                chance=True,
            ),
        )
    )
    return lines
