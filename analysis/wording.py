"""Numbers as people read them, and which of two values of a quantity to speak of."""

from __future__ import annotations

import math

from analysis.result import RunResult

ABSENT = "–"


def number(value: float | None, digits: int = 3) -> str:
    """``digits`` significant figures with thousands separators; "–" for what is not known, "∞" for ∞.

    Digits before the point are never rounded away: 9,742 stays 9,742.
    """
    if value is None or math.isnan(value):
        return ABSENT
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:,.{min(decimals, 9)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")


def seconds(value: float | None, digits: int = 3) -> str:
    """A duration with its unit, milliseconds below a second."""
    if value is None or not math.isfinite(value):
        return number(value)
    if 0 < abs(value) < 1:
        return f"{number(value * 1000, digits)} ms"
    return f"{number(value, digits)} s"


def percent(ratio: float | None) -> str:
    """A ratio as a percentage."""
    if ratio is None or not math.isfinite(ratio):
        return number(ratio)
    return f"{number(100 * ratio)}%"


def measured_else_predicted(result: RunResult, key: str) -> float | None:
    """What was measured of a quantity, or else what was predicted."""
    return _first_known(result.measurement.values.get(key), result.prediction.values.get(key))


def predicted_else_measured(result: RunResult, key: str) -> float | None:
    """What was predicted of a quantity, or else what was measured."""
    return _first_known(result.prediction.values.get(key), result.measurement.values.get(key))


def trigger_name(result: RunResult) -> str:
    """What the scenario calls its trigger; "capacity cut" if it is one, whatever the phase is called."""
    triggers = [phase for phase in result.experiment.demand.phases if phase.role == "trigger"]
    if triggers and all(phase.factor <= 1 for phase in triggers):
        return "capacity cut"
    return triggers[0].name if len(triggers) == 1 else "trigger"


def since_trigger(result: RunResult) -> str:
    """What recovery is counted from: the end of the trigger, the start of a step that stays, or the start of
    a run that has neither."""
    if result.experiment.step_s is not None:
        return f"after the {trigger_name(result)} began"
    return f"after the {trigger_name(result)} ended" if result.experiment.trigger else "after the run began"


def _first_known(*values: float | None) -> float | None:
    return next((value for value in values if value is not None and not math.isnan(value)), None)
