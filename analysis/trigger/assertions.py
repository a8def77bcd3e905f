"""Whether the finding is what a pipeline asks for: no evidence never passes."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.trigger.result import Interval, TriggerResult
from analysis.trigger.words import is_bisected, threshold_span, threshold_text
from analysis.wording import number, percent, seconds
from domain.trigger.assertions import Assertions

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class AssertionCheck:
    """One thing that was asked, what was found, and the sentence for it."""

    name: str
    asked: str
    found: str
    passed: bool
    why: str
    measured: float | str | None = None
    """What was found as a value: a verdict's word, a ratio, or seconds; None if it is not known."""


def check(result: TriggerResult, assertions: Assertions) -> tuple[AssertionCheck, ...]:
    """Every assertion that was made, judged; empty if none was.

    A utilization is judged by the threshold's value, not by the low end of its interval, which is said: what
    lies somewhat above what is asked would otherwise fail by chance. A bisected threshold is no estimate with
    an error: it is judged by its low end, the highest utilization at which the service was seen to come back.
    Besides, no push at or below that utilization may have ended trapped.
    """
    checks = []
    if assertions.verdicts:
        checks.append(_verdict(result, assertions.verdicts))
    if assertions.max_utilization is not None:
        checks.append(_utilization(result, assertions.max_utilization))
    if assertions.max_amplification is not None:
        checks.append(_amplification(result, assertions.max_amplification))
    if assertions.max_recovery_s is not None:
        checks.append(_recovery(result, assertions.max_recovery_s))
    return tuple(checks)


def _verdict(result: TriggerResult, accepted: tuple[str, ...]) -> AssertionCheck:
    asked = " or ".join(accepted)
    passed = result.verdict in accepted
    why = f"the verdict is {result.verdict}" + ("" if passed else f", and only {asked} is accepted")
    return AssertionCheck("verdict", asked, result.verdict, passed, why, result.verdict)


def _utilization(result: TriggerResult, asked: float) -> AssertionCheck:
    name, wanted, threshold = "max_utilization", f"at least {percent(asked)}", result.threshold
    if threshold is None:
        why = "up to which utilization it comes back is not known"
        return AssertionCheck(name, wanted, "not known", False, why)
    bisected = is_bisected(result)
    value = threshold.low if bisected else threshold.value
    found = percent(value)
    trapped = [
        shot.utilization
        for shot in result.shots
        if shot.verdict == "trapped" and shot.utilization <= asked + _ROUNDING
    ]
    if trapped:
        why = f"it was trapped at {percent(min(trapped))}, which is not above {percent(asked)}"
        return AssertionCheck(name, wanted, found, False, why, value)
    passed = value >= asked - _ROUNDING
    if bisected:
        why = f"its threshold lies {threshold_text(result)}; the lower end counts"
        return AssertionCheck(name, wanted, found, passed, why, value)
    why = f"it comes back up to {found}" + threshold_span(result)
    if threshold.low < asked < threshold.high:
        why += f"; that interval holds the {percent(asked)} asked for, so this is by the value alone"
    return AssertionCheck(name, wanted, found, passed, why, value)


def _amplification(result: TriggerResult, asked: float) -> AssertionCheck:
    name, wanted = "max_amplification", f"at most {number(asked)}"
    known = [shot.amplification for shot in result.shots if shot.amplification is not None]
    if not known:
        why = "the amplification could not be measured"
        return AssertionCheck(name, wanted, "not known", False, why)
    found = number(known[0].value)
    why = f"A is {found}" + _span(known[0], result.confidence)
    if known[0].low < asked < known[0].high:
        why += f"; that interval holds the {number(asked)} asked for, so this is by the value alone"
    return AssertionCheck(name, wanted, found, known[0].value <= asked + _ROUNDING, why, known[0].value)


def _recovery(result: TriggerResult, asked_s: float) -> AssertionCheck:
    name, wanted = "max_recovery_s", f"at most {seconds(asked_s)}"
    shot = result.shots[0] if result.shots else None
    if shot is None or shot.verdict in ("trapped", "undecided"):
        seen = "no push was made" if shot is None else f"it was {shot.verdict} after the push"
        return AssertionCheck(name, wanted, "not known" if shot is None else "never seen", False, seen)
    if shot.recovered_s is not None:
        found, why = shot.recovered_s, f"it failed until {seconds(shot.recovered_s)} after the push"
    elif shot.verdict == "not vulnerable":
        found, why = 0.0, "the push left no failure to recover from"
    elif shot.predicted_recovery_s is not None:
        found = shot.predicted_recovery_s
        why = f"{seconds(found)} is predicted from how fast the backlog drains; it was not waited for"
    else:
        why = "how long it takes to come back was neither seen nor can it be predicted"
        return AssertionCheck(name, wanted, "not known", False, why)
    return AssertionCheck(name, wanted, seconds(found), found <= asked_s + _ROUNDING, why, found)


def _span(interval: Interval, confidence: float) -> str:
    if interval.low == interval.high:
        return ""
    return f" ({number(interval.low)}–{number(interval.high)} at {percent(confidence)})"
