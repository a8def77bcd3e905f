"""``tipover predict``: what the laws and the fluid model say, with nothing started."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from tipover.commands.options import JsonOption, ScenarioArgument, SeedOption, SpeedupOption
from tipover.commands.output import console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from analysis.result import Prediction


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict_scenario)


def predict_scenario(
    scenario: ScenarioArgument,
    speedup: SpeedupOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a scenario's outcome; starts nothing."""
    from tipover.scenario import load_scenario

    experiment = load_scenario(scenario, speedup=speedup, seed=seed)

    from analysis.prediction import predict
    from domain.experiment_json import to_json
    from tipover.commands.predict_words import advice, threshold

    prediction = predict(experiment)
    sentences = advice(experiment, prediction)
    if as_json:
        print_json(
            {
                "scenario": to_json(experiment),
                "outcome": prediction.outcome,
                "values": prediction.values,
                "recovery_sd_s": prediction.recovery_sd_s,
                "threshold": threshold(experiment),
                "advice": sentences,
                "notes": prediction.notes,
            }
        )
        return
    out = console()
    out.print(f"{experiment.name}: {experiment.title}", style="bold")
    out.print(_table(prediction))
    for sentence in sentences:
        out.print(sentence)
    for note in prediction.notes:
        out.print(f"Note: {note}", style="yellow")


def _table(prediction: Prediction) -> Table:
    from rich.table import Table

    from analysis.result import QUANTITIES
    from analysis.wording import number

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("quantity", style="cyan", no_wrap=True)
    table.add_column("predicted", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("meaning")
    for key, (unit, meaning) in QUANTITIES.items():
        if prediction.values.get(key) is not None:
            table.add_row(key, number(prediction.values[key]), "" if unit == "1" else unit, meaning)
    return table
