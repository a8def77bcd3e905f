"""``--plot FILE.png``: checked before the work is done, written after it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import Fault, TipoverError
from tipover.commands.output import error_console

if TYPE_CHECKING:
    from analysis.result import Prediction
    from domain.experiment import Experiment

PlotOption = Annotated[
    Path | None, typer.Option("--plot", help="Draw the backlog over time, with its band, to this PNG file.")
]


def plot_faults(file: Path | None) -> list[Fault]:
    """What is wrong with the file to draw to."""
    if file is None:
        return []
    if file.suffix.lower() != ".png":
        return [Fault("--plot", "must end in .png", str(file))]
    if not file.parent.is_dir():
        return [Fault("--plot", "must be in a directory that exists", str(file))]
    return []


def drawable_faults(file: Path | None, experiment: Experiment) -> list[Fault]:
    """That a service nobody knows has no backlog to draw."""
    if file is None or experiment.service is not None:
        return []
    rule = "needs a scenario with a [service]: without its capacity no backlog can be predicted, nor drawn"
    return [Fault("--plot", rule, str(file))]


def draw(file: Path | None, experiment: Experiment, prediction: Prediction) -> None:
    """Draw the forecast to the file, if one was asked for; ``TipoverError`` if it cannot be written."""
    if file is None:
        return
    from analysis.plots.forecast import draw_forecast

    try:
        file.write_bytes(draw_forecast(experiment, prediction).png)
    except OSError as error:
        raise TipoverError(f"the plot could not be written: {error}") from error
    error_console().print(f"plot: {file.resolve()}", soft_wrap=True)
