"""The trap condition."""

from __future__ import annotations

from tipover.commands.calc.amplified import amplification_inputs, amplified
from tipover.commands.calc.calculation import (
    DEMAND_DEBT,
    Calculation,
    Step,
    figure,
    operand,
    percent,
    told_apart,
)
from tipover.commands.calc.options import (
    AmplificationOption,
    AttemptsOrNone,
    BudgetOrNone,
    UtilizationOption,
)


def trap(
    utilization: UtilizationOption,
    amplification: AmplificationOption = None,
    max_attempts: AttemptsOrNone = None,
    budget: BudgetOrNone = None,
) -> Calculation:
    """Whether a triggered service stays failed for ever."""
    from analysis import laws

    a, first = amplified(amplification, max_attempts, budget, utilization=utilization)
    trapped, threshold = laws.is_trap(a, utilization), laws.trap_threshold(a)
    product = a * utilization if utilization else 0.0
    shown, one = told_apart(product, 1.0, most=12)
    steps = (
        *first,
        Step("Threshold", "1/A", "", f"1/{operand(a)}", threshold, key="threshold_utilization"),
        Step(
            "Work offered while everything fails, over capacity",
            "Aρ",
            "",
            f"{figure(a)}·{figure(utilization)}",
            product,
            key="amplified_utilization",
        ),
        Step("Is it a trap", "", "Aρ ≥ 1", f"{shown} ≥ {one}", trapped, "", "trapped", True),
    )
    return Calculation(
        "Trap condition",
        {"utilization": ("ρ", utilization), **amplification_inputs(amplification, max_attempts, budget)},
        steps,
        _meaning(utilization, threshold, trapped=trapped),
        f"{DEMAND_DEBT}, Proposition 6",
    )


def _meaning(utilization: float, threshold: float, *, trapped: bool) -> str:
    if utilization >= 1:
        return (
            f"With first attempts alone at {percent(utilization)} of capacity it is overloaded without any "
            "trigger, whatever its clients do."
        )
    if trapped and threshold == 0:
        return (
            "Once waits have passed the timeout for about a timeout it stays failed, and no demand is low "
            "enough to release it: only dropping the queue or stopping the retries does."
        )
    if trapped:
        return (
            "Once waits have passed the timeout for about a timeout it stays failed until demand falls below "
            f"{percent(threshold)} of capacity; waiting does not help."
        )
    if threshold == 0:
        return "Without demand it comes back from any trigger by itself; at any demand it would not."
    return f"It comes back from any trigger by itself; from {percent(threshold)} on it would not."
