"""Definition 8 and Propositions 6 and 8: amplification, the threshold, and that a trigger is required."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis import laws
from analysis.fluid import first_late_s, fluid_trace
from analysis.simulation import simulate_seeds
from analysis.studies.agreement import as_printed, same
from analysis.studies.claims import Claim
from analysis.studies.demand_debt.recovery import FIFTH, QUARTER
from analysis.studies.demand_debt.specimen import (
    ATTEMPTS,
    CALM_S,
    KIT_PODS,
    PODS,
    TIMEOUT_S,
    experiment,
    seeds,
)
from analysis.wording import number, percent
from domain.experiment import Phase

STACKS = (
    ("client retries twice", (3.0,), "3", "33.3"),
    ("client retries twice, gateway retries twice", (3.0, 3.0), "9", "11.1"),
    ("client retries twice, gateway retry budget of 20%", (3.0, 1.2), "3.6", "27.8"),
)
"""Layers, and A and 1/A in per cent as the source prints them."""
STEADY_S = 20_000.0
UTILIZATIONS = (0.5, 0.8, 0.9, 0.95)
SEEDS = 3
SEVERAL_HOURS_S = 14_400.0
SHORTEST_S = 300.0


@dataclass(frozen=True, slots=True)
class Calm:
    """A service without a trigger: late attempts and attempts over all seeds."""

    utilization: float
    pods: int
    duration_s: float
    seeds: int
    late: int
    attempts: int
    worst_backlog_s: float


@dataclass(frozen=True, slots=True)
class Triggers:
    """The steady runs, and when the first attempt is late in the fluid."""

    calm: list[Calm]
    kit: Calm
    first_late_s: float | None
    critical_first_late_s: float | None


def work_out(effort: float, told: Callable[[float], None]) -> Triggers:
    """Steady runs, at full rate and for a shorter time below effort 1; then the two fluid runs."""
    runs = [(u, PODS, STEADY_S) for u in UTILIZATIONS] + [(0.5, KIT_PODS, SEVERAL_HOURS_S)]
    calm = []
    for done, (utilization, pods, duration_s) in enumerate(runs):
        told(done / len(runs))
        calm.append(
            _calm(utilization, pods, max(SHORTEST_S, duration_s * min(1.0, effort)), seeds(effort, SEEDS))
        )
    return Triggers(
        calm[:-1],
        calm[-1],
        first_late_s(fluid_trace(QUARTER.experiment())),
        first_late_s(fluid_trace(FIFTH.experiment())),
    )


def _calm(utilization: float, pods: int, duration_s: float, chosen: list[int]) -> Calm:
    wanted = experiment(utilization, [Phase("steady", duration_s)], pods=pods)
    counts = simulate_seeds(wanted, chosen, edges_s=np.linspace(0.0, duration_s, 1001).tolist())
    return Calm(
        utilization,
        pods,
        duration_s,
        len(chosen),
        int(counts.late.sum()),
        int(counts.attempts.sum()),
        float(counts.backlog_s.max()),
    )


def claims(triggers: Triggers) -> list[Claim]:
    """Stacks, thresholds, the size of a trigger, and the runs without one."""
    return [
        *_stacks(),
        *_thresholds(),
        *_sizes(triggers),
        *(_no_timeouts(calm, "002 Prop. 6") for calm in triggers.calm),
        _no_timeouts(triggers.kit, "002 F1"),
    ]


def _stacks() -> list[Claim]:
    rows = []
    for words, layers, stated, threshold in STACKS:
        amplification = laws.layered_amplification(layers)
        judged = as_printed(amplification, stated)
        share = as_printed(100 * laws.trap_threshold(amplification), threshold)
        rows.append(
            Claim(
                f"Retry stack: {words}",
                "002 Def. 8",
                f"A = {stated}, threshold {threshold}%",
                f"A = {amplification:g}, threshold {100 * laws.trap_threshold(amplification):.1f}%",
                judged.agrees and share.agrees,
                "the product over the layers, and 1/A",
            )
        )
    return rows


def _thresholds() -> list[Claim]:
    bronson = 300.0 * laws.trap_threshold(2.0)
    step = 1.0 + TIMEOUT_S / 90.0
    return [
        Claim(
            "Bronson et al.: 300 queries/s and one retry are stable below",
            "002 Prop. 6",
            "150/s",
            f"{bronson:g}/s",
            same(bronson, 150.0).agrees,
            "capacity/A",
        ),
        Claim(
            "A sustained step is a trigger before the first new pod, τ = 90 s, from an overload of",
            "002 Prop. 8",
            "about 11%",
            f"{percent(step - 1)}",
            as_printed(100 * (step - 1), "11").agrees,
            "kρ − 1 > T/τ",
        ),
    ]


def _sizes(triggers: Triggers) -> list[Claim]:
    law = laws.time_to_first_timeout_s(
        spike_factor=QUARTER.factor, utilization=QUARTER.utilization, timeout_s=TIMEOUT_S
    )
    fluid = None if triggers.first_late_s is None else triggers.first_late_s - CALM_S
    return [
        Claim(
            "Four pods, ρ = 0.25: a fivefold spike pushes the wait past the timeout after",
            "002 Prop. 8",
            "40 s",
            f"{number(law)} s by T/(kρ − 1), {number(fluid)} s fluid",
            as_printed(law, "40").agrees and fluid is not None and abs(fluid - 40.0) < 1.0,
            "an attempt that is sent earlier waits less than the timeout",
        ),
        Claim(
            "Four pods, ρ = 0.2: the same spike is no trigger, kρ = 1",
            "002 Prop. 8",
            "not one timeout",
            "none in the fluid" if triggers.critical_first_late_s is None else "some in the fluid",
            triggers.critical_first_late_s is None,
            "demand only reaches capacity",
        ),
    ]


def _no_timeouts(calm: Calm, source: str) -> Claim:
    return Claim(
        f"No trigger, {calm.pods} pods, ρ = {calm.utilization:g}, Aρ = {ATTEMPTS * calm.utilization:g}",
        source,
        "no timeout at all",
        f"{calm.late:,} of {calm.attempts:,} attempts late ({calm.seeds} seeds of {number(calm.duration_s)}"
        " s)",
        calm.late == 0,
        f"the longest backlog seen was {number(1000 * calm.worst_backlog_s)} ms, of {TIMEOUT_S:g} s that it"
        " takes",
    )


def data(triggers: Triggers) -> dict[str, Any]:
    """The steady runs and the first late attempts."""
    return {
        "calm": [
            {
                "utilization": c.utilization,
                "pods": c.pods,
                "duration_s": c.duration_s,
                "seeds": c.seeds,
                "late": c.late,
                "attempts": c.attempts,
                "worst_backlog_s": c.worst_backlog_s,
            }
            for c in (*triggers.calm, triggers.kit)
        ],
        "first_late_s": {"rho_0.25": triggers.first_late_s, "rho_0.2": triggers.critical_first_late_s},
    }
