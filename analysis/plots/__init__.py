"""The static plots of a run: each says one thing, in its title."""

from __future__ import annotations

from pathlib import Path

from analysis.fleets.region import measured_point, region_of
from analysis.plots.amplification import draw_amplification
from analysis.plots.canvas import Plot
from analysis.plots.fleet import draw_fleet
from analysis.plots.latency import draw_latency
from analysis.plots.region import draw_region
from analysis.plots.story import draw_story
from analysis.plots.wait import draw_wait
from analysis.result import RunResult

__all__ = ["Plot", "draw_plots"]


def draw_plots(result: RunResult) -> list[Plot]:
    """Draw every plot, write each to ``plots/<name>.png`` in the run directory and return them."""
    folder = Path(result.directory) / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    plots = [draw_story(result), draw_wait(result), draw_amplification(result), draw_latency(result)]
    if result.experiment.fleet is not None:
        plots[1:1] = _fleet_plots(result)
    for plot in plots:
        (folder / f"{plot.name}.png").write_bytes(plot.png)
    return plots


def _fleet_plots(result: RunResult) -> list[Plot]:
    """The fleet, and its place among the signals it could have been scaled on, where that is defined."""
    plots, predicted = [draw_fleet(result)], region_of(result.experiment)
    if predicted is not None:
        measured = measured_point(result)
        plots.append(draw_region(predicted, [] if measured is None else [measured]))
    return plots
