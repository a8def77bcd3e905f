"""``tipover list``: the built-in scenarios, and the presets of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from tipover.commands.options import JsonOption
from tipover.commands.output import console, print_json, span

if TYPE_CHECKING:
    from domain.experiment import Experiment
    from domain.presets import Preset


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("list")(list_scenarios)


def list_scenarios(
    presets: Annotated[
        bool, typer.Option("--presets", help="The clients a scenario can name as its preset instead.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List the built-in scenarios, or the presets of clients."""
    if presets:
        _list_presets(as_json)
        return
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
    out.print("Clients as they are deployed: `tipover list --presets`.")


def _expected(scenario: Experiment) -> str:
    expect = scenario.expect
    if expect is None:
        return "–"
    return f"recovers in {expect.recover_s:,.0f} s" if expect.recover_s else expect.outcome


def _list_presets(as_json: bool) -> None:
    from domain.presets import PRESETS

    if as_json:
        print_json({"presets": [_preset_row(preset) for preset in PRESETS.values()]})
        return
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_column(style="cyan", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for preset in PRESETS.values():
        for line, (key, value) in enumerate(_preset_words(preset)):
            table.add_row("" if line else preset.name, key, value)
    out = console()
    out.print(table)
    out.print('\nUse one in a scenario: [client] preset = "NAME". Its own keys win over the preset\'s.')


def _preset_row(preset: Preset) -> dict[str, object]:
    from domain.experiment_json import rule_to_json

    return {
        "name": preset.name,
        "max_attempts": preset.max_attempts,
        "backoff": rule_to_json(preset.backoff),
        "budget": rule_to_json(preset.budget),
        "breaker": rule_to_json(preset.breaker),
        "propagate": preset.propagate,
        "on_refusal": preset.on_refusal,
        "source": preset.source,
        "note": preset.note,
    }


def _preset_words(preset: Preset) -> list[tuple[str, str]]:
    from domain.experiment_json import rule_to_json

    words = [("attempts", f"{preset.max_attempts:g}")]
    for name, rule in (("backoff", preset.backoff), ("budget", preset.budget), ("breaker", preset.breaker)):
        settings = rule_to_json(rule)
        kind = settings.pop("kind")
        details = ", ".join(f"{key} {value:g}" for key, value in settings.items())
        if kind != "none" or name == "backoff":
            words.append((name, f"{kind} ({details})" if details else kind))
    return [*words, ("note", preset.note), ("source", preset.source)]
