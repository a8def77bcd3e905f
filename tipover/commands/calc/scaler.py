"""Autoscalers after a trigger."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tipover.commands.calc.amplified import amplification_inputs, amplified
from tipover.commands.calc.calculation import DEMAND_DEBT, Calculation, Step, figure, operand, told_apart
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
    free = laws.first_attempt_scaler_escapes(
        a, arrival_rate_per_s, target_utilization, capacity_ceiling_per_s
    )
    ordered = laws.ingress_scaler_capacity_per_s(a, arrival_rate_per_s, target_utilization)
    escapes = laws.ingress_scaler_escapes(a, arrival_rate_per_s, target_utilization, capacity_ceiling_per_s)
    ingress = laws.trapped_ingress_per_s(a, arrival_rate_per_s)
    held = arrival_rate_per_s / target_utilization
    rate, u = figure(arrival_rate_per_s), operand(target_utilization)
    steps = (
        *first,
        Step("Attempts per second while all fails", "Aλ", "", f"{figure(a)}·{rate}", ingress, "attempts/s"),
        Step(
            "Capacity a scaler of first attempts orders, whatever fails",
            "C",
            "λ/u*",
            f"{rate}/{u}",
            held,
            "attempts/s",
            "first_attempt_scaler_capacity_per_s",
        ),
        Step(
            "It stays failed after a trigger iff that, or its ceiling, is no more than Aλ (iff u* ≥ 1/A, or "
            "ceiling ≤ Aλ)",
            "",
            "Aλ ≥ min(C, ceiling)",
            _compared(ingress, "≥", held, capacity_ceiling_per_s),
            not free,
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
            _compared(ingress, "<", ordered, capacity_ceiling_per_s),
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
        _meaning(arrival_rate_per_s, ingress, capacity_ceiling_per_s, free=free, escapes=escapes),
        f"{DEMAND_DEBT}, Corollaries 4 and 5",
    )


def _compared(ingress: float, relation: str, ordered: float, ceiling: float) -> str:
    left, _ = told_apart(ingress, min(ordered, ceiling), most=12)
    capacities = ", ".join(told_apart(capacity, ingress, most=12)[0] for capacity in (ordered, ceiling))
    return f"{left} {relation} min({capacities})"


def _meaning(rate: float, ingress: float, ceiling: float, *, free: bool, escapes: bool) -> str:
    if rate == 0:
        return "Without demand nothing keeps it failed, whatever its signal."
    if ceiling <= rate:
        return (
            f"Its ceiling of {figure(ceiling)} attempts/s is no more than the demand of {figure(rate)} "
            "jobs/s: it is overloaded without any trigger, whatever its signal."
        )
    if math.isinf(ingress):
        return "Clients that never give up keep it failed at any capacity, whatever its signal."
    if ceiling <= ingress:
        return (
            f"Whatever its signal it stays failed after a trigger: its ceiling of {figure(ceiling)} "
            f"attempts/s is no more than the {figure(ingress)} it is sent while all fails."
        )
    counting_first = "recovers" if free else "stays failed at its own target"
    counting_all = "recovers, if it keeps the capacity until the debt is gone" if escapes else "stays failed"
    return f"Counting first attempts it {counting_first}; counting every attempt it {counting_all}."
