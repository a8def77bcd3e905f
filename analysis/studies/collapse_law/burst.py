"""F2: how many synchronised attempts tip a system that carries half its ceiling."""

from __future__ import annotations

from typing import Any

from analysis import laws
from analysis.simulation import simulate, simulate_seeds
from analysis.studies.agreement import as_printed
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.bisection import for_each, threshold
from analysis.studies.collapse_law.judgement import claim, mean_over
from analysis.studies.collapse_law.protocol import ATTEMPTS, collapsed, steady, windows_s
from analysis.studies.collapse_law.rows import Row, pick, sample
from analysis.studies.collapse_law.seeds import seeds_of
from analysis.studies.collapse_law.shares import Share
from analysis.wording import number, percent

THETA = 5.0
POLICIES = ("none", "jitter")
SIZES = (0, 5, 10, 15, 20, 25, 30, 40, 60)
LARGEST = 128
SEEDS, SIZE_SEEDS = 200, 400
STEPS = 7


def measure(effort: float) -> dict[str, Any]:
    """The least burst that tips each seed, and the share that a burst of each size tips."""
    load = laws.collapse_ceiling(THETA, ATTEMPTS) / 2
    return {
        "theta": THETA,
        "load": load,
        "separatrix": laws.separatrix_depth(load, THETA, ATTEMPTS),
        "separatrix_endless": laws.separatrix_depth(load, THETA),
        "least": [{"policy": policy, "values": _least(load, policy, SEEDS * effort)} for policy in POLICIES],
        "shares": [_row(load, policy, n, SIZE_SEEDS * effort) for policy in POLICIES for n in SIZES],
    }


def _least(load: float, policy: str, count: float) -> list[float]:
    def least(seed: int) -> float:
        run = steady(load, theta=THETA, seed=seed, policy=policy)

        def tips(burst: float) -> bool:
            return bool(collapsed(simulate(run, edges_s=windows_s(run), preload=round(burst)))[0])

        return threshold(tips, 0.0, LARGEST, STEPS)

    return for_each(seeds_of(f"least burst {policy}", count), least)


def _row(load: float, policy: str, size: int, count: float) -> dict[str, Any]:
    seeds = seeds_of(f"burst {policy} {size}", count)
    run = steady(load, theta=THETA, seed=0, policy=policy)
    tipped = collapsed(simulate_seeds(run, seeds, edges_s=windows_s(run), preload=size))
    return {"policy": policy, "size": size, **Share(int(tipped.sum()), len(seeds)).plain()}


def claims(data: Row) -> list[Claim]:
    """What §6.2 says of the burst."""
    lines = [
        claim(
            "Mean-field separatrix at half the ceiling, θ = 5, m = 6, in attempts",
            "§6.2",
            "18.7",
            f"{data['separatrix']:.1f}, the M/M/1 mean queue at the larger root; for m = ∞ "
            f"{data['separatrix_endless']:.1f}",
            as_printed(data["separatrix"], "18.7"),
        )
    ]
    for policy in POLICIES:
        ours = sample(pick(data["least"], policy=policy))
        gap = ours.mean / data["separatrix"] - 1
        lines.append(
            claim(
                f"Least synchronised burst that tips it at half the ceiling, θ = 5, {policy}",
                "§6.2",
                "10.3 ± 3 attempts, 45% below the separatrix (3 seeds; the policy is not said)",
                f"{ours.words(' attempts')}, {percent(abs(gap))} {'below' if gap < 0 else 'above'} the "
                f"separatrix; spread between seeds {number(ours.sd, 2)}",
                mean_over(ours, 10.3, 3, 3.0),
            )
        )
    return lines
