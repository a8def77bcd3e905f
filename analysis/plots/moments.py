"""When the service was in which state, read off the measured values."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.result import RunResult, Values
from analysis.wording import number, since_trigger


@dataclass(frozen=True)
class Moment:
    """A point in scenario time with the words for it."""

    t_s: float
    words: str
    predicted: bool


def state_spans(result: RunResult) -> list[tuple[float, float, str]]:
    """Stretches of the run as (start, end, ``healthy | failing | recovered | not known``)."""
    end = result.experiment.duration_s
    values = result.measurement.values
    if result.series.empty:
        return [(0.0, end, "not known")]
    failed_after = values.get("failed_after_s")
    if result.outcome == "healthy" or failed_after is None:
        return [(0.0, end, "not known" if result.outcome == "undecided" else "healthy")]
    failed = min(_trigger(result)[0] + failed_after, end)
    over = _recovery(result, values)
    over = end if over is None else min(max(over, failed), end)
    spans = [(0.0, failed, "healthy"), (failed, over, "failing"), (over, end, "recovered")]
    return [span for span in spans if span[1] > span[0]]


def recoveries(result: RunResult) -> list[Moment]:
    """The measured and the predicted recovery, those that fall inside the run."""
    both = (("measured", result.measurement.values), ("predicted", result.prediction.values))
    moments = []
    for word, values in both:
        t_s = _recovery(result, values)
        if t_s is not None and 0 <= t_s <= result.experiment.duration_s:
            words = f"{word} recovery: {_since(result, values)}"
            moments.append(Moment(t_s, words, word == "predicted"))
    return moments


def _trigger(result: RunResult) -> tuple[float, float]:
    return result.experiment.trigger or (0.0, 0.0)


def _since(result: RunResult, values: Values) -> str:
    recovery = _within_watch(result, values)
    if recovery is not None:
        return f"{number(recovery)} s {since_trigger(result)}"
    return f"{number(values.get('shed_recovery_s'))} s after shedding began"


def _within_watch(result: RunResult, values: Values) -> float | None:
    """``recovery_s``, unless it is what would have happened if nothing had been shed at the watch's end."""
    recovery, experiment = values.get("recovery_s"), result.experiment
    if recovery is None or experiment.shed is None:
        return recovery
    return recovery if _trigger(result)[1] + recovery <= experiment.shed[0] else None


def _recovery(result: RunResult, values: Values) -> float | None:
    recovery = _within_watch(result, values)
    if recovery is not None:
        return _trigger(result)[1] + recovery
    shed, shed_recovery = result.experiment.shed, values.get("shed_recovery_s")
    return shed[0] + shed_recovery if shed and shed_recovery is not None else None
