"""Backoff and retry decisions against hand-computed tables (seed paper "The Collapse Law", §3.2)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.attempts import Outcome
from domain.backoff import Backoff, ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff
from domain.budget import RATIO_RESERVE, NullBudget, ratio_allows, ratio_balance
from domain.retry import ABORTED, BUDGET, EXHAUSTED, SUCCEEDED, RetryAfter, RetryPolicy

T = 2.0
BUDGET_FREE = NullBudget()


@pytest.mark.parametrize(
    ("backoff", "delays"),
    [
        (NoBackoff(), [0, 0, 0, 0, 0]),
        (FixedBackoff(T / 2), [1, 1, 1, 1, 1]),
        (ExponentialBackoff(T, 8 * T), [2, 4, 8, 16, 16]),
        (FullJitterBackoff(T, 8 * T), [0.5 * x for x in (4, 8, 16, 16, 16)]),
    ],
)
def test_the_four_backoffs_of_the_paper(backoff: Backoff, delays: list[float]) -> None:
    """B_k after k = 1…5 failures with T = 2 and, for the jitter, u = 1/2."""
    assert [backoff.delay_s(k, 0.5) for k in range(1, 6)] == delays


@given(failed=st.integers(1, 5000), u=st.floats(0, 1, exclude_max=True))
def test_delays_stay_in_their_bounds(failed: int, u: float) -> None:
    """Whatever the draw and however many failures, the delay is within its stated bounds and the cap."""
    for backoff in (NoBackoff(), FixedBackoff(1), ExponentialBackoff(1, 8), FullJitterBackoff(1, 8)):
        low, high = backoff.bounds_s(failed)
        assert low <= backoff.delay_s(failed, u) <= high <= 8


def test_scaling_scales_every_duration() -> None:
    """A rule in tenths of seconds gives tenths."""
    for backoff in (FixedBackoff(1), ExponentialBackoff(1, 8), FullJitterBackoff(1, 8), NoBackoff()):
        assert backoff.scaled(0.1).delay_s(2, 0.5) == pytest.approx(backoff.delay_s(2, 0.5) * 0.1)


@pytest.mark.parametrize("outcome", [Outcome.TIMEOUT, Outcome.LATE, Outcome.REJECTED, Outcome.ERROR])
def test_max_attempts_counts_the_first_one(outcome: Outcome) -> None:
    """With m = 3 the first and second failure are retried, the third is not."""
    policy = RetryPolicy(3, NoBackoff())
    found = [policy.decide(n, outcome, 0.0, 0.5, BUDGET_FREE) for n in (1, 2, 3)]
    assert found == [RetryAfter(0), RetryAfter(0), EXHAUSTED]


def test_success_and_abort_end_a_job() -> None:
    """Neither is retried, however many attempts are left."""
    policy = RetryPolicy(math.inf, NoBackoff())
    assert policy.decide(1, Outcome.OK, 0, 0.5, BUDGET_FREE) is SUCCEEDED
    assert policy.decide(1, Outcome.ABORTED, 0, 0.5, BUDGET_FREE) is ABORTED


def test_an_endless_client_never_gives_up() -> None:
    """m = ∞ retries after a million failures."""
    assert RetryPolicy(math.inf, NoBackoff()).decide(
        10**6, Outcome.TIMEOUT, 0, 0.5, BUDGET_FREE
    ) == RetryAfter(0)


class _Empty(NullBudget):
    """A budget that is always spent; it counts how often it was asked."""

    asked: list[float] = []  # noqa: RUF012

    def may_retry(self, now_s: float) -> bool:
        self.asked.append(now_s)
        return False


def test_the_budget_is_asked_last_and_its_no_is_final() -> None:
    """Only a failure that would be retried costs a question."""
    budget = _Empty()
    policy = RetryPolicy(2, NoBackoff())
    assert policy.decide(2, Outcome.TIMEOUT, 1.0, 0.5, budget) is EXHAUSTED
    assert policy.decide(1, Outcome.OK, 2.0, 0.5, budget) is SUCCEEDED
    assert policy.decide(1, Outcome.TIMEOUT, 3.0, 0.5, budget) is BUDGET
    assert budget.asked == [3.0]


def test_ratio_budget_by_hand() -> None:
    """β = .5: ten retries in reserve, then one for every two first attempts."""
    balance = RATIO_RESERVE - 10.0
    assert not ratio_allows(balance)
    balance = ratio_balance(balance, 0.5)
    assert not ratio_allows(balance)
    balance = ratio_balance(balance, 0.5)
    assert ratio_allows(balance)
    assert ratio_balance(9.8, 0.5) == RATIO_RESERVE


@given(ratio=st.floats(0, 2), steps=st.lists(st.booleans(), max_size=300))
def test_ratio_budget_never_exceeds_its_ratio(ratio: float, steps: list[bool]) -> None:
    """After any history: retries ≤ ten + β × first attempts."""
    balance, firsts, retries = RATIO_RESERVE, 0, 0
    for is_first in steps:
        if is_first:
            balance = ratio_balance(balance, ratio)
            firsts += 1
        elif ratio_allows(balance):
            balance -= 1.0
            retries += 1
        assert retries <= 10 + ratio * firsts + 1e-6
