"""What bands of chance mean: in words, as notes on a prediction, and as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, TypeGuard, cast

from analysis.result import Outcome, Prediction
from analysis.seeds import FEWEST_SEEDS
from analysis.wording import number, seconds

if TYPE_CHECKING:  # to simulate takes pandas and numba, to speak of it does not
    from analysis.simulation.bands import Band, Bands

BIASED = 0.05
"""From this relative distance on, a simulated median is said to differ from the fluid model's figure."""
CERTAINTY = 0.95
_SIGMAS_OF_BAND = 3.29
_MEDIAN_ERROR = 1.2533
"""Standard error of a median of n normal values, over that of their mean."""
_ENDS = {
    "healthy": ("stays healthy", "stay healthy"),
    "recovered": ("recovers", "recover"),
    "trapped": ("is trapped", "are trapped"),
    "undecided": ("is left undecided", "are left undecided"),
}


def with_bands(prediction: Prediction, bands: Bands) -> Prediction:
    """The prediction with its bands, and with notes on where they and the fluid model part."""
    if prediction.simulated:
        return _by_seeds(prediction, bands)
    return replace(prediction, bands=bands, notes=(*prediction.notes, *_notes(prediction, bands)))


def _by_seeds(prediction: Prediction, bands: Bands) -> Prediction:
    """The most frequent outcome and, of what it has, the medians; what was known before stays."""
    outcome = max(bands.outcomes, key=lambda word: bands.outcomes[word])
    absent = set() if outcome in ("recovered", "undecided") else {"recovery_s"}
    if outcome == "healthy":
        absent |= {"failed_after_s", "amplification", "amplified_utilization"}
    values = dict(prediction.values)
    for key, band in bands.values.items():
        if key not in absent and 2 * band.count >= len(bands.seeds) and values.get(key) is None:
            values[key] = band.median
    recovery = bands.values.get("recovery_s")
    deviation = (recovery.high - recovery.low) / _SIGMAS_OF_BAND if is_band(recovery) else None
    return replace(
        prediction, outcome=cast("Outcome", outcome), values=values, recovery_sd_s=deviation, bands=bands
    )


def seeds_text(bands: Bands) -> str:
    """Which seeds these are: "seeds 1 to 40"."""
    first, last = bands.seeds[0], bands.seeds[-1]
    return f"seed {first}" if len(bands.seeds) == 1 else f"seeds {first} to {last}"


def is_band(band: Band | None) -> TypeGuard[Band]:
    """Whether so many seeds have the value that its 5% and 95% quantiles mean something."""
    return band is not None and band.count >= FEWEST_SEEDS


def contested(prediction: Prediction) -> bool:
    """Whether some simulated seed ends otherwise than the fluid model says."""
    bands = prediction.bands
    return bands is not None and set(bands.outcomes) != {prediction.outcome}


def too_few(bands: Bands) -> str:
    """That there is no band, if there are too few seeds for one."""
    count = len(bands.seeds)
    if count >= FEWEST_SEEDS:
        return ""
    seeds = "One seed is" if count == 1 else f"{count} seeds are"
    return f"{seeds} too few for a band of chance; --seeds {FEWEST_SEEDS} or more give one."


def tally(counts: Mapping[str, int]) -> str:
    """How the seeds end: "28 of 40 seeds recover, 12 are trapped"; the most frequent first."""
    total = sum(counts.values())
    ends = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    (word, count), *rest = ends
    if total == 1:
        return f"the only seed {_end(word, 1)}"
    of = f"all {total} seeds" if count == total else f"{count} of {total} seeds"
    return ", ".join([f"{of} {_end(word, total)}", *(f"{n} {_end(other, n)}" for other, n in rest)])


def band_text(band: Band, unit: str = "") -> str:
    """The 5% and the 95% quantile: "8,738 to 11,868 s"."""
    return f"{number(band.low)} to {number(band.high)}" + (f" {unit}" if unit else "")


def meaning(bands: Bands, since: str) -> list[str]:
    """What the bands say of a single run; ``since`` is what a recovery is counted from."""
    sentences = [_ending(bands)]
    if few := too_few(bands):
        return [*sentences, few]
    recovery, shed = bands.values.get("recovery_s"), bands.values.get("shed_recovery_s")
    if is_band(recovery):
        sentences.append(_quantiles("recovers", recovery, since, bands.share("recovered") < 1))
    if is_band(shed):
        every = bands.after_shed.get("recovered", 0) == sum(bands.after_shed.values())
        sentences.append(_quantiles("is freed", shed, "shedding begins", not every))
    return sentences


def to_json(bands: Bands | None) -> dict[str, Any] | None:
    """Plain values: seeds, outcomes, and for each quantity its quantiles and the seeds that have one."""
    if bands is None:
        return None
    return {
        "seeds": list(bands.seeds),
        "outcomes": dict(bands.outcomes),
        "after_shed": dict(bands.after_shed),
        "values": {key: asdict(band) for key, band in bands.values.items()},
    }


def _end(outcome: str, count: int) -> str:
    singular, plural = _ENDS[outcome]
    return singular if count == 1 else plural


def _ending(bands: Bands) -> str:
    seeds = tally(bands.outcomes)
    if too_few(bands):
        return f"{seeds[0].upper()}{seeds[1:]}."
    if len(bands.outcomes) > 1:
        words = sorted(bands.outcomes, key=lambda word: (-bands.outcomes[word], word))
        ends = ", ".join(f"{_ENDS[word][0]} with a chance of {bands.share(word):.0%}" for word in words)
        return f"Judging by {len(bands.seeds)} seeds, a single run {ends}."
    # n seeds alike: with this certainty the share of others is below 1 − (1 − certainty)^(1/n).
    rest = 1 - (1 - CERTAINTY) ** (1 / len(bands.seeds))
    return (
        f"{seeds[0].upper()}{seeds[1:]}: fewer than {math.ceil(100 * rest)}% of runs end in any other way "
        f"(with {CERTAINTY:.0%} confidence)."
    )


def _quantiles(verb: str, band: Band, since: str, some: bool) -> str:
    plural = {"recovers": "recover", "is freed": "are freed"}[verb]
    first = f"Of the runs that {plural} one in twenty is well" if some else f"One run in twenty {verb}"
    return (
        f"{first} in less than {seconds(band.low)} after {since}, one in twenty takes more than "
        f"{seconds(band.high)}; half take more than {seconds(band.median)}."
    )


def _notes(prediction: Prediction, bands: Bands) -> Iterator[str]:
    if len(bands.outcomes) > 1:
        yield f"Chance decides how a single run ends: {tally(bands.outcomes)} ({seeds_text(bands)})."
    elif prediction.outcome is not None and prediction.outcome not in bands.outcomes:
        yield (
            f"The fluid model says {prediction.outcome}, but in the request-level simulation "
            f"{tally(bands.outcomes)}."
        )
    for key, what in (("recovery_s", "recovery"), ("shed_recovery_s", "recovery by shedding")):
        band, fluid = bands.values.get(key), prediction.values.get(key)
        if is_band(band) and fluid and math.isfinite(fluid) and _differs(band, fluid):
            yield (
                f"The fluid limit is poor here: half of the {_of_which(band, bands)} take longer than "
                f"{seconds(band.median)} for their {what}, the fluid model says {seconds(fluid)}. "
                "Trust the band."
            )


def _of_which(band: Band, bands: Bands) -> str:
    total = len(bands.seeds)
    return "simulated runs" if band.count == total else f"{band.count} of {total} seeds that have one"


def _differs(band: Band, fluid: float) -> bool:
    """Whether the median is off by more than ``BIASED`` and by more than its own error explains."""
    error = _MEDIAN_ERROR * (band.high - band.low) / _SIGMAS_OF_BAND / math.sqrt(band.count)
    return abs(band.median - fluid) > max(BIASED * fluid, 2 * error)
