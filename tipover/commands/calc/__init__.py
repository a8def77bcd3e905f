"""``tipover calc``: one law at a time, with the working shown."""

from __future__ import annotations

from collections.abc import Callable

import typer

from tipover.commands.calc import curve, fanout, feedback, limits, recovery, retries, scaler, trap, trigger
from tipover.commands.calc.answer import answering
from tipover.commands.calc.calculation import Calculation

CALCULATIONS: dict[str, Callable[..., Calculation]] = {
    "trap": trap.trap,
    "trigger": trigger.trigger,
    "recovery": recovery.recovery,
    "drain": recovery.drain,
    "scaler": scaler.scaler,
    "ceiling": curve.ceiling,
    "kernel": curve.kernel,
    "curve": curve.fixed_points,
    "bistability": curve.bistability,
    "amplification": retries.amplification,
    "stack": retries.stack,
    "fanout": fanout.fanout,
    "tree": retries.tree,
    "fixed-point": feedback.fixed_point,
    "cap": limits.cap,
    "drain-point": limits.drain_point,
}


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(
        help="Work out one law, with the working shown. Infinity is inf, in options and as a string in JSON.",
        rich_markup_mode=None,
        no_args_is_help=True,
    )
    for name, calculation in CALCULATIONS.items():
        group.command(name)(answering(calculation))
    app.add_typer(group, name="calc")
