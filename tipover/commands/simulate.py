"""``tipover simulate``: the scenario of a run, request by request and seed by seed, with nothing started."""

from __future__ import annotations

from typing import Annotated

import typer

from domain.errors import ConfigurationError, Fault
from tipover.commands.options import JsonOption, ScenarioArgument, SeedOption, SpeedupOption
from tipover.commands.output import console, print_json
from tipover.commands.picture import PlotOption, draw, plot_faults


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("simulate")(simulate_scenario)


def simulate_scenario(
    scenario: ScenarioArgument,
    seeds: Annotated[
        int, typer.Option("--seeds", help="How many seeds: the scenario's own and those that follow it.")
    ] = 100,
    speedup: SpeedupOption = None,
    seed: SeedOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate a scenario over many seeds; starts nothing."""
    faults = [] if seeds >= 1 else [Fault("--seeds", "must be at least 1", seeds)]
    faults += plot_faults(plot)
    if faults:
        raise ConfigurationError("the scenario cannot be simulated", faults)

    from tipover.scenario import load_scenario

    experiment = load_scenario(
        scenario, speedup=speedup, seed=seed, need_service=True, service_for="simulation"
    )

    from analysis.chance import meaning, seeds_text, tally, to_json, with_bands
    from analysis.prediction import predict
    from domain.experiment_json import to_json as experiment_json
    from tipover.commands.predict_words import since
    from tipover.commands.prediction_table import print_prediction
    from tipover.commands.simulation import simulate

    fluid = predict(experiment)  # refuses what is too large before the long work begins
    bands = simulate(experiment, seeds, fluid.fluid)
    prediction = with_bands(fluid, bands)
    sentences = meaning(bands, since(experiment))
    draw(plot, experiment, prediction)
    if as_json:
        answer = {"scenario": experiment_json(experiment), "predicted_outcome": prediction.outcome}
        answer |= {"predicted": prediction.values, "bands": to_json(bands)}
        print_json({**answer, "meaning": sentences, "notes": prediction.notes})
        return
    out = console()
    out.print(f"{experiment.name}: {experiment.title}", style="bold")
    out.print(f"{tally(bands.outcomes)} ({seeds_text(bands)})")
    if bands.after_shed:
        out.print(f"after shedding: {tally(bands.after_shed)}")
    print_prediction(out, experiment, prediction)
    for sentence in sentences:
        out.print(sentence)
    for note in prediction.notes:
        out.print(f"Note: {note}", style="yellow")
