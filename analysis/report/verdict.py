"""The verdict in large words."""

from __future__ import annotations

from typing import Literal

from analysis.result import RunResult
from analysis.wording import number, trigger_name

Tone = Literal["bad", "good", "open"]


def tone(result: RunResult) -> Tone:
    """How the verdict is coloured; the words carry it too."""
    if not result.valid or result.outcome == "undecided":
        return "open"
    return "bad" if result.outcome == "trapped" else "good"


def headline(result: RunResult) -> str:
    """The outcome as one line in words."""
    name = trigger_name(result)
    took = result.measurement.values.get("recovery_s")
    after = f" after {number(took)} s" if took is not None else ""
    triggered = result.experiment.trigger is not None
    stood = f"the {name} did not tip it over" if triggered else "nothing tipped it over"
    fell = f"stayed down after the {name} was gone" if triggered else "went down and stayed down"
    if result.experiment.step_s is not None:
        pods = result.measurement.values.get("settled_pods")
        fell = "stayed down" + ("" if pods is None else f" at {number(pods)} pods")
    return {
        "healthy": f"HEALTHY: {stood}",
        "recovered": f"RECOVERED{after}",
        "trapped": f"TRAPPED: it {fell}",
        "undecided": "UNDECIDED: this run does not settle whether it comes back",
    }[result.outcome]


def subline(result: RunResult) -> str:
    """The sentence under the headline: what the number counts from, or what shedding did."""
    if result.outcome == "recovered":
        begin = f"end of the {trigger_name(result)}" if result.experiment.trigger else "start of the run"
        if result.experiment.step_s is not None:
            begin = f"start of the {trigger_name(result)}"
        return f"Counted from the {begin} to the last failing attempt."
    if result.outcome != "trapped":
        return ""
    return _after_shed(result)


def _after_shed(result: RunResult) -> str:
    freed = result.measurement.values.get("shed_recovery_s")
    match result.measurement.after_shed:
        case "recovered" if freed is not None:
            return f"Shedding demand brought it back: {number(freed)} s after shedding began."
        case "recovered":
            return "Shedding demand brought it back."
        case "trapped":
            return "Shedding demand did not bring it back either."
        case "undecided":
            return "Whether shedding demand brings it back is not settled by this run."
        case None if result.experiment.step_s is not None:
            return "Its pods are busy with requests that nobody waits for any more."
        case None:
            return "Nothing in this run lowered demand to free it."


def expectation(result: RunResult) -> str:
    """Whether what the scenario expected is what happened."""
    expect = result.experiment.expect
    if not result.valid:
        return "No expectation is judged on an invalid run."
    if expect is None:
        passed, made = sum(check.passed for check in result.checks), len(result.checks)
        checks = f" Of the {made} checks below, {passed} passed." if made else ""
        return f"The scenario states no expectation.{checks}"
    words: str = expect.outcome
    if expect.recover_s is not None:
        words += f" after {number(expect.recover_s)} s"
    if expect.after_shed is not None:
        words += f", and after shedding: {expect.after_shed}"
    source = f" Source of the expectation: {expect.source}." if expect.source else ""
    verdict = {True: "CONFIRMED ✓", False: "REFUTED ✗", None: "not judged"}[result.confirmed]
    return f"Expected: {words}. {verdict}.{source}"
