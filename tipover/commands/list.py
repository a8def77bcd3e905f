"""``tipover list``: the built-in scenarios."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tipover.commands.options import JsonOption
from tipover.commands.output import console, print_json, span

if TYPE_CHECKING:
    from domain.experiment import Experiment


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_scenarios)


def list_scenarios(as_json: JsonOption = False) -> None:
    """List the built-in scenarios."""
    from tipover.scenario import builtin_scenarios

    scenarios = builtin_scenarios()
    if as_json:
        print_json({"scenarios": [_row(scenario) for scenario in scenarios]})
        return
    _print_table(scenarios)


def _row(scenario: Experiment) -> dict[str, object]:
    expect = scenario.expect
    return {
        "name": scenario.name,
        "title": scenario.title,
        "expects": expect.outcome if expect else None,
        "recover_s": expect.recover_s if expect else None,
        "source": expect.source if expect else "",
        "speedup": scenario.run.speedup,
        "duration_s": scenario.duration_s,
        "takes_s": scenario.duration_s / scenario.run.speedup,
    }


def _print_table(scenarios: tuple[Experiment, ...]) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("name", style="cyan", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("expects", no_wrap=True)
    table.add_column("takes", no_wrap=True, justify="right")
    table.add_column("speed-up", no_wrap=True, justify="right")
    for scenario in scenarios:
        takes = span(scenario.duration_s / scenario.run.speedup)
        table.add_row(
            scenario.name, scenario.title, _expected(scenario), takes, f"× {scenario.run.speedup:g}"
        )
    out = console()
    out.print(table)
    out.print("\nTake one further with `tipover predict NAME`, or write your own: `tipover schema`.")


def _expected(scenario: Experiment) -> str:
    expect = scenario.expect
    if expect is None:
        return "–"
    return f"recovers in {expect.recover_s:,.0f} s" if expect.recover_s else expect.outcome
