"""The trap condition."""

from __future__ import annotations

from tipover.commands.calc.amplified import amplification_inputs, amplified
from tipover.commands.calc.calculation import DEMAND_DEBT, Calculation, Step, figure
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
    from analysis.wording import percent

    a, first = amplified(amplification, max_attempts, budget, utilization=utilization)
    trapped, threshold = laws.is_trap(a, utilization), laws.trap_threshold(a)
    product = a * utilization if utilization else 0.0
    steps = (
        *first,
        Step("Threshold", "1/A", "", f"1/{figure(a)}", threshold, key="threshold_utilization"),
        Step(
            "Work offered while everything fails, over capacity",
            "Aρ",
            "",
            f"{figure(a)}·{figure(utilization)}",
            product,
            key="amplified_utilization",
        ),
        Step("Is it a trap", "", "Aρ ≥ 1", f"{figure(product)} ≥ 1", trapped, "", "trapped", True),
    )
    if trapped:
        meaning = (
            f"Once waits pass the timeout it stays failed until demand falls below {percent(threshold)} of "
            "capacity; waiting does not help."
        )
    else:
        meaning = f"It comes back from any trigger by itself; from {percent(threshold)} on it would not."
    return Calculation(
        "Trap condition",
        {"utilization": ("ρ", utilization), **amplification_inputs(amplification, max_attempts, budget)},
        steps,
        meaning,
        f"{DEMAND_DEBT}, Proposition 6",
    )
