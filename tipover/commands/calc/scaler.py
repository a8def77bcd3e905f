"""Autoscalers after a trigger."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tipover.commands.calc.amplified import amplification_inputs, amplified
from tipover.commands.calc.calculation import DEMAND_DEBT, Calculation, Step, figure
from tipover.commands.calc.options import (
    AmplificationOption,
    ArrivalRateOption,
    AttemptsOrNone,
    BudgetOrNone,
)


def scaler(
    target_utilization: Annotated[
        float, typer.Option("--target-utilization", help="u*: what the autoscaler holds its signal at.")
    ],
    arrival_rate_per_s: ArrivalRateOption,
    amplification: AmplificationOption = None,
    max_attempts: AttemptsOrNone = None,
    budget: BudgetOrNone = None,
    capacity_ceiling_per_s: Annotated[
        float, typer.Option("--capacity-ceiling-per-s", help="What its largest number of replicas can do.")
    ] = math.inf,
) -> Calculation:
    """Which autoscaler signal lets a failed service out."""
    from analysis import laws

    a, first = amplified(
        amplification,
        max_attempts,
        budget,
        target_utilization=target_utilization,
        arrival_rate_per_s=arrival_rate_per_s,
        capacity_ceiling_per_s=capacity_ceiling_per_s,
    )
    trapped = laws.first_attempt_scaler_trapped(a, target_utilization)
    ordered = laws.ingress_scaler_capacity_per_s(a, arrival_rate_per_s, target_utilization)
    escapes = laws.ingress_scaler_escapes(a, arrival_rate_per_s, target_utilization, capacity_ceiling_per_s)
    u, rate = figure(target_utilization), figure(arrival_rate_per_s)
    steps = (
        *first,
        Step(
            "A scaler of first attempts is trapped after a trigger iff u* ≥ 1/A",
            "",
            "u* ≥ 1/A",
            f"{u} ≥ {figure(1 / a)}",
            trapped,
            key="first_attempt_scaler_trapped",
            deduced=True,
        ),
        Step(
            "Capacity a scaler of ingress orders while all fails",
            "C",
            "Aλ/u*",
            f"{figure(a)}·{rate}/{u}",
            ordered,
            "attempts/s",
            "ingress_scaler_capacity_per_s",
        ),
        Step(
            "It escapes iff it may have more than Aλ",
            "",
            "Aλ < min(C, ceiling)",
            f"{figure(laws.trapped_ingress_per_s(a, arrival_rate_per_s))} < "
            f"min({figure(ordered)}, {figure(capacity_ceiling_per_s)})",
            escapes,
            key="ingress_scaler_escapes",
            deduced=True,
        ),
    )
    return Calculation(
        "Autoscaler signals",
        {
            "target_utilization": ("u*", target_utilization),
            "arrival_rate_per_s": ("λ", arrival_rate_per_s),
            "capacity_ceiling_per_s": ("ceiling", capacity_ceiling_per_s),
            **amplification_inputs(amplification, max_attempts, budget),
        },
        steps,
        f"Counting first attempts it {'stays failed at its own target' if trapped else 'recovers'}; "
        f"counting every attempt it "
        f"{'recovers, if it keeps the capacity until the debt is gone' if escapes else 'stays failed'}.",
        f"{DEMAND_DEBT}, Corollaries 4 and 5",
    )
