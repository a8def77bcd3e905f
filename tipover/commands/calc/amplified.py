"""A, however it is given."""

from __future__ import annotations

from tipover.commands.calc.answer import checked, exactly_one
from tipover.commands.calc.calculation import Step, figure


def amplified(
    amplification: float | None, max_attempts: float | None, budget: float | None, **others: float
) -> tuple[float, tuple[Step, ...]]:
    """A, given as such, as m attempts or as a budget of β, and the step that says so.

    The ``others`` are the calculation's further fields, checked along with it.
    """
    from analysis import laws

    exactly_one(amplification=amplification, max_attempts=max_attempts, budget=budget)
    checked(amplification=amplification, max_attempts=max_attempts, budget=budget, **others)
    if amplification is not None:
        return amplification, ()
    what = "Attempts per job while every attempt fails"
    if max_attempts is not None:
        return max_attempts, (Step(what, "A", "m", "", max_attempts, key="amplification"),)
    assert budget is not None
    a = laws.budget_amplification(budget)
    return a, (Step(what, "A", "1 + β", f"1 + {figure(budget)}", a, key="amplification"),)


def amplification_inputs(
    amplification: float | None, max_attempts: float | None, budget: float | None
) -> dict[str, tuple[str, float | None]]:
    """The three ways to give A, as inputs of a calculation."""
    return {
        "amplification": ("A", amplification),
        "max_attempts": ("m", max_attempts),
        "budget": ("β", budget),
    }
