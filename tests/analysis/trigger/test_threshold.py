"""How the search for the threshold is said to have ended."""

from __future__ import annotations

from analysis.trigger.result import Shot, Word
from analysis.trigger.threshold import undecided_end


def shot(rho: float, verdict: Word) -> Shot:
    return Shot(rho, 2.0, 0.0, verdict, None, None, None, None, "none", None, ())


def test_an_undecided_push_ends_the_search_and_is_named() -> None:
    assert undecided_end([shot(0.5, "trapped"), shot(0.344, "undecided")]) == (
        "The search for the threshold ended at 34.4%, where the push ended undecided."
    )


def test_a_search_that_was_decided_says_nothing() -> None:
    assert undecided_end([shot(0.5, "trapped"), shot(0.3, "recovers")]) is None
    assert undecided_end([]) is None
