"""Two findings are compared within their errors, and only if they are of the same test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.against import Comparison, compare, recovery, summary
from analysis.trigger.result import Interval, TriggerResult
from domain.trigger.plan import TriggerPlan
from tests.analysis.trigger.made_up import (
    INVALID,
    NOT_VULNERABLE,
    RECOVERS,
    SLOWLY,
    STOPPED,
    TRAPPED,
    UNDECIDED,
    plan,
)


def words_of(comparison: Comparison) -> dict[str, str]:
    """Which way each quantity went."""
    return {change.name.split(",")[0]: change.word for change in comparison.changes}


def against(now: TriggerResult, before: TriggerResult) -> dict[str, str]:
    """The same test, then and now."""
    return words_of(compare(plan(), now, plan(), before))


def test_the_same_finding_is_the_same() -> None:
    """Nothing is better or worse than itself."""
    for result in (RECOVERS, TRAPPED, NOT_VULNERABLE):
        comparison = compare(plan(), result, plan(), result)
        assert set(words_of(comparison).values()) <= {"same", "not compared"}
        assert comparison.worse == ()
    assert summary(comparison).startswith("The same")


@pytest.mark.parametrize(
    ("before", "now", "word"),
    [
        (RECOVERS, TRAPPED, "worse"),
        (TRAPPED, RECOVERS, "better"),
        (RECOVERS, SLOWLY, "worse"),
        (NOT_VULNERABLE, RECOVERS, "worse"),
        (TRAPPED, NOT_VULNERABLE, "better"),
        (UNDECIDED, TRAPPED, "not compared"),
        (RECOVERS, UNDECIDED, "not compared"),
    ],
)
def test_verdicts_have_an_order(before: TriggerResult, now: TriggerResult, word: str) -> None:
    """Not vulnerable, recovers, slowly, trapped; undecided has no place in it."""
    assert against(now, before)["verdict"] == word


@pytest.mark.parametrize(
    ("now", "word"),
    [
        (Interval(0.36, 0.34, 0.38), "same"),
        (Interval(0.40, 0.36, 0.44), "better"),
        (Interval(0.28, 0.26, 0.30), "worse"),
        (Interval(0.34, 0.34, 0.34), "same"),
        (Interval(0.35, 0.35, 0.35), "same"),  # outside, but by less than a tenth
        (Interval(0.38, 0.38, 0.38), "better"),
    ],
)
def test_a_change_is_one_beyond_the_errors(now: Interval, word: str) -> None:
    """Intervals that overlap are the same; without one, a tenth is."""
    assert against(replace(RECOVERS, threshold=now), RECOVERS)["threshold"] == word


def test_less_amplification_and_more_capacity_are_better() -> None:
    """Each quantity knows its direction."""
    shot = replace(RECOVERS.shots[0], amplification=Interval(2.0, 1.9, 2.1), recovered_s=1.0)
    now = replace(RECOVERS, shots=(shot,), capacity_per_s=Interval(150.0, 148.0, 152.0))
    found = against(now, RECOVERS)
    assert (found["amplification A"], found["capacity"]) == ("better", "worse")
    given = replace(now, capacity_given=True)
    assert against(given, RECOVERS)["capacity"] == "not compared"


def test_a_recovery_has_the_error_of_its_random_walk() -> None:
    """√(D σ²/(1 − Aρ)³) with D = 1 s, σ² = .76·4.04/175, at 95%; without C none."""
    found = recovery(plan(), RECOVERS)
    assert found is not None
    assert found.high - found.value == pytest.approx(1.96 * (0.01754514 / 0.24**3) ** 0.5, rel=1e-3)
    bare = recovery(plan(), replace(RECOVERS, capacity_per_s=None))
    assert bare == Interval(3.8, 3.8, 3.8)
    assert recovery(plan(), TRAPPED) is None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (replace(plan(), utilization=0.5), "utilization was 50% then and is 40% now"),
        (replace(plan(), dose=3.0), "dose was 3 then"),
        (replace(plan(), client=replace(plan().client, max_attempts=2)), "max_attempts"),
        (
            replace(plan(), mix=replace(plan().mix, success=replace(plan().mix.success, body_match="ok"))),
            "requests",
        ),
    ],
)
def test_another_test_is_not_compared_but_said(other: TriggerPlan, words: str) -> None:
    """What differs stands in the summary; nothing counts as worse."""
    comparison = compare(plan(), TRAPPED, other, RECOVERS)
    assert comparison.changes == ()
    assert words in summary(comparison)
    assert not comparison.worse


@pytest.mark.parametrize("other", [INVALID, STOPPED])
def test_a_test_that_says_nothing_is_not_compared(other: TriggerResult) -> None:
    """Invalid, or without a push."""
    assert not compare(plan(), TRAPPED, plan(), other).comparable
    assert not compare(plan(), other, plan(), RECOVERS).comparable


def test_where_it_went_stands_in_the_target_and_is_no_difference() -> None:
    """A staging service may have another address today."""
    moved = replace(plan(), target=replace(plan().target, url="http://127.0.0.1:9"))
    assert compare(moved, TRAPPED, plan(), TRAPPED).comparable
    assert summary(compare(plan(), TRAPPED, plan(), RECOVERS)).startswith("WORSE")
    assert summary(compare(plan(), RECOVERS, plan(), TRAPPED)).startswith("Better")


def test_an_undecided_test_is_not_simply_the_same() -> None:
    """The reader learns that the verdict was not compared."""
    same = replace(
        UNDECIDED, shots=(replace(RECOVERS.shots[0], verdict="undecided"),), threshold=RECOVERS.threshold
    )
    said = summary(compare(plan(), same, plan(), RECOVERS))
    assert said.startswith("The same")
    assert "as far as an undecided test can be compared" in said


def test_what_cannot_be_compared_at_all_is_a_finding() -> None:
    """Whoever asks for a comparison must not pass by having none; one quantity less is no such thing."""
    other = replace(plan(), utilization=0.5)
    assert compare(plan(), RECOVERS, other, RECOVERS).failed
    assert summary(compare(plan(), RECOVERS, other, RECOVERS)).startswith("Nothing could be compared")
    partly = compare(plan(), replace(RECOVERS, threshold=None), plan(), RECOVERS)
    assert not partly.failed
    assert not partly.nothing_compared
