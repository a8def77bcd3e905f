"""The static plots of a run: each says one thing, in its title."""

from __future__ import annotations

from pathlib import Path

from analysis.plots.amplification import draw_amplification
from analysis.plots.canvas import Plot
from analysis.plots.latency import draw_latency
from analysis.plots.story import draw_story
from analysis.plots.wait import draw_wait
from analysis.result import RunResult

__all__ = ["Plot", "draw_plots"]


def draw_plots(result: RunResult) -> list[Plot]:
    """Draw every plot, write each to ``plots/<name>.png`` in the run directory and return them."""
    folder = Path(result.directory) / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    plots = [draw_story(result), draw_wait(result), draw_amplification(result), draw_latency(result)]
    for plot in plots:
        (folder / f"{plot.name}.png").write_bytes(plot.png)
    return plots
