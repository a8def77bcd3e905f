"""F4: the mean backoff that each policy asks for, from every attempt of recorded runs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.simulation.run import SimulatedRun
from analysis.studies.agreement import Agreement, wide
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.bisection import for_each
from analysis.studies.collapse_law.judgement import PRINTED, claim
from analysis.studies.collapse_law.protocol import POLICIES, collapsed, steady, windows_s
from analysis.studies.collapse_law.ratios import PooledRatio
from analysis.studies.collapse_law.rows import Row
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.counting import counted
from analysis.wording import number

THETA, LOAD = 5.0, 0.3
SEEDS = 400
SOURCE_SEEDS = 8
CLAIMED = {"none": 0.0, "fixed": 2.5, "exponential": 5.0, "jitter": 6.1}
EXPLAINED = {"exponential": "; its 5.0 is the first delay alone, so that no job of its runs failed twice"}


def measure(effort: float) -> list[dict[str, Any]]:
    """The mean backoff over all retries of the runs that have not tipped."""
    return [_row(policy, SEEDS * effort) for policy in POLICIES]


def _row(policy: str, count: float) -> dict[str, Any]:
    runs = for_each(seeds_of(f"delays {policy}", count), lambda seed: _one(policy, seed))
    healthy = [waits for waits, tipped in runs if not tipped]
    everything = np.concatenate([waits for waits, _ in runs])
    return {
        "policy": policy,
        "tipped": sum(tipped for _, tipped in runs),
        "with_tipped_runs": float(everything.mean()),
        **PooledRatio.of([waits.sum() for waits in healthy], [waits.size for waits in healthy]).plain(),
    }


def _one(policy: str, seed: int) -> tuple[NDArray[np.float64], bool]:
    """The backoffs of one run, and whether it tipped."""
    experiment = steady(LOAD, theta=THETA, seed=seed, policy=policy)
    run = SimulatedRun(experiment, edges_s=windows_s(experiment), recording=True)
    run.advance(experiment.duration_s)
    sent = run.recorded()
    tipped = bool(collapsed(run.finish())[0])
    order = np.lexsort((sent.attempt, sent.job))
    job, begun, ended = sent.job[order], sent.sent_s[order], sent.done_s[order]
    again = job[1:] == job[:-1]
    return (begun[1:] - ended[:-1])[again], tipped


def claims(rows: list[Row]) -> list[Claim]:
    """What §3.2 says of the mean backoffs."""
    lines = []
    for row in rows:
        claimed = CLAIMED[row["policy"]]
        gap = abs(row["pooled"] - claimed)
        allowed = row["half_width_95"] * math.sqrt(1 + row["seeds"] / SOURCE_SEEDS)
        ok = gap <= allowed + 1e-6
        too_wide = wide(2 * row["half_width_95"], max(claimed, PRINTED)) if ok else ""
        lines.append(
            claim(
                f"Mean backoff at θ = {THETA:g}, λ = {LOAD}μ, m = 6, {row['policy']}",
                "§3.2, §6.4",
                f"{claimed} mean services",
                f"{number(row['pooled'])} ± {number(row['half_width_95'], 2)} over the retries of "
                f"{counted(row['seeds'], 'run')}; {number(row['with_tipped_runs'])} with those of "
                f"{counted(row['tipped'], 'run')} that tipped",
                Agreement(
                    None if too_wide else ok,
                    f"{too_wide + '; ' if too_wide else ''}ours is off by {number(gap, 2)}, "
                    f"{'within' if ok else 'beyond'} the "
                    f"±{number(allowed, 2)} of {SOURCE_SEEDS} seeds (how many the source used is not said)"
                    + EXPLAINED.get(row["policy"], ""),
                    chance=True,
                ),
            )
        )
    return lines
