"""F1, left: the share of late attempts without retries against the M/M/1 sojourn tail."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis import laws
from analysis.simulation import Counts, simulate_seeds
from analysis.studies.agreement import as_printed, one_run
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.judgement import mean_over
from analysis.studies.collapse_law.protocol import horizon_s, steady, windows_s
from analysis.studies.collapse_law.rows import Row, pick, sample
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.collapse_law.shares import Z
from analysis.studies.sample import Sample
from analysis.wording import number, percent

THETA = 5.0
LOADS = [round(0.92 * i / 12, 4) for i in range(1, 13)]
"""Twelve, evenly spaced, with the two that the source quotes among them."""
SEEDS, LONG_SEEDS = 800, 80
LONG_S = 20_000.0
SOURCE_SEEDS = 8


def measure(effort: float) -> dict[str, Any]:
    """The late share at every load, over the source's horizon and over a long one."""
    return {
        "theta": THETA,
        "protocol": [_row(load, horizon_s(THETA), SEEDS * effort) for load in LOADS],
        "long": [_row(load, LONG_S, LONG_SEEDS * effort) for load in LOADS],
    }


def _row(load: float, length_s: float, count: float) -> dict[str, Any]:
    seeds = seeds_of(f"kernel {load} {length_s}", count)
    run = steady(load, theta=THETA, seed=0, max_attempts=1, policy="none", length_s=length_s)
    counts = simulate_seeds(run, seeds, edges_s=windows_s(run))
    share, error = _pooled(counts)
    return {
        "load": load,
        "predicted": laws.late_probability(utilization=load, timeout_slack=THETA),
        "pooled": share,
        "half_width_95": Z * error,
        "seeds": len(seeds),
        # A window in which nothing was sent has no share.
        "values": [float(q) for q in counts.late_ratio[:, -1] if not math.isnan(q)],
    }


def _pooled(counts: Counts) -> tuple[float, float]:
    """Late attempts over attempts of all seeds together, with the standard error of that ratio."""
    late, sent = counts.late[:, -1].astype(float), counts.attempts[:, -1].astype(float)
    share = float(late.sum() / sent.sum())
    spread = float(np.std(late - share * sent, ddof=1))
    return share, spread / (float(sent.mean()) * math.sqrt(len(sent)))


def claims(data: Row) -> list[Claim]:
    """What §4.1 and §6.1 say of the kernel."""
    rows = data["protocol"]
    errors = _median_errors(rows)
    return [
        Claim(
            "Without retries the late share is within a median of 8.6% of the M/M/1 tail, 12 loads at θ = 5",
            "§6.1",
            "8.6% (8 seeds)",
            f"{percent(errors.mean)} on average over {len(errors.values)} groups of {SOURCE_SEEDS} seeds",
            *_verdict(one_run(errors, 0.086)),
        ),
        *(_quoted(rows, *quote) for quote in ((0.46, "0.068", 0.075, 0.020), (0.92, "0.670", 0.665, 0.134))),
        _shortfall(data),
    ]


def _verdict(agreement: Any) -> tuple[bool | None, str]:
    return agreement.agrees, agreement.why


def _quoted(rows: Sequence[Row], load: float, formula: str, claimed: float, sd: float) -> Claim:
    row = pick(rows, load=load)
    ours = sample(row)
    judged = mean_over(ours, claimed, SOURCE_SEEDS, sd)
    return Claim(
        f"Late share at λ = {load}μ, θ = 5, no retries: measured, and the formula's {formula}",
        "§6.1",
        f"{claimed} ± {sd} measured, {formula} by the formula",
        f"{ours.words()}; spread between seeds {number(ours.sd)}; formula {row['predicted']:.4f}",
        judged.agrees and as_printed(row["predicted"], formula).agrees,
        judged.why,
    )
