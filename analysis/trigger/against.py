"""A finding beside an earlier one: what got better, what got worse, and what cannot be compared."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

from analysis.trigger.result import Interval, TriggerResult
from analysis.wording import number, percent, seconds
from domain.trigger.plan import TriggerPlan

Word = Literal["better", "same", "worse", "not compared"]

TOLERANCE = 0.10
"""Two values without intervals are the same if they differ by no more than this share of the earlier."""

_RANKS = {"not vulnerable": 0, "recovers": 1, "recovers slowly": 2, "trapped": 3}


@dataclass(frozen=True, slots=True)
class Change:
    """One quantity of both findings, in words, and which way it went."""

    name: str
    before: str
    now: str
    word: Word
    why: str = ""
    before_value: float | None = None
    now_value: float | None = None
    """The values without their errors, in the result's own units; None for the verdict and what is not
    known."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """``differences``: why the two tests are not the same test; then there are no ``changes``."""

    differences: tuple[str, ...]
    changes: tuple[Change, ...]

    @property
    def comparable(self) -> bool:
        """Whether both are the same test."""
        return not self.differences

    @property
    def nothing_compared(self) -> bool:
        """Whether not a single quantity could be compared: whoever asks for a comparison has none then."""
        return all(change.word == "not compared" for change in self.changes)

    @property
    def failed(self) -> bool:
        """Whether it is a finding: something got worse, or nothing could be compared."""
        return self.nothing_compared or bool(self.worse)

    @property
    def worse(self) -> tuple[Change, ...]:
        """What got worse."""
        return tuple(change for change in self.changes if change.word == "worse")


def compare(
    plan: TriggerPlan, result: TriggerResult, earlier_plan: TriggerPlan, earlier: TriggerResult
) -> Comparison:
    """The finding against an earlier one of the same test.

    A quantity has changed if the intervals of its two values do not overlap; without intervals, if it moved
    by more than ``TOLERANCE``.
    """
    differences = tuple(_differences(plan, result, earlier_plan, earlier))
    return Comparison(differences, () if differences else tuple(_changes(plan, result, earlier)))


def summary(comparison: Comparison) -> str:
    """The comparison in one sentence."""
    if not comparison.comparable:
        why = "; ".join(comparison.differences)
        return f"Nothing could be compared with the earlier result: {why}."
    if comparison.worse:
        return "WORSE than the earlier result: " + ", ".join(c.name for c in comparison.worse) + "."
    better = [change.name for change in comparison.changes if change.word == "better"]
    if better:
        return "Better than the earlier result: " + ", ".join(better) + "; nothing got worse."
    if comparison.nothing_compared:
        return "Nothing could be compared with the earlier result."
    decided = all(change.word != "not compared" for change in comparison.changes if change.name == "verdict")
    partly = "" if decided else ", as far as an undecided test can be compared"
    return f"The same as the earlier result, within the error of both{partly}."


def _differences(
    plan: TriggerPlan, result: TriggerResult, earlier_plan: TriggerPlan, earlier: TriggerResult
) -> Iterator[str]:
    if plan.client != earlier_plan.client:
        yield f"the clients differ ({', '.join(_fields_that_differ(plan.client, earlier_plan.client))})"
    if plan.mix != earlier_plan.mix:
        yield "the requests differ, or what counts as success"
    for name, now, before, words in (
        ("utilization", plan.utilization, earlier_plan.utilization, percent),
        ("dose", plan.dose, earlier_plan.dose, number),
        ("spike", plan.spike_s, earlier_plan.spike_s, seconds),
    ):
        if now != before:
            yield f"the {name} was {words(before)} then and is {words(now)} now"
    for which, one in (("earlier", earlier), ("present", result)):
        if one.invalid_reasons:
            yield f"the {which} test is invalid"
        elif not one.shots:
            yield f"the {which} test made no push"


def _fields_that_differ(now: object, before: object) -> list[str]:
    names = type(now).__dataclass_fields__  # type: ignore[attr-defined]
    return [name for name in names if getattr(now, name) != getattr(before, name)]


def _changes(plan: TriggerPlan, result: TriggerResult, earlier: TriggerResult) -> Iterator[Change]:
    yield _verdict_change(result, earlier)
    now, before = result.shots[0], earlier.shots[0]
    yield _change("amplification A", before.amplification, now.amplification, number, lower_is_better=True)
    yield _change("threshold", earlier.threshold, result.threshold, percent, lower_is_better=False)
    if result.capacity_given or earlier.capacity_given:
        yield Change("capacity", "–", "–", "not compared", "it was given, not measured")
    else:
        yield _change(
            "capacity, attempts/s",
            earlier.capacity_per_s,
            result.capacity_per_s,
            number,
            lower_is_better=False,
        )
    yield _change(
        "time to recover",
        recovery(plan, earlier),
        recovery(plan, result),
        seconds,
        lower_is_better=True,
    )


def _verdict_change(result: TriggerResult, earlier: TriggerResult) -> Change:
    now, before = _graded(result), _graded(earlier)
    if now not in _RANKS or before not in _RANKS:
        return Change("verdict", before, now, "not compared", "an undecided test says nothing")
    step = _RANKS[now] - _RANKS[before]
    return Change("verdict", before, now, "worse" if step > 0 else "better" if step < 0 else "same")


def _graded(result: TriggerResult) -> str:
    return "recovers slowly" if result.verdict == "recovers" and result.slowly else result.verdict


def recovery(plan: TriggerPlan, result: TriggerResult) -> Interval | None:
    """Seconds to recover at the asked utilization, with what chance alone makes of it; None if not seen.

    A backlog of D = dose·T that drains at 1 − Aρ takes D/(1 − Aρ) with standard deviation
    √(D σ²/(1 − Aρ)³); the variance of work per second is σ² = Aρ (A + 1)/C when jobs arrive at random, bring
    A attempts each, and service times are exponential. Without A or C the interval is the value itself.
    """
    shot = result.shots[0]
    if shot.recovered_s is None:
        return None
    exact = Interval(shot.recovered_s, shot.recovered_s, shot.recovered_s)
    load, capacity = shot.amplified_utilization, result.capacity_per_s
    if load is None or shot.amplification is None or capacity is None or not 0 < load.value < 1:
        return exact
    depth_s = shot.dose * plan.client.timeout_s
    variance = load.value * (shot.amplification.value + 1) / capacity.value
    spread = math.sqrt(depth_s * variance / (1 - load.value) ** 3)
    reach = NormalDist().inv_cdf(0.5 + result.confidence / 2) * spread
    return Interval(shot.recovered_s, max(0.0, shot.recovered_s - reach), shot.recovered_s + reach)


def _change(
    name: str,
    before: Interval | None,
    now: Interval | None,
    words: Callable[[float | None], str],
    *,
    lower_is_better: bool,
) -> Change:
    texts = _text(before, words), _text(now, words)
    values = _value(before), _value(now)
    if before is None or now is None:
        absent = [which for which, one in (("earlier", before), ("present", now)) if one is None]
        why = f"not known of the {' and the '.join(absent)} test"
        return Change(name, *texts, "not compared", why, *values)
    word: Word = "same"
    if _changed(before, now):
        word = "better" if (now.value < before.value) == lower_is_better else "worse"
    return Change(name, *texts, word, "", *values)


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value


def _changed(before: Interval, now: Interval) -> bool:
    """Whether two values differ by more than their errors."""
    if before.low == before.high or now.low == now.high:
        outside = now.high < before.low or now.low > before.high
        return outside and abs(now.value - before.value) > TOLERANCE * abs(before.value)
    return now.high < before.low or now.low > before.high


def _text(interval: Interval | None, words: Callable[[float | None], str]) -> str:
    if interval is None:
        return words(None)
    if interval.low == interval.high:
        return words(interval.value)
    return f"{words(interval.value)} ({words(interval.low)} to {words(interval.high)})"
