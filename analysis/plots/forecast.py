"""What is predicted of an experiment, on one sheet: the backlog with its band, and the rates behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from analysis.chance import band_text, is_band, tally
from analysis.plots.canvas import (
    BLUE,
    DPI,
    GREEN,
    GREY,
    INK,
    LEFT,
    RIGHT,
    SKY,
    VERMILLION,
    Plot,
    draw_heading,
    draw_key,
    draw_phase_strip,
    dress,
    highest,
    masked,
    png_of,
    tint_phases,
)
from analysis.plots.wait import draw_band, draw_timeout, scale_wait
from analysis.result import FluidTrace, Prediction
from analysis.wording import number
from domain.experiment import Experiment

if TYPE_CHECKING:
    from analysis.simulation.bands import Rates

SIZE_IN = (10.0, 6.6)
BACKLOG = "backlog, s of work"
AXIS_NOTE = "linear below T, logarithmic above"
DASHED = (0, (5, 2.5))
DOTTED = (0, (1, 1.2))


def draw_forecast(experiment: Experiment, prediction: Prediction) -> Plot:
    """The backlog: fluid line, band of the simulated seeds, timeout; beneath it ingress and goodput."""
    title = _title(prediction)
    figure = Figure(figsize=SIZE_IN, dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    draw_heading(figure, title, SIZE_IN[0])
    wait = figure.add_axes((LEFT, 0.49, RIGHT - LEFT, 0.355))
    rates = figure.add_axes((LEFT, 0.14, RIGHT - LEFT, 0.25))
    end_s = max(experiment.duration_s, 1e-9)
    draw_phase_strip(figure, experiment, bottom=0.862, height=0.034)
    model = "mean of the seeds" if prediction.simulated else "fluid model"
    for axes, label in ((wait, BACKLOG), (rates, f"{model}, per second")):
        tint_phases(axes, experiment)
        dress(axes, end_s, label, experiment.run.speedup)
    wait.set_xlabel("")
    wait.tick_params(labelbottom=False)
    draw_key(figure, _draw_wait(wait, experiment, prediction), bottom=0.425)
    draw_key(figure, _draw_rates(rates, _path(prediction)))
    line = "median" if prediction.simulated else "fluid model"
    whose = "full fleet's capacity" if experiment.fleet is None else "capacity of the pods that serve then"
    caption = f"Backlog over the {whose}: the {line}, and 5–95% of simulated runs."
    return Plot("forecast", title, caption, f"Line chart of the backlog over time. {title}.", png_of(figure))


def _draw_wait(axes: Axes, experiment: Experiment, prediction: Prediction) -> list[Artist]:
    """The upper picture; what is to be named in the legend."""
    handles: list[Artist] = []
    fluid, service = prediction.fluid, experiment.service
    tops = []
    if prediction.bands is not None:
        envelope = prediction.bands.backlog
        handles.append(draw_band(axes, prediction.bands))
        handles += axes.plot(envelope.t_s, envelope.median_s, color=BLUE, lw=1.5, label="median", zorder=3)
        tops.append(envelope.high_s)
    if fluid is not None and service is not None:
        capacity = service.capacity_per_s if experiment.fleet is None else fluid.capacity_per_s
        backlog_s = masked(fluid.backlog / capacity)
        handles += axes.plot(
            fluid.t_s, backlog_s, color=INK, lw=1.2, ls=DASHED, label="fluid model", zorder=4
        )
        tops.append(backlog_s)
    if not handles:
        axes.text(0.5, 0.5, _unknown(prediction), transform=axes.transAxes, ha="center", va="center")
    timeout = experiment.client.timeout_s
    scale_wait(axes, timeout, highest(*tops))
    if axes.get_yscale() != "linear":
        # On the right: the left margin holds no second line beside tick labels of five digits.
        axes.text(
            1.006, 0.5, AXIS_NOTE, transform=axes.transAxes, rotation=90, va="center", fontsize=8, color=GREY
        )
    return [*handles, draw_timeout(axes, timeout)]


def _path(prediction: Prediction) -> FluidTrace | Rates | None:
    """What there are rates of: the fluid model, or else the seeds."""
    bands = prediction.bands
    return prediction.fluid if prediction.fluid is not None or bands is None else bands.rates


def _draw_rates(axes: Axes, path: FluidTrace | Rates | None) -> list[Artist]:
    """The lower picture: the rates and the capacity."""
    if path is None:
        return []
    lines = (
        (path.ingress_per_s, VERMILLION, 1.4, "-", "ingress"),
        (path.demand_per_s, SKY, 1.4, "-", "demand"),
        (path.goodput_per_s, GREEN, 1.4, "-", "goodput"),
        (path.capacity_per_s, INK, 1.1, DOTTED, "capacity"),
    )
    handles: list[Artist] = []
    for values, color, width, style, label in lines:
        handles += axes.plot(path.t_s, masked(values), color=color, lw=width, ls=style, label=label, zorder=3)
    axes.set_ylim(0, 1.15 * max(highest(*(line[0] for line in lines)), 1e-9))
    return handles


def _unknown(prediction: Prediction) -> str:
    """Why there is nothing to draw."""
    return "nothing was simulated" if prediction.simulated else "the capacity is not known"


def _title(prediction: Prediction) -> str:
    recovery = prediction.values.get("recovery_s")
    words = {
        "healthy": "Predicted: no failure",
        "recovered": f"Predicted: recovery after {number(recovery)} s",
        "trapped": "Predicted: trapped",
        "undecided": "Predicted: still failing when the watch ends",
        None: f"No prediction: {_unknown(prediction)}",
    }[prediction.outcome]
    bands = prediction.bands
    if bands is None:
        return words
    band = bands.values.get("recovery_s")
    if len(bands.outcomes) == 1 and is_band(band):
        return f"{words}, {band_text(band, 's')} in nine runs of ten"
    return f"{words}; simulated: {tally(bands.outcomes)}"
