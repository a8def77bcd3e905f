"""``tipover predict``: what the laws and the fluid model say and what chance adds, with nothing started."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import ConfigurationError, Fault
from tipover.commands.options import JsonOption, ScenarioArgument, SeedOption, SpeedupOption
from tipover.commands.output import console, print_json
from tipover.commands.picture import PlotOption, draw, drawable_faults, plot_faults

if TYPE_CHECKING:
    from analysis.fleets.region import Region
    from analysis.result import Prediction
    from domain.experiment import Experiment

QUICK_ATTEMPTS = 2e6
"""What the band may cost unless seeds are asked for: about a second of one core."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("predict")(predict_scenario)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without the garbage collector: the imports make a million objects and no garbage, and looking for
    some took a seventh of the time of the whole command."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def predict_scenario(
    scenario: ScenarioArgument,
    speedup: SpeedupOption = None,
    seed: SeedOption = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            "--seeds",
            help="Seeds to simulate for the band, 0 for none.  [default: up to 40, as far as that is quick]",
            show_default=False,
        ),
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a scenario's outcome; starts nothing."""
    faults = [] if seeds is None or seeds >= 0 else [Fault("--seeds", "must be at least 0", seeds)]
    faults += plot_faults(plot)
    if faults:
        raise ConfigurationError("the scenario cannot be predicted", faults)

    with _no_collection():
        from tipover.scenario import load_scenario

        experiment = load_scenario(
            scenario, speedup=speedup, seed=seed, need_service=bool(seeds), service_for="simulation"
        )
        if faults := drawable_faults(plot, experiment):
            raise ConfigurationError("the scenario cannot be drawn", faults)

        from analysis.chance import to_json, with_bands
        from analysis.fleets.region import region_of
        from analysis.prediction import predict
        from analysis.seeds import affordable_seeds
        from domain.experiment_json import to_json as experiment_json
        from tipover.commands.predict_signals import signals_json
        from tipover.commands.predict_words import advice, chance_words, threshold

        prediction = predict(experiment)
        signals = region_of(experiment)
    count = affordable_seeds(experiment, QUICK_ATTEMPTS) if seeds is None else seeds
    if count:
        from tipover.commands.simulation import simulate

        prediction = with_bands(prediction, simulate(experiment, count, prediction.fluid))
    sentences = [*advice(experiment, prediction), *chance_words(experiment, prediction, asked=seeds)]
    draw(plot, experiment, prediction)
    if as_json:
        print_json(
            {
                "scenario": experiment_json(experiment),
                "outcome": prediction.outcome,
                "values": prediction.values,
                "recovery_sd_s": prediction.recovery_sd_s,
                "bands": to_json(prediction.bands),
                "threshold": threshold(experiment),
                "signals": signals_json(signals),
                "advice": sentences,
                "notes": prediction.notes,
            }
        )
        return
    _print(experiment, prediction, signals, sentences)


def _print(
    experiment: Experiment, prediction: Prediction, signals: Region | None, sentences: list[str]
) -> None:
    from tipover.commands.predict_signals import print_signals
    from tipover.commands.prediction_table import print_prediction

    out = console()
    out.print(f"{experiment.name}: {experiment.title}", style="bold")
    print_prediction(out, experiment, prediction)
    print_signals(out, signals)
    for sentence in sentences:
        out.print(sentence)
    for note in prediction.notes:
        out.print(f"Note: {note}", style="yellow")
