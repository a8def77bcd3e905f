"""Fan-out over hops that each retry."""

from __future__ import annotations

from typing import Annotated

import typer

from tipover.commands.calc.answer import checked
from tipover.commands.calc.calculation import PER_HOP, Calculation, Step, figure
from tipover.commands.calc.options import AttemptsOption


def fanout(
    max_attempts: AttemptsOption,
    hops: Annotated[int, typer.Option("--hops", help="H: hops that retry, one after the other.")],
    slack: Annotated[
        float,
        typer.Option("--slack", help="Multiple of normal load that the last service absorbs."),
    ],
    deadline: Annotated[
        bool, typer.Option("--deadline", help="One absolute deadline is consumed by every hop.")
    ] = False,
    shared_budget: Annotated[
        bool, typer.Option("--shared-budget", help="One retry budget for all hops, sized to the slack.")
    ] = False,
) -> Calculation:
    """Whether per-hop retries may be shipped: the decision table."""
    from analysis import laws

    checked(max_attempts=max_attempts, hops=hops, slack=slack)
    decision = laws.decide(
        max_attempts=max_attempts, hops=hops, slack=slack, deadline=deadline, shared_budget=shared_budget
    )
    fits = laws.retries_are_safe(max_attempts, hops, slack)
    row = laws.DECISION_TABLE.index(decision.row) + 1
    given = figure(max_attempts), figure(float(hops))
    return Calculation(
        "Fan-out of per-hop retries",
        {
            "max_attempts": ("m", max_attempts),
            "hops": ("H", hops),
            "slack": ("slack", slack),
            "deadline": ("deadline", "yes" if deadline else "no"),
            "shared_budget": ("shared budget", "yes" if shared_budget else "no"),
        },
        (
            Step(
                "Worst case at the last service, per request",
                "fan-out",
                "m^H",
                f"{given[0]}^{given[1]}",
                decision.fan_out,
                "attempts",
                "fan_out",
            ),
            Step(
                "Does it fit",
                "",
                "m^H ≤ slack",
                f"{figure(decision.fan_out)} ≤ {figure(slack)}",
                fits,
                key="fits",
                deduced=True,
            ),
            Step(
                "Decision: deadline → safe; shared budget → safe; m^H ≤ slack → degraded; else do not ship",
                "",
                f"row {row} of {len(laws.DECISION_TABLE)}",
                "",
                decision.row.verdict.value,
                key="verdict",
                deduced=True,
            ),
        ),
        f"{decision.row.verdict.value.capitalize()}: {decision.row.reason}.",
        PER_HOP,
    )
