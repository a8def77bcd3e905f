"""The pods of a fleet against the prediction: how many there were at most, and how many in the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from analysis.chance import band_text, is_band
from analysis.result import Check, Measurement, Prediction

LEAST_PODS = 2.0
"""Without a tolerance of its own an autoscaler follows every chance peak of its signal: a pod or two."""
SHARE = 0.1
CHECKED = ("peak_pods", "settled_pods")
NO_PODS = "the target told nothing of its pods"


def fleet_checks(prediction: Prediction, measurement: Measurement) -> Iterator[Check]:
    """One check for each of ``CHECKED`` that is predicted: within two pods, or 10%, or the band of chance."""
    for key in CHECKED:
        predicted, measured = prediction.values.get(key), measurement.values.get(key)
        if predicted is None:
            continue
        allowed = max(LEAST_PODS, SHARE * predicted)
        if measured is None:
            yield Check(key, predicted, None, allowed, False, absolute=True, why=NO_PODS)
            continue
        near = abs(measured - predicted) <= allowed * (1 + 1e-9)
        yield _by_chance(Check(key, predicted, measured, allowed, near, absolute=True), measured, prediction)


def _by_chance(check: Check, measured: float, prediction: Prediction) -> Check:
    """What is farther off is no disagreement if nine simulated runs of ten reach as far."""
    band = prediction.bands.values.get(check.name) if prediction.bands else None
    if check.passed or not is_band(band):
        return check
    inside = band.holds(measured)
    where = "inside" if inside else "and outside"
    return replace(
        check,
        passed=inside,
        why=f"outside the tolerance, {'but ' if inside else ''}{where} {band_text(band, 'pods')}"
        ", the band of chance",
    )
