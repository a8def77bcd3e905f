"""The finding in words has the numbers, says what was seen, and nothing that is code."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from analysis.trigger import words
from analysis.trigger.result import Interval, PhaseDone, Word
from tests.analysis.trigger.made_up import (
    EVERY_KIND,
    INVALID,
    NOT_VULNERABLE,
    RECOVERS,
    SLOWLY,
    SPIKE_END_S,
    STOPPED,
    TRAPPED,
    UNDECIDED,
    observations,
    plan,
)


def test_a_trap_is_said_with_its_growth_and_its_threshold() -> None:
    """Push, who was answered, growth, interval, utilization, and up to where it comes back."""
    assert words.verdict_text(plan(), TRAPPED, answered=0.0) == (
        "After a push of 0.5 s the service answered nobody in time and work came in 1.21 times as fast as "
        "it could do it (Aρ 1.21, 1.16–1.27 at 95%): at 40% utilization with these clients it does not "
        "come back by itself. It comes back at utilizations up to 33.1% (31.5%–34.5% at 95%)."
    )
    assert words.headline(TRAPPED).startswith("TRAPPED: ")


@pytest.mark.parametrize(
    ("answered", "said"),
    [
        (None, "went on failing its clients"),
        (0.0, "answered nobody in time"),
        (0.123, "answered only 12% of attempts in time"),
        (0.00321, "answered only 0.3% of attempts in time"),
        (0.9, "went on failing its clients"),
    ],
)
def test_nobody_is_said_only_of_nobody(answered: float | None, said: str) -> None:
    """What is not known is not claimed."""
    assert f"the service {said} and" in words.verdict_text(plan(), TRAPPED, answered)


def test_a_recovery_that_was_seen_is_told_from_one_that_is_predicted() -> None:
    """Seconds of failing after the push, or how fast it drains and when that ends."""
    assert "failed for 3.8 s more and came back by itself" in words.verdict_text(plan(), RECOVERS)
    slow = words.verdict_text(plan(), SLOWLY)
    assert "drained at 0.05 s a second" in slow
    assert "only slowly, some 21 s after the push, as predicted" in slow
    assert words.label(SLOWLY) == "RECOVERS SLOWLY"


def test_a_threshold_of_one_is_no_utilization_of_100_percent() -> None:
    """At 100% nothing comes back."""
    assert words.threshold_sentence(NOT_VULNERABLE) == "It comes back at any utilization below 100%."
    unsure = replace(NOT_VULNERABLE, threshold=Interval(1.0, 0.9, 1.0))
    assert "(at least 90% at 95%)" in words.threshold_sentence(unsure)
    assert words.threshold_sentence(STOPPED) == ""


def test_undecided_says_why_if_it_is_close() -> None:
    """Only if the interval of Aρ holds 1."""
    assert "too close to 1" in words.verdict_text(plan(), UNDECIDED)
    clear = replace(UNDECIDED.shots[0], amplified_utilization=Interval(1.2, 1.1, 1.3))
    assert "too close to 1" not in words.verdict_text(plan(), replace(UNDECIDED, shots=(clear,)))


def test_a_service_left_unhealthy_is_said_loudly() -> None:
    """As are a safety stop and an interruption, each once."""
    assert [alarm[:15] for alarm in words.alarms(UNDECIDED)] == ["THE SERVICE WAS"]
    assert words.alarms(STOPPED)[0].startswith("SAFETY STOP: the bystander")
    assert words.alarms(replace(TRAPPED, interrupted_by="SIGTERM"))[0].startswith("INTERRUPTED by SIGTERM")
    assert words.alarms(TRAPPED) == []
    assert words.health_text(TRAPPED) == "The service was left healthy."


def test_a_measured_amplification_beside_the_clients_own_tells_of_hidden_layers() -> None:
    """Above it: somebody else retries; below: not all is served; within the error: nothing."""

    def hidden(value: float) -> str:
        measured = Interval(value, 0.95 * value, 1.05 * value)
        shot = replace(TRAPPED.shots[0], amplification=measured)
        return " ".join(words.remarks(replace(TRAPPED, shots=(shot,))))

    assert "2 times the client's own 3" in hidden(6.0)
    assert "retries too" in hidden(6.0)
    assert "0.5 of the client's own 3" in hidden(1.5)
    assert "the client's own" not in hidden(3.05)


def test_the_answered_share_leaves_out_what_was_sent_before() -> None:
    """After the push nobody was answered in time, though the first timeout of it saw answers."""
    seen = observations()
    shot = TRAPPED.shots[0]
    assert words.answered_share(plan(), shot, seen) == 0.0
    assert seen.counted("answered", shot.spike_end_s, shot.spike_end_s + 0.5) > 0
    assert words.answered_share(plan(), replace(shot, decided_s=0.4), seen) is None
    healthy = observations(utilization=0.2, max_attempts=1)
    share = words.answered_share(plan(0.2), replace(shot, decided_s=7.0), healthy)
    assert share is not None
    assert share > 0.5


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_no_sentence_shows_a_missing_number_as_code(kind: str) -> None:
    """Nobody reads None, nan or inf, and no sentence is left open."""
    result = EVERY_KIND[kind]
    said = [
        words.verdict_text(plan(), result),
        words.threshold_method(result),
        words.health_text(result),
        *words.alarms(result),
        *words.remarks(result),
    ]
    for sentence in said:
        assert re.search(r"\b(nan|None|inf|True|False)\b|–%|  |\.\.", sentence) is None, sentence
        assert sentence.endswith((".", "s")), sentence


def test_the_tone_of_an_invalid_test_is_open() -> None:
    """Nobody acts on its verdict."""
    tones = [words.tone(result) for result in (TRAPPED, RECOVERS, UNDECIDED, INVALID)]
    assert tones == ["bad", "good", "open", "open"]


@pytest.mark.parametrize(
    ("verdict", "rescued_s", "said"),
    [
        ("trapped", 5.2, "5.2 s"),
        ("trapped", None, "not seen to come back"),
        ("recovers", None, "none needed"),
        ("not vulnerable", None, "none needed"),
        ("undecided", None, "–"),
    ],
)
def test_a_rescue_that_failed_is_not_one_that_was_not_needed(
    verdict: Word, rescued_s: float | None, said: str
) -> None:
    """Both have no time."""
    shot = replace(TRAPPED.shots[0], verdict=verdict, rescued_s=rescued_s)
    assert words.rescue_text(shot) == said


def test_a_bisected_threshold_has_pushes_for_ends_and_no_confidence() -> None:
    """It lies between two utilizations that were tried."""
    bisected = replace(TRAPPED, threshold_method="threshold", threshold=Interval(0.35, 0.3, 0.4))
    assert words.threshold_sentence(bisected) == (
        "The highest utilization at which it comes back lies between 30% (came back) and 40% (did not)."
    )
    assert "bisection" in words.threshold_method(bisected)


def test_an_advice_is_a_line() -> None:
    """With the utilization up to which it helps, if there is one."""
    first, budget, capacity = TRAPPED.advice
    assert words.advice_text(first).startswith(
        "at most 2 attempts, then it comes back at up to 50% utilization."
    )
    assert "any utilization below 100%" in words.advice_text(replace(budget, threshold=1.0))
    assert words.advice_text(capacity).startswith("12% more capacity. 215 attempts/s")


def test_a_bisected_threshold_is_a_bracket_that_names_what_stayed_open() -> None:
    """Its middle was never pushed at."""
    shots = (TRAPPED.shots[0], replace(TRAPPED.shots[0], utilization=0.344, verdict="undecided"))
    found = replace(
        TRAPPED, shots=shots, threshold=Interval(0.346, 0.303, 0.389), threshold_method="threshold"
    )
    said = words.threshold_sentence(found)
    assert "between 30.3% (came back) and 38.9% (did not)" in said
    assert "a push at 34.4% ended undecided" in said
    assert "34.6%" not in said


def test_a_service_that_never_answered_could_not_be_tested() -> None:
    """That is no safety stop; another stop in the same phase is."""
    phases = (PhaseDone("reach", 0.0, 5.0, 0.0),)
    stop = "http://127.0.0.1:9 cannot be reached, or does not answer: no request was answered in 5 s"
    dead = replace(STOPPED, phases=phases, safety_stop=stop)
    assert words.headline(dead) == "CANNOT START: http://127.0.0.1:9 cannot be reached, or does not answer"
    assert words.alarms(dead) == [f"CANNOT START: {stop}"]
    assert words.alarms(replace(STOPPED, phases=phases))[0].startswith("SAFETY STOP")


def test_an_interrupted_test_says_what_it_may_leave_behind() -> None:
    """Unless the service was seen healthy."""
    cut = replace(TRAPPED, interrupted_by="SIGINT", left_healthy=None)
    assert "may still be working off a backlog" in words.alarms(cut)[0]
    assert "backlog" not in words.alarms(replace(cut, left_healthy=True))[0]


def test_a_push_lasts_two_digits() -> None:
    """No clock of a test is worth more."""
    phases = (PhaseDone("spike", SPIKE_END_S - 0.50342, SPIKE_END_S, 500.0),)
    assert words.push_text(plan(), replace(TRAPPED, phases=phases)) == "0.5 s"
