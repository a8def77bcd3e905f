"""F1 right, F6 and F7 left: the steady utilization of the full retry system against the good root.

A run that has tipped by the end is counted and kept out of the mean.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from analysis import laws
from analysis.simulation import simulate_seeds
from analysis.studies.agreement import as_printed
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.judgement import claim, mean_over, median_errors, share_over, single_run
from analysis.studies.collapse_law.protocol import (
    ATTEMPTS,
    collapsed,
    final_utilization,
    steady,
    windows_s,
)
from analysis.studies.collapse_law.rows import Row, pick, plain_attempts, plain_values, sample
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.collapse_law.shares import Share
from analysis.studies.counting import counted
from analysis.studies.sample import Sample
from analysis.wording import number, percent

LOADS = [round(0.15 + 0.25 * i / 7, 4) for i in range(8)]
"""Eight from 0.15 to 0.40; the source does not say which lie between."""
CURVE_POLICIES = ("none", "jitter")
SEEDS, SHIFT_SEEDS = 400, 200
SOURCE_SEEDS = 8
SHIFT_LOAD, SHIFT_THETA = 0.28, 2.0
SHIFT_ROWS: tuple[tuple[float, str], ...] = (
    (1, "none"),
    (2, "none"),
    (2, "jitter"),
    (4, "none"),
    (4, "jitter"),
    (float("inf"), "jitter"),
)


def measure_curve(effort: float) -> list[dict[str, Any]]:
    """F1: the utilization at every load for instant retries and for jitter, m = 6, θ = 5."""
    return [_row(5.0, load, ATTEMPTS, policy, SEEDS * effort) for policy in CURVE_POLICIES for load in LOADS]


def measure_shift(effort: float) -> list[dict[str, Any]]:
    """F7: the utilization at one load for several m."""
    return [_row(SHIFT_THETA, SHIFT_LOAD, m, policy, SHIFT_SEEDS * effort) for m, policy in SHIFT_ROWS]


def _row(theta: float, load: float, max_attempts: float, policy: str, count: float) -> dict[str, Any]:
    seeds = seeds_of(f"good branch {theta} {load} {max_attempts} {policy}", count)
    run = steady(load, theta=theta, seed=0, max_attempts=max_attempts, policy=policy)
    counts = simulate_seeds(run, seeds, edges_s=windows_s(run))
    # Where there is no second state to tip into, a low goodput is only a short timeout.
    tipped = collapsed(counts) & laws.is_bistable(theta, max_attempts)
    return {
        "theta": theta,
        "load": load,
        "max_attempts": plain_attempts(max_attempts),
        "policy": policy,
        "predicted": laws.healthy_offered_utilization(load, theta, max_attempts),
        "tipped": int(tipped.sum()),
        "seeds": len(seeds),
        "values": plain_values(final_utilization(counts)[~tipped]),
    }


def curve_claims(rows: list[Row]) -> list[Claim]:
    """What §6.1 and §6.6 say of the fixed-point curve."""
    errors = {policy: _errors([r for r in rows if r["policy"] == policy]) for policy in CURVE_POLICIES}
    tipped = pick(rows, policy="none", load=LOADS[-1])
    share = Share(tipped["tipped"], tipped["seeds"])
    return [
        *(
            claim(
                f"{name}: utilization off the good root by a median of {percent(claimed)}, 8 loads, θ = 5",
                "§6.1",
                f"{percent(claimed)} ({SOURCE_SEEDS} seeds)",
                f"{percent(errors[policy].mean)} on average over "
                f"{counted(len(errors[policy].values), 'group')} of {SOURCE_SEEDS} seeds; "
                f"{percent(_error_of_means(rows, policy))} with all seeds together",
                single_run(errors[policy], claimed),
            )
            for policy, name, claimed in (("none", "Instant retries", 0.063), ("jitter", "Jitter", 0.053))
        ),
        claim(
            f"Runs that have tipped at λ = {LOADS[-1]}μ with instant retries, θ = 5, m = 6",
            "§6.1",
            "3 of 8",
            share.words(),
            share_over(share, 3 / 8, 8),
        ),
        claim(
            "Over the 16 cells of both policies the median error is 5–6%",
            "§6.6",
            f"5–6% ({SOURCE_SEEDS} seeds)",
            f"{percent((both := _errors(rows)).mean)} on average over {counted(len(both.values), 'group')}",
            single_run(both, 0.05, 0.06),
        ),
    ]


def _errors(rows: list[Row]) -> Sample:
    return median_errors([r["predicted"] for r in rows], [sample(r) for r in rows], SOURCE_SEEDS)


def _error_of_means(rows: list[Row], policy: str) -> float:
    chosen = [r for r in rows if r["policy"] == policy]
    return float(np.median([abs(sample(r).mean / r["predicted"] - 1) for r in chosen]))


def shift_claims(rows: list[Row]) -> list[Claim]:
    """What §6.7 says of the shift with m."""
    where = f"at θ = {SHIFT_THETA:g}, λ = {SHIFT_LOAD}μ"
    measured = ((1, "none", 0.276), (2, "none", 0.364), (2, "jitter", 0.361), (4, "jitter", 0.397))
    lines = [
        claim(
            f"Healthy utilization {where}: the good root for m = {number(m)}",
            "§6.7",
            text,
            f"{(root := pick(rows, max_attempts=plain_attempts(m))['predicted']):.4f}",
            as_printed(root, text),
        )
        for m, text in ((1, "0.280"), (2, "0.357"), (4, "0.396"), (float("inf"), "0.401"))
    ]
    for m, policy, claimed in measured:
        row = pick(rows, max_attempts=m, policy=policy)
        ours = sample(row)
        lines.append(
            claim(
                f"Measured utilization {where}, m = {number(m)}, {policy}",
                "§6.7",
                f"{claimed} ({SOURCE_SEEDS} seeds)",
                f"{ours.words()}, {row['tipped']:,} of {row['seeds']:,} tipped and left out; the root is "
                f"{number(row['predicted'])}",
                mean_over(ours, claimed, SOURCE_SEEDS),
            )
        )
    for limit, claimed, words in ((4.0, 3 / 8, "3 of 8"), (float("inf"), 1.0, "8 of 8")):
        row = pick(rows, max_attempts=plain_attempts(limit), policy="jitter")
        share = Share(row["tipped"], row["seeds"])
        lines.append(
            claim(
                f"Runs with jitter that tip {where}, m = {number(limit)}",
                "§6.7",
                words,
                share.words(),
                share_over(share, claimed, SOURCE_SEEDS),
            )
        )
    return lines
