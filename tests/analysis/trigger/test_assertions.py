"""What a pipeline asks for passes only on evidence."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.assertions import check
from analysis.trigger.result import Interval, TriggerResult
from domain.trigger.assertions import Assertions
from tests.analysis.trigger.made_up import (
    NOT_VULNERABLE,
    RECOVERS,
    SLOWLY,
    STOPPED,
    TRAPPED,
    UNDECIDED,
)


def passed(result: TriggerResult, **asked: object) -> bool:
    """Whether the one thing asked is so."""
    (one,) = check(result, Assertions(**asked))  # type: ignore[arg-type]
    assert one.why
    return one.passed


def test_nothing_asked_nothing_checked() -> None:
    """No assertion, no check."""
    assert check(TRAPPED, Assertions()) == ()
    assert len(check(TRAPPED, Assertions(0.5, 2.0, 10.0, ("trapped",)))) == 4


@pytest.mark.parametrize(
    ("result", "asked", "expected"),
    [
        (RECOVERS, 0.329, True),
        (RECOVERS, 0.25, True),
        (RECOVERS, 0.33, False),
        (TRAPPED, 0.3, True),  # trapped only above what is asked
        (TRAPPED, 0.4, False),
        (NOT_VULNERABLE, 1.0, True),
        (STOPPED, 0.01, False),  # no threshold known
        (replace(RECOVERS, threshold=None), 0.1, False),
    ],
)
def test_a_utilization_needs_a_threshold_at_or_above_it(
    result: TriggerResult, asked: float, expected: bool
) -> None:
    """By the value of the threshold."""
    assert passed(result, max_utilization=asked) is expected


def test_a_trap_below_what_is_asked_fails_whatever_the_threshold() -> None:
    """A threshold of 60% does not excuse a trap seen at 40%."""
    odd = replace(TRAPPED, threshold=Interval(0.6, 0.55, 0.65))
    (one,) = check(odd, Assertions(max_utilization=0.5))
    assert not one.passed
    assert "trapped at 40%" in one.why


def test_a_bisected_threshold_is_judged_by_its_low_end() -> None:
    """The middle of the bracket was never seen to come back."""
    bisected = replace(RECOVERS, threshold=Interval(0.35, 0.30, 0.40), threshold_method="threshold")
    (one,) = check(bisected, Assertions(max_utilization=0.33))
    assert (one.passed, one.found, one.measured) == (False, "30%", 0.30)
    assert "between 30% (came back) and 40% (did not)" in one.why
    assert passed(bisected, max_utilization=0.30)


def test_an_interval_that_holds_what_is_asked_is_said() -> None:
    """The reader learns that it was close."""
    (close,) = check(RECOVERS, Assertions(max_utilization=0.32))
    (clear,) = check(RECOVERS, Assertions(max_utilization=0.2))
    assert "holds the 32% asked for" in close.why
    assert "holds" not in clear.why


@pytest.mark.parametrize(
    ("result", "asked", "expected"),
    [(TRAPPED, 3.1, True), (TRAPPED, 3.02, True), (TRAPPED, 3.0, False), (NOT_VULNERABLE, 9.0, False)],
)
def test_an_amplification_that_was_not_measured_fails(
    result: TriggerResult, asked: float, expected: bool
) -> None:
    """No evidence does not pass."""
    assert passed(result, max_amplification=asked) is expected


@pytest.mark.parametrize(
    ("result", "asked", "expected"),
    [
        (RECOVERS, 3.8, True),
        (RECOVERS, 3.7, False),
        (SLOWLY, 21.0, True),  # predicted
        (SLOWLY, 20.0, False),
        (replace(SLOWLY, shots=(replace(SLOWLY.shots[0], predicted_recovery_s=None),)), 99.0, False),
        (NOT_VULNERABLE, 0.1, True),
        (TRAPPED, 1e9, False),
        (UNDECIDED, 1e9, False),
        (STOPPED, 1e9, False),
    ],
)
def test_a_recovery_must_be_seen_or_predicted(result: TriggerResult, asked: float, expected: bool) -> None:
    """A trap never recovers in time, however long one waits."""
    assert passed(result, max_recovery_s=asked) is expected


def test_verdicts_that_are_accepted() -> None:
    """By their words."""
    assert passed(TRAPPED, verdicts=("trapped", "undecided"))
    assert not passed(TRAPPED, verdicts=("recovers", "not vulnerable"))
