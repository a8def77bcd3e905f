"""The table of a prediction: laws, fluid model and band, one line a quantity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table

from analysis.chance import too_few
from analysis.result import QUANTITIES, Prediction, Values
from analysis.spread import shed_recovery_sd_s
from analysis.trap import decided_by_law, failing_amplification
from analysis.wording import ABSENT, number
from domain.experiment import Experiment

if TYPE_CHECKING:
    from rich.console import Console

SIGMAS_OF_BAND = 1.645
"""Standard deviations from the mean to the 5% and the 95% quantile of a normal value."""
SPACE = 2
WIDEST = 1000
LEAST_MEANING = 30
"""A column of meanings narrower than this is not worth its lines: they then go below the table."""
KNOWN_BY_LAW = ("utilization", "capacity_per_s", "demand_per_s")
"""What the scenario itself says, whatever its defences do."""
BEFORE_THE_TRIGGER = (
    "failed_after_s counts from the start of the trigger; it is below 0 where an attempt sent before that "
    "is the first to fail, as those that wait when an outage begins do."
)
Quantiles = tuple[float, ...]


def diffusion_bands(experiment: Experiment, prediction: Prediction) -> dict[str, Quantiles]:
    """5%, 50% and 95% of the times of recovery by the diffusion approximation: mean ± 1.645 sd.

    None for service times of infinite variance, whose sums follow no normal law, nor where the band would
    reach below 0: there the figure is noise.
    """
    if experiment.service is None or experiment.service.service_time.is_wild:
        return {}
    spreads = {
        "recovery_s": prediction.recovery_sd_s,
        "shed_recovery_s": shed_recovery_sd_s(experiment, prediction) if prediction.values else None,
    }
    bands: dict[str, Quantiles] = {}
    for key, sd in spreads.items():
        mean = prediction.values.get(key)
        if sd is not None and mean is not None and SIGMAS_OF_BAND * sd < mean:
            half = SIGMAS_OF_BAND * sd
            bands[key] = (mean - half, mean, mean + half)
    return bands


def print_prediction(out: Console, experiment: Experiment, prediction: Prediction) -> None:
    """The table, with as much beside the numbers as the width allows and the rest below; nothing is cut."""
    units = _width(out, _table(experiment, prediction, units=True)) <= out.width
    table = _table(experiment, prediction, units=units)
    room = out.width - _width(out, table) - SPACE
    if units and room >= LEAST_MEANING:
        out.print(_table(experiment, prediction, units=True, meanings=True))
    else:
        # A screen narrower than the numbers wraps the lines itself: that loses no digit.
        screen, out.width = out.width, max(out.width, _width(out, table))
        out.print(table)
        out.width = screen
        out.print()
        out.print(_legend(experiment, prediction, units=not units))
        out.print()
    for remark in _remarks(prediction):
        out.print(remark)


def _table(experiment: Experiment, prediction: Prediction, *, units: bool, meanings: bool = False) -> Table:
    """One line a quantity; the quantiles of simulated seeds if there are any, else of the diffusion."""
    bands = prediction.bands
    headings, quantiles = _quantiles(experiment, prediction)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, SPACE, 0, 0))
    table.add_column("quantity", style="cyan", no_wrap=True)
    law = "law" if prediction.simulated else "fluid or law"
    for heading in (law, *headings, *(("seeds",) if bands else ())):
        table.add_column(heading, justify="right", no_wrap=True)
    if units:
        table.add_column("unit", no_wrap=True)
    if meanings:
        table.add_column("meaning")
    known = _known(experiment, prediction)
    for key in _shown(experiment, prediction):
        unit, meaning = QUANTITIES[key]
        band = quantiles.get(key, ())
        cells = [number(known.get(key), 4)]
        cells += [number(value, 4) for value in band] or [ABSENT] * len(headings)
        if bands:
            cells.append(str(bands.values[key].count) if band else "0")
        cells += ["" if unit == "1" else unit] if units else []
        table.add_row(key, *cells, *([meaning] if meanings else []))
    return table


def _quantiles(experiment: Experiment, prediction: Prediction) -> tuple[list[str], dict[str, Quantiles]]:
    """What to show of chance: of seeds too few for a band, their median alone."""
    bands = prediction.bands
    if bands is None:
        band = diffusion_bands(experiment, prediction)
        return (["5%", "median", "95%"] if band else []), band
    if too_few(bands):
        return ["median"], {key: (band.median,) for key, band in bands.values.items()}
    values: dict[str, Quantiles] = {
        key: (band.low, band.median, band.high) for key, band in bands.values.items()
    }
    return ["5%", "median", "95%"], values


def _known(experiment: Experiment, prediction: Prediction) -> Values:
    """The column of law and fluid model; of a simulated prediction only what no seed is needed for."""
    if not prediction.simulated:
        return prediction.values
    known: Values = {key: prediction.values.get(key) for key in KNOWN_BY_LAW}
    if decided_by_law(experiment):
        amplification, utilization = failing_amplification(experiment), known["utilization"]
        known["amplification"] = amplification
        known["amplified_utilization"] = None if utilization is None else amplification * utilization
    return known


def _shown(experiment: Experiment, prediction: Prediction) -> Iterator[str]:
    measured, known = prediction.bands.values if prediction.bands else {}, _known(experiment, prediction)
    return (key for key in QUANTITIES if known.get(key) is not None or key in measured)


def _legend(experiment: Experiment, prediction: Prediction, *, units: bool) -> Table:
    """The meanings of the quantities, and their units if the table had no room for them."""
    legend = Table.grid(padding=(0, SPACE, 0, 0))
    legend.add_column(style="cyan", no_wrap=True)
    legend.add_column()
    for key in _shown(experiment, prediction):
        unit, meaning = QUANTITIES[key]
        legend.add_row(key, f"{meaning} ({unit})" if units and unit != "1" else meaning)
    return legend


def _width(out: Console, table: Table) -> int:
    """Columns that the table takes if there is no limit."""
    return out.measure(table, options=out.options.update(max_width=WIDEST)).maximum


def _remarks(prediction: Prediction) -> Iterator[str]:
    before, bands = prediction.values.get("failed_after_s"), prediction.bands
    if bands is not None and "failed_after_s" in bands.values and not too_few(bands):
        before = min(bands.values["failed_after_s"].low, before or 0.0)
    if before is not None and before < 0:
        yield BEFORE_THE_TRIGGER
