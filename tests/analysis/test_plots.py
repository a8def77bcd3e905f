"""Plots are pictures of the right size with something on them, whatever the run was like."""

from __future__ import annotations

import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from analysis.chance import with_bands as seeds_of
from analysis.plots import Plot, draw_plots, forecast
from analysis.plots.labels import drawable
from analysis.plots.moments import recoveries, state_spans
from analysis.plots.wait import draw_wait
from analysis.prediction import predict
from analysis.report import headline
from analysis.simulation.bands import simulate_bands
from domain.budgets.ratio import RatioBudget
from domain.experiment import Phase
from tests.analysis.fifo import kit
from tests.analysis.made_up_results import (
    EVERY_KIND,
    cut,
    empty,
    experiment,
    healthy,
    made_up,
    recovered,
    trapped,
    with_bands,
)

NAMES = ["story", "wait", "amplification", "latency"]


def pixels(png: bytes) -> np.ndarray:
    """The picture as an array of height × width × channels."""
    return np.asarray(imread(io.BytesIO(png), format="png"))


def by_name(plots: list[Plot]) -> dict[str, Plot]:
    """The plots by their names."""
    return {plot.name: plot for plot in plots}


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_plot_is_a_png_of_the_right_size(kind: str, tmp_path: Path) -> None:
    """Ten by four and a half inches at 150 dots an inch, not blank, and the file is what is returned."""
    plots = draw_plots(EVERY_KIND[kind](tmp_path))
    assert [plot.name for plot in plots] == NAMES
    for plot in plots:
        assert (tmp_path / "plots" / f"{plot.name}.png").read_bytes() == plot.png
        picture = pixels(plot.png)
        assert picture.shape[:2] == (675, 1500)
        assert picture[..., :3].std() > 0.02


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_words_go_with_every_plot(kind: str, tmp_path: Path) -> None:
    """Title, caption and alternative text are there and show no placeholder for a missing number."""
    for plot in draw_plots(EVERY_KIND[kind](tmp_path)):
        for words in (plot.title, plot.caption, plot.alt):
            assert len(words) > 15
            assert not {"nan", "None", "inf"} & set(words.replace(",", " ").split())


def test_titles_say_what_is_to_be_seen(tmp_path: Path) -> None:
    """The title of the story is the finding, with its numbers."""
    titles = {kind: by_name(draw_plots(EVERY_KIND[kind](tmp_path)))["story"].title for kind in EVERY_KIND}
    assert titles["trapped"].startswith("Trapped: demand fell back to 63.7/s, retries keep ingress at 190/s")
    assert titles["recovered"] == "Goodput came back 9,777 s after the spike ended"
    assert titles["healthy"] == "Goodput kept up with demand"
    assert titles["cut"] == "Whether goodput comes back is not settled within this run"
    assert titles["empty"] == "Nothing was recorded"


@pytest.mark.parametrize("column", ["wait_s", "goodput_per_s", "amplification", "latency_p50_s"])
def test_a_column_without_numbers_is_left_out(column: str, tmp_path: Path) -> None:
    """A column of NaN, or none at all, costs its line and nothing else."""
    result = trapped(tmp_path)
    draw_plots(replace(result, series=result.series.assign(**{column: np.nan})))
    draw_plots(replace(result, series=result.series.drop(columns=column)))


def test_the_band_is_shaded(tmp_path: Path) -> None:
    """The wait with its band is another picture than the one without, and its caption explains the shade."""
    plain, banded = (draw_wait(kind(tmp_path)) for kind in (recovered, with_bands))
    difference = np.abs(pixels(plain.png) - pixels(banded.png)).max(axis=-1)
    assert (difference > 0.05).mean() > 0.02
    assert "nine of ten simulated runs" in banded.caption
    assert "simulated" not in plain.caption


def test_an_infinite_wait_is_a_gap(tmp_path: Path) -> None:
    """The fluid wait is infinite while there is no capacity at all; the axis stays finite."""
    result = trapped(tmp_path)
    fluid = result.prediction.fluid
    assert fluid is not None
    wait = np.where(fluid.t_s > 3000, np.inf, fluid.wait_s)
    draw_plots(replace(result, prediction=replace(result.prediction, fluid=replace(fluid, wait_s=wait))))


def test_endless_retries_have_no_line(tmp_path: Path) -> None:
    """With m = ∞ there is no highest number of attempts to draw."""
    result = trapped(tmp_path)
    client = replace(result.experiment.client, max_attempts=float("inf"))
    plots = by_name(draw_plots(replace(result, experiment=replace(result.experiment, client=client))))
    assert "any number of attempts" in plots["amplification"].title


@pytest.mark.parametrize("name", ["$\\frac{", "<b>spike</b>", "ト\u202e💥", "", "x" * 500, "two\nlines"])
def test_any_phase_name_can_be_drawn(name: str, tmp_path: Path) -> None:
    """Names are text: no formula, no missing glyph, no line of their own."""
    result = trapped(tmp_path)
    phases = tuple(replace(phase, name=name) for phase in result.experiment.demand.phases)
    demand = replace(result.experiment.demand, phases=phases)
    draw_plots(replace(result, experiment=replace(result.experiment, demand=demand)))


def test_many_short_phases_can_be_drawn(tmp_path: Path) -> None:
    """A ramp of forty steps has no room for its names and is drawn without them."""
    result = trapped(tmp_path)
    phases = tuple(Phase(f"step {i}", 30, 1 + i / 10) for i in range(40))
    demand = replace(result.experiment.demand, phases=phases)
    draw_plots(replace(result, experiment=replace(result.experiment, demand=demand)))


def test_words_are_cut_and_cleaned() -> None:
    """Long names end in an ellipsis and what the font lacks becomes a question mark."""
    assert drawable("a" * 50, 10) == "a" * 9 + "…"
    assert drawable("spike 💥") == "spike ?"
    assert drawable("Aρ ≥ 1") == "Aρ ≥ 1"


def test_states_follow_one_another(tmp_path: Path) -> None:
    """Healthy, failing, recovered: from the measured times, without gaps, to the end of the run."""
    spans = state_spans(recovered(tmp_path))
    assert [word for _, _, word in spans] == ["healthy", "failing", "recovered"]
    assert all(left[1] == right[0] for left, right in pairwise(spans))
    assert (spans[0][0], spans[-1][1]) == (0.0, 12_400.0)
    assert spans[1][1] == pytest.approx(400 + 9777, abs=1)
    assert [word for _, _, word in state_spans(healthy(tmp_path))] == ["healthy"]
    assert [word for _, _, word in state_spans(cut(tmp_path))] == ["not known"]
    assert [word for _, _, word in state_spans(empty(tmp_path))] == ["not known"]


def test_a_capacity_cut_is_not_called_a_spike(tmp_path: Path) -> None:
    """When capacity was the trigger, the story does not say that demand fell back."""
    phases = (Phase("baseline", 120), Phase("one pod left", 240, 1.0, 0.25), Phase("watch", 900))
    result = made_up(experiment(0.45, phases, None, "cut"), "trapped", tmp_path)
    title = draw_plots(result)[0].title
    assert title.startswith("Trapped: capacity came back, retries keep ingress at 21")
    assert headline(result) == "TRAPPED: it stayed down after the capacity cut was gone"


def test_both_recoveries_are_marked(tmp_path: Path) -> None:
    """The measured and the predicted recovery are marks; a trapped run without shedding has none."""
    assert [moment.predicted for moment in recoveries(trapped(tmp_path))] == [False, True]
    assert recoveries(healthy(tmp_path)) == []


def test_a_recovery_that_shedding_overtook_is_not_marked(tmp_path: Path) -> None:
    """A predicted recovery after the end of the watch gives way to the one that shedding brings."""
    sound = trapped(tmp_path)
    values = {**sound.prediction.values, "recovery_s": 1300.0}
    marks = recoveries(replace(sound, prediction=replace(sound.prediction, values=values)))
    assert marks[1].words == "predicted recovery: 2,208 s after shedding began"


def test_global_plot_state_is_left_alone(tmp_path: Path) -> None:
    """Whoever plots in the same process keeps their settings."""
    # Reading "backend" makes matplotlib choose one, which is not the plots' doing.
    names = [name for name in mpl.rcParams if name != "backend"]
    before = {name: mpl.rcParams[name] for name in names}
    draw_plots(healthy(tmp_path))
    assert {name: mpl.rcParams[name] for name in names} == before


def test_the_forecast_says_how_its_axes_are_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long wait has an axis that is not linear, and says so; the rates are those of the fluid model."""
    figures = []
    monkeypatch.setattr(forecast, "png_of", lambda figure: figures.append(figure) or b"")
    for scenario in (kit(0.4), kit(0.2)):
        forecast.draw_forecast(scenario, predict(scenario))
    said = [[text.get_text() for text in figure.axes[0].texts] for figure in figures]
    assert said == [[forecast.AXIS_NOTE], []]
    assert all("fluid model" in figure.axes[1].get_ylabel() for figure in figures)


def test_the_forecast_of_a_defended_scenario_is_that_of_its_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their median and their rates; without them there is nothing to draw, and that is said."""
    figures = []
    monkeypatch.setattr(forecast, "png_of", lambda figure: figures.append(figure) or b"")
    trap = kit(0.4)
    guarded = replace(trap, client=replace(trap.client, budget=RatioBudget(0.1)))
    known = predict(guarded)
    bare = forecast.draw_forecast(guarded, known)
    assert bare.title == "No prediction: nothing was simulated"
    assert next(text.get_text() for text in figures[0].axes[0].texts) == "nothing was simulated"
    drawn = forecast.draw_forecast(guarded, seeds_of(known, simulate_bands(guarded, range(1, 4))))
    assert drawn.title.startswith("Predicted: recovery after")
    assert drawn.caption.endswith("the median, and 5–95% of simulated runs.")
    wait, rates = figures[1].axes[:2]
    assert "median" in [line.get_label() for line in wait.lines]
    assert [line.get_label() for line in rates.lines] == ["ingress", "demand", "goodput", "capacity"]
    assert rates.get_ylabel() == "mean of the seeds, per second"
