"""The table of a prediction: laws, fluid model and band, one line a quantity."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from analysis.result import QUANTITIES, Prediction
from analysis.spread import shed_recovery_sd_s
from analysis.wording import ABSENT, number
from domain.experiment import Experiment

if TYPE_CHECKING:
    from analysis.simulation.bands import Bands

SIGMAS_OF_BAND = 1.645
"""Standard deviations from the mean to the 5% and the 95% quantile of a normal value."""
Quantiles = tuple[float, float, float]


def diffusion_bands(experiment: Experiment, prediction: Prediction) -> dict[str, Quantiles]:
    """5%, 50% and 95% of the times of recovery by the diffusion approximation: mean ± 1.645 sd."""
    spreads = {
        "recovery_s": prediction.recovery_sd_s,
        "shed_recovery_s": shed_recovery_sd_s(experiment, prediction) if prediction.values else None,
    }
    bands = {}
    for key, sd in spreads.items():
        mean = prediction.values.get(key)
        if sd is not None and mean is not None:
            half = SIGMAS_OF_BAND * sd
            bands[key] = (max(0.0, mean - half), mean, mean + half)
    return bands


def prediction_table(experiment: Experiment, prediction: Prediction) -> Table:
    """One line a quantity; the quantiles of simulated seeds if there are any, else of the diffusion."""
    bands = prediction.bands
    quantiles = _simulated(bands) if bands else diffusion_bands(experiment, prediction)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("quantity", style="cyan", no_wrap=True)
    table.add_column("fluid or law", justify="right", no_wrap=True)
    for heading in ("5%", "median", "95%") if quantiles else ():
        table.add_column(heading, justify="right", no_wrap=True)
    if bands:
        table.add_column("seeds", justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    table.add_column("meaning")
    for key, (unit, meaning) in QUANTITIES.items():
        predicted, band = prediction.values.get(key), quantiles.get(key)
        if predicted is None and band is None:
            continue
        cells = [number(predicted, 4)]
        if quantiles:
            cells += [number(value, 4) for value in band] if band else [ABSENT] * 3
        if bands:
            cells.append(str(bands.values[key].count) if band else "0")
        table.add_row(key, *cells, "" if unit == "1" else unit, meaning)
    return table


def _simulated(bands: Bands) -> dict[str, Quantiles]:
    return {key: (band.low, band.median, band.high) for key, band in bands.values.items()}
