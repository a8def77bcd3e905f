"""What a client does after an attempt, branch by branch."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.attempts import Outcome
from domain.backoff import DecorrelatedJitterBackoff, FixedBackoff, NoBackoff
from domain.budgets.account import BudgetAccount
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.decide import FAILED, THROTTLED, TIMED_OUT
from domain.budgets.ratio import RatioBudget
from domain.retry import (
    ABORTED,
    BUDGET,
    DEADLINE,
    EXHAUSTED,
    REJECTED,
    SUCCEEDED,
    Refused,
    RetryAfter,
    RetryPolicy,
    cause,
)

FAILURES = [Outcome.TIMEOUT, Outcome.LATE, Outcome.REJECTED, Outcome.ERROR, Outcome.REFUSED]


def empty_budget() -> BudgetAccount:
    """A budget that earns nothing and whose reserve of one is spent."""
    budget = BudgetAccount(RatioBudget(0.0, 1.0))
    assert budget.price(0.0, FAILED) == 1.0
    return budget


@pytest.mark.parametrize("outcome", FAILURES)
def test_max_attempts_counts_the_first_one(outcome: Outcome) -> None:
    """With m = 3 the first and second failure are retried, the third is not."""
    policy = RetryPolicy(3, NoBackoff())
    found = [policy.decide(n, outcome, 0.0, 0.5, None) for n in (1, 2, 3)]
    assert found == [RetryAfter(0), RetryAfter(0), EXHAUSTED]


def test_success_and_abort_end_a_job() -> None:
    """Neither is retried, however many attempts are left."""
    policy = RetryPolicy(math.inf, NoBackoff())
    assert policy.decide(1, Outcome.OK, 0, 0.5, None) is SUCCEEDED
    assert policy.decide(1, Outcome.ABORTED, 0, 0.5, None) is ABORTED


def test_an_endless_client_never_gives_up() -> None:
    """m = ∞ retries after a million failures."""
    policy = RetryPolicy(math.inf, NoBackoff())
    assert policy.decide(10**6, Outcome.TIMEOUT, 0, 0.5, None) == RetryAfter(0)
    assert policy.amplification == math.inf
    assert RetryPolicy(3, NoBackoff()).amplification == 3.0


@pytest.mark.parametrize(
    ("on_rejection", "found"),
    [("give-up", REJECTED), ("retry", RetryAfter(1.0)), ("after-timeout", RetryAfter(1.0))],
)
def test_what_a_rejection_means(on_rejection, found) -> None:
    """Only ``give-up`` ends the job, and only for rejections."""
    policy = RetryPolicy(3, FixedBackoff(1.0), on_rejection)
    assert policy.decide(1, Outcome.REJECTED, 0.0, 0.5, None, status=503) == found
    assert policy.decide(1, Outcome.TIMEOUT, 0.0, 0.5, None) == RetryAfter(1.0)


def test_the_backoff_knows_the_one_before() -> None:
    """Decorrelated jitter from a delay of 2: U(1, 6) at the middle."""
    policy = RetryPolicy(3, DecorrelatedJitterBackoff())
    assert policy.decide(2, Outcome.TIMEOUT, 0.0, 0.5, None, previous_s=2.0) == RetryAfter(3.5)


def test_no_attempt_at_or_after_the_deadline() -> None:
    """A retry due exactly then has no time left; one due just before has a little."""
    policy = RetryPolicy(3, FixedBackoff(2.0))
    assert policy.decide(1, Outcome.TIMEOUT, 8.0, 0.5, None, until_s=10.0) is DEADLINE
    assert policy.decide(1, Outcome.TIMEOUT, 8.0, 0.5, None, until_s=10.0 + 1e-9) == RetryAfter(2.0)
    assert RetryPolicy(3, NoBackoff()).decide(1, Outcome.TIMEOUT, 10.0, 0.5, None, until_s=10.0) is DEADLINE


@pytest.mark.parametrize(
    ("honours", "asked_s", "delay_s"), [(True, 5.0, 5.0), (True, 0.5, 2.0), (False, 5.0, 2.0)]
)
def test_retry_after_can_only_lengthen_the_backoff(honours: bool, asked_s: float, delay_s: float) -> None:
    """The longer of the two, if the client heeds it at all."""
    policy = RetryPolicy(3, FixedBackoff(2.0), honours_retry_after=honours)
    found = policy.decide(1, Outcome.REJECTED, 0.0, 0.5, None, retry_after_s=asked_s, status=503)
    assert found == RetryAfter(delay_s)


def test_a_retry_after_beyond_the_deadline_ends_the_job() -> None:
    """The backoff alone would have fitted."""
    policy = RetryPolicy(3, FixedBackoff(2.0), honours_retry_after=True)
    found = policy.decide(1, Outcome.REJECTED, 0.0, 0.5, None, until_s=4.0, retry_after_s=4.0, status=429)
    assert found is DEADLINE


def test_a_refusal_is_terminal_or_a_failure() -> None:
    """As the layer above takes it; either way nothing was paid."""
    assert RetryPolicy(3, FixedBackoff(2.0)).decide(1, Outcome.TIMEOUT, 0.0, 0.5, empty_budget()) is BUDGET
    again = RetryPolicy(3, FixedBackoff(2.0), on_refusal="retry")
    assert again.decide(1, Outcome.TIMEOUT, 0.0, 0.5, empty_budget()) == Refused(2.0)
    assert again.decide(2, Outcome.REFUSED, 0.0, 0.5, empty_budget()) == Refused(2.0)
    assert again.decide(3, Outcome.REFUSED, 0.0, 0.5, empty_budget()) is EXHAUSTED


def test_the_budget_is_asked_last() -> None:
    """What would not be sent anyway is not paid for: the reserve of one is still there afterwards."""
    budget = BudgetAccount(RatioBudget(0.0, 1.0))
    policy = RetryPolicy(2, FixedBackoff(1.0), "give-up")
    assert policy.decide(2, Outcome.TIMEOUT, 1.0, 0.5, budget) is EXHAUSTED
    assert policy.decide(1, Outcome.OK, 2.0, 0.5, budget) is SUCCEEDED
    assert policy.decide(1, Outcome.ABORTED, 2.0, 0.5, budget) is ABORTED
    assert policy.decide(1, Outcome.REJECTED, 2.0, 0.5, budget) is REJECTED
    assert policy.decide(1, Outcome.TIMEOUT, 2.0, 0.5, budget, until_s=3.0) is DEADLINE
    assert policy.decide(1, Outcome.TIMEOUT, 3.0, 0.5, budget) == RetryAfter(1.0, 1.0)
    assert policy.decide(1, Outcome.TIMEOUT, 3.0, 0.5, budget) is BUDGET


@pytest.mark.parametrize(
    ("outcome", "status", "price"),
    [
        (Outcome.TIMEOUT, 0, 10.0),
        (Outcome.LATE, 200, 10.0),
        (Outcome.ERROR, 0, 7.0),
        (Outcome.REJECTED, 500, 7.0),
        (Outcome.REJECTED, 429, 5.0),
        (Outcome.REJECTED, 503, 5.0),
    ],
)
def test_the_price_goes_by_the_cause(outcome: Outcome, status: int, price: float) -> None:
    """Costs of 10, 7 and 5 for a timeout, an error and throttling."""
    budget = BudgetAccount(AwsTokenBucket(500, 10, 7, 5))
    found = RetryPolicy(3, NoBackoff()).decide(1, outcome, 0.0, 0.5, budget, status=status)
    assert found == RetryAfter(0.0, price)
    assert cause(outcome, status) == {10.0: TIMED_OUT, 7.0: FAILED, 5.0: THROTTLED}[price]


@given(
    m=st.integers(1, 5),
    delay_s=st.floats(0, 3),
    deadline_s=st.floats(0.1, 20),
    timeout_s=st.floats(0.1, 3),
)
def test_a_job_never_starts_an_attempt_after_its_deadline(
    m: int, delay_s: float, deadline_s: float, timeout_s: float
) -> None:
    """Followed to its end: at most m attempts, each sent before the deadline."""
    policy, now_s, sent = RetryPolicy(m, FixedBackoff(delay_s)), 0.0, 1
    while True:
        now_s = min(now_s + timeout_s, deadline_s)
        found = policy.decide(sent, Outcome.TIMEOUT, now_s, 0.5, None, until_s=deadline_s)
        if not isinstance(found, RetryAfter):
            break
        now_s += found.delay_s
        sent += 1
        assert now_s < deadline_s
    assert sent <= m
    assert found in (EXHAUSTED, DEADLINE)
