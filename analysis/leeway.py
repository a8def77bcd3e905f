"""What a band of chance allows a check, and what it does not.

The scenario's tolerance is about the figure of the fluid model; the band is what chance does to a run of
just these rates and this length. A time outside the tolerance but inside the band is therefore no
disagreement. Three things keep that honest: a band of few seeds, of seeds that do not all have such a time,
or wider than its own median excuses nothing, for there chance decides and agreement would mean nothing; a
figure that the scenario expects is excused only if the band holds it; and the check says what it did.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.chance import band_text, seeds_text, tally
from analysis.result import Check, Prediction
from analysis.seeds import FEWEST_SEEDS
from domain.experiment import Experiment

if TYPE_CHECKING:
    from analysis.simulation.bands import Band, Bands

WIDEST = 1.0
"""A band may be this many times its median wide and still tell agreement from disagreement."""
MOST_SHARE = 0.9
"""Share of the seeds that must have a value for its band to be that of a run as such."""
_EXPECTED = "_expected"
TIMES = ("recovery_s", "shed_recovery_s")
"""What a band may excuse."""


def with_leeway(check: Check, prediction: Prediction, *, speedup: float = 1.0) -> Check:
    """The check with its band; the check of a time of recovery is judged by it as well.

    ``speedup`` is that of the run: advice to lower it makes no sense at 1.
    """
    bands = prediction.bands
    if bands is None:
        return check
    if check.name in ("outcome", "after_shed"):
        counts = bands.outcomes if check.name == "outcome" else bands.after_shed
        return replace(check, why=_joined(check.why, f"simulated: {tally(counts)}")) if counts else check
    key = check.name.removesuffix(_EXPECTED)
    band = bands.values.get(key)
    if band is None:
        return check
    check = replace(check, low=band.low, high=band.high)
    if key not in TIMES:
        return check
    doubt = _doubt(band, bands, speedup)
    if len(bands.seeds) < FEWEST_SEEDS:
        return replace(check, why=_joined(check.why, doubt))
    return _judged(check, band, bands, doubt)


def is_expected(check: Check, experiment: Experiment) -> bool:
    """Whether ``check.predicted`` is the scenario's own word rather than that of a model or of seeds."""
    word = check.name in ("outcome", "after_shed") and experiment.expect is not None
    return word or check.name.endswith(_EXPECTED)


def in_most_seeds(band: Band, bands: Bands) -> bool:
    """Whether nearly every seed has the value."""
    return band.count >= MOST_SHARE * len(bands.seeds)


def _judged(check: Check, band: Band, bands: Bands, doubt: str) -> Check:
    span = f"the band of chance, {band_text(band, 's')} (5–95% of {seeds_text(bands)})"
    if not isinstance(check.measured, int | float) or not isinstance(check.predicted, int | float):
        return replace(check, why=_joined(check.why, doubt or f"chance makes it {band_text(band, 's')}"))
    inside = band.holds(check.measured)
    alien = check.name.endswith(_EXPECTED) and not band.holds(check.predicted)
    if check.passed:
        words = f"inside {span}" if inside else f"inside the tolerance but outside {span}: one run in ten is"
        return replace(check, why=_joined(check.why, words, doubt))
    if not inside:
        return replace(check, why=_joined(check.why, f"outside the tolerance and outside {span}", doubt))
    if doubt:
        return replace(check, why=_joined(check.why, f"outside the tolerance, though inside {span}", doubt))
    if alien:
        return replace(check, why=_joined(check.why, f"{span}, does not hold the expected figure"))
    aside = "" if band.holds(check.predicted) else "; the fluid model's figure is outside it"
    words = f"outside the tolerance, but inside {span}: no more than chance does to this very run{aside}"
    return replace(check, passed=True, why=_joined(check.why, words))


def _doubt(band: Band, bands: Bands, speedup: float) -> str:
    """Why agreement with this band would mean little; nothing if it means something."""
    seeds = len(bands.seeds)
    if seeds < FEWEST_SEEDS:
        return f"chance cannot be told from {'one seed' if seeds == 1 else f'{seeds} seeds'}"
    if not in_most_seeds(band, bands):
        return f"chance decides: only {band.count} of {seeds} seeds have such a time"
    if band.high - band.low > WIDEST * band.median:
        more = "lower the speed-up" if speedup > 1 else "a longer timeout or more capacity is needed"
        return f"chance decides: the band is wider than its median, so {more} to tell more"
    return ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
