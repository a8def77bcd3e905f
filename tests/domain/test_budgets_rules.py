"""Every retry budget against hand-computed tables, at its defaults and at its edges."""

from __future__ import annotations

import math

import pytest

from domain.budgets.account import BudgetAccount
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.decide import FAILED, REFUSED, THROTTLED, TIMED_OUT, RetryBudget
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.exhaustion import runs_out
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RATIO_RESERVE, RatioBudget, ratio_allows, ratio_balance
from domain.budgets.window_ratio import WindowRatioBudget
from domain.rule import PARAMETERS

BUDGETS: tuple[RetryBudget, ...] = (
    NoBudget(),
    RatioBudget(),
    WindowRatioBudget(),
    AwsTokenBucket(),
    GrpcThrottle(),
    FinagleBudget(),
    EnvoyBudget(),
)


def granted(account: BudgetAccount, now_s: float, most: int, cause: int = FAILED) -> int:
    """How many retries on end it allows at one moment, of at most ``most``."""
    for count in range(most):
        if account.price(now_s, cause) == REFUSED:
            return count
    return most


def firsts(account: BudgetAccount, count: int, now_s: float = 0.0) -> None:
    """So many first attempts go out."""
    for _ in range(count):
        account.sent(now_s, 1)


def test_names_codes_and_numbers() -> None:
    """Each has a name and a code of its own and as many parameters as every rule has."""
    assert [budget.kind for budget in BUDGETS] == [
        "none",
        "ratio",
        "window-ratio",
        "aws-token-bucket",
        "grpc-throttle",
        "finagle",
        "envoy",
    ]
    assert [budget.code for budget in BUDGETS] == list(range(7))
    assert all(len(budget.parameters) == PARAMETERS for budget in BUDGETS)


def test_without_a_budget_every_retry_goes() -> None:
    """And costs nothing."""
    account = BudgetAccount(NoBudget())
    assert granted(account, 0.0, 1000) == 1000
    assert account.price(0.0, FAILED) == 0.0


def test_ratio_starts_with_its_reserve() -> None:
    """Ten retries at once, then one for every ten first attempts; the tenth of them earns it."""
    account = BudgetAccount(RatioBudget())
    assert granted(account, 0.0, 20) == 10
    firsts(account, 9)
    assert account.price(0.0, FAILED) == REFUSED
    firsts(account, 1)
    assert account.price(0.0, FAILED) == 1.0
    assert account.price(0.0, FAILED) == REFUSED


def test_ratio_saves_no_more_than_its_reserve() -> None:
    """A thousand first attempts on a full budget earn nothing; retries earn nothing either."""
    account = BudgetAccount(RatioBudget(0.5, 2.5))
    firsts(account, 1000)
    account.sent(0.0, 2)
    assert granted(account, 0.0, 20) == 2
    firsts(account, 1)
    assert granted(account, 0.0, 20) == 1


def test_ratio_by_its_plain_functions() -> None:
    """β = .5: ten retries in reserve, then one for every two first attempts."""
    balance = RATIO_RESERVE - 10.0
    assert not ratio_allows(balance)
    balance = ratio_balance(balance, 0.5)
    assert not ratio_allows(balance)
    balance = ratio_balance(balance, 0.5)
    assert ratio_allows(balance)
    assert ratio_balance(9.8, 0.5) == RATIO_RESERVE


def test_window_ratio_needs_nine_others() -> None:
    """At 10% the first retry is the tenth request; the second comes with the twentieth."""
    account = BudgetAccount(WindowRatioBudget())
    assert account.price(0.0, FAILED) == REFUSED
    firsts(account, 8)
    assert account.price(0.0, FAILED) == REFUSED
    firsts(account, 1)
    assert granted(account, 0.0, 5) == 1
    firsts(account, 8)
    assert account.price(0.0, FAILED) == REFUSED
    firsts(account, 1)
    assert granted(account, 0.0, 5) == 1


def test_window_ratio_counts_a_retry_at_its_yes() -> None:
    """Ninety first attempts allow ten retries at once and no more; sending them changes nothing."""
    account = BudgetAccount(WindowRatioBudget())
    firsts(account, 90)
    assert granted(account, 0.0, 50) == 10
    for _ in range(10):
        account.sent(0.0, 2)
    assert account.price(0.0, FAILED) == REFUSED
    account.withdrawn(1.0)
    assert granted(account, 0.0, 50) == 1


@pytest.mark.parametrize(("later_s", "count"), [(9.999, 1), (10.0, 0)])
def test_the_window_s_edge(later_s: float, count: int) -> None:
    """Bins of half a second: what was sent from 0 to .5 leaves at 10 exactly, and so does what it allowed."""
    account = BudgetAccount(WindowRatioBudget())
    firsts(account, 9, 0.499)
    assert granted(account, later_s, 5) == count


def test_old_retries_leave_the_window_too() -> None:
    """A new window of nine first attempts allows a new retry."""
    account = BudgetAccount(WindowRatioBudget())
    firsts(account, 9, 0.0)
    assert granted(account, 0.0, 5) == 1
    firsts(account, 9, 10.0)
    assert granted(account, 10.0, 5) == 1


def test_a_retry_taken_back_after_it_left_the_window() -> None:
    """It no longer counts, so nothing is taken back: nine and eight first attempts still allow none."""
    account = BudgetAccount(WindowRatioBudget())
    firsts(account, 9, 0.0)
    assert account.price(0.0, FAILED) == 1.0
    firsts(account, 8, 100.0)
    account.withdrawn(1.0)
    assert account.price(100.0, FAILED) == REFUSED
    firsts(account, 1, 100.0)
    assert granted(account, 100.0, 5) == 1


def test_a_window_under_a_clock_that_goes_back() -> None:
    """It counts into the newest bin."""
    account = BudgetAccount(WindowRatioBudget())
    firsts(account, 1, 5.0)
    firsts(account, 8, 4.0)
    assert granted(account, 14.9, 5) == 1


@pytest.mark.parametrize(("cause", "count"), [(TIMED_OUT, 50), (FAILED, 100), (THROTTLED, 100)])
def test_aws_holds_500_tokens(cause: int, count: int) -> None:
    """Fifty retries after timeouts, a hundred after errors or throttling; the last takes the last token."""
    account = BudgetAccount(AwsTokenBucket())
    assert granted(account, 0.0, 1000, cause) == count


@pytest.mark.parametrize(("cause", "cost"), [(TIMED_OUT, 14.0), (FAILED, 14.0), (THROTTLED, 5.0)])
def test_aws_costs_of_2026(cause: int, cost: float) -> None:
    """14 for what is transient, 5 for throttling: 35 and 100 retries."""
    account = BudgetAccount(AwsTokenBucket(500, 14, 14, 5))
    assert account.price(0.0, cause) == cost
    assert granted(account, 0.0, 1000, cause) == 500 // cost - 1


def test_aws_gives_back_the_last_retry_only() -> None:
    """A timeout and an error cost 15; the third attempt's success gives back its own 5; a first try's 1."""
    account = BudgetAccount(AwsTokenBucket(20, 10, 5, 5))
    account.sent(0.0, 1)
    account.ended(1.0, 1, False, 0.0)
    assert account.price(1.0, TIMED_OUT) == 10.0
    account.ended(2.0, 2, False, 10.0)
    assert account.price(2.0, FAILED) == 5.0
    account.ended(3.0, 3, True, 5.0)  # 20 − 15 + 5 = 10
    assert granted(account, 3.0, 5) == 2
    for _ in range(4):
        account.ended(4.0, 1, True, 0.0)
    assert account.price(4.0, FAILED) == REFUSED
    account.ended(4.0, 1, True, 0.0)
    assert granted(account, 4.0, 5) == 1


def test_aws_holds_no_more_than_its_capacity() -> None:
    """A thousand successes on a full bucket add nothing."""
    account = BudgetAccount(AwsTokenBucket())
    for _ in range(1000):
        account.ended(0.0, 1, True, 0.0)
    assert granted(account, 0.0, 1000) == 100


def test_grpc_refuses_at_the_fifth_failure() -> None:
    """10 tokens, debited before the test: 9, 8, 7 and 6 are above half, 5 is not."""
    account = BudgetAccount(GrpcThrottle())
    found = []
    for _ in range(6):
        account.ended(0.0, 1, False, 0.0)
        found.append(account.price(0.0, FAILED))
    assert found == [0.0, 0.0, 0.0, 0.0, REFUSED, REFUSED]


@pytest.mark.parametrize(("successes", "price"), [(9, REFUSED), (10, REFUSED), (11, 0.0)])
def test_grpc_recovers_a_tenth_at_a_time(successes: int, price: float) -> None:
    """From 5 tokens: ten successes make 6, the next failure 5, which is still not above half."""
    account = BudgetAccount(GrpcThrottle())
    for _ in range(5):
        account.ended(0.0, 1, False, 0.0)
    for _ in range(successes):
        account.ended(0.0, 1, True, 0.0)
    account.ended(0.0, 1, False, 0.0)
    assert account.price(0.0, FAILED) == price


def test_grpc_stays_between_empty_and_full() -> None:
    """Whatever failed before, 51 successes bring it from 0 to 5.1 tokens; whatever succeeded, it has 10."""
    account = BudgetAccount(GrpcThrottle())
    for _ in range(100):
        account.ended(0.0, 1, False, 0.0)
    for _ in range(51):
        account.ended(0.0, 1, True, 0.0)
    assert account.price(0.0, FAILED) == 0.0
    for _ in range(1000):
        account.ended(0.0, 1, True, 0.0)
    for _ in range(5):
        account.ended(0.0, 1, False, 0.0)
    assert account.price(0.0, FAILED) == REFUSED


def test_grpc_ignores_further_decimals() -> None:
    """A ratio of .1009 is .1."""
    assert GrpcThrottle(10, 0.1009).parameters == GrpcThrottle(10, 0.1).parameters
    assert GrpcThrottle(10, 0.001).parameters[1] == 1.0


def test_finagle_starts_with_its_reserve() -> None:
    """10/s over 10 s: a hundred retries at once on a cold start, then one for every five jobs."""
    account = BudgetAccount(FinagleBudget())
    assert granted(account, 0.0, 1000) == 100
    firsts(account, 4)
    assert account.price(0.0, FAILED) == REFUSED
    firsts(account, 1)
    assert account.price(0.0, FAILED) == 5.0
    assert account.price(0.0, FAILED) == REFUSED


@pytest.mark.parametrize(("later_s", "count"), [(9.999, 0), (10.0, 100)])
def test_finagle_s_reserve_comes_back_after_the_ttl(later_s: float, count: int) -> None:
    """Its withdrawals leave with their slice, ten slices after it began."""
    account = BudgetAccount(FinagleBudget())
    assert granted(account, 0.0, 1000) == 100
    for tick in range(1, 100):
        account.sent(tick / 10, 2)  # not a deposit, and no call of the bucket
    assert granted(account, later_s, 1000) == count


@pytest.mark.parametrize(("later_s", "count"), [(9.999, 1), (10.0, 0)])
def test_finagle_s_deposits_expire(later_s: float, count: int) -> None:
    """Without a reserve, five jobs at 0 are worth a retry until the ttl is over."""
    account = BudgetAccount(FinagleBudget(min_retries_per_s=0))
    firsts(account, 5)
    assert granted(account, later_s, 10) == count


def test_a_slice_ends_at_the_first_call_that_finds_it_over() -> None:
    """Deposits at 0 and .9 share a slice; calls at 1.5, 2.5, … end it and nine more: it lives until 10.5."""
    account = BudgetAccount(FinagleBudget(min_retries_per_s=0))
    firsts(account, 3, 0.0)
    firsts(account, 2, 0.9)
    for call_s in (1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 10.4):
        assert account.price(call_s, FAILED) == 5.0
        account.withdrawn(5.0)
    assert account.price(10.5, FAILED) == REFUSED


def test_finagle_without_a_percentage() -> None:
    """Jobs deposit nothing and a retry costs 1 of the reserve; with neither there are no retries."""
    account = BudgetAccount(FinagleBudget(percent=0, min_retries_per_s=0.5))
    firsts(account, 1000)
    assert granted(account, 0.0, 100) == 5
    assert granted(BudgetAccount(FinagleBudget(0, 0)), 0.0, 100) == 0


@pytest.mark.parametrize(("active", "count"), [(0, 3), (19, 3), (20, 4), (24, 4), (25, 5), (100, 20)])
def test_envoy_allows_a_share_of_what_is_in_flight(active: int, count: int) -> None:
    """20% of it, whole places only, at least 3."""
    account = BudgetAccount(EnvoyBudget())
    firsts(account, active)
    assert granted(account, 0.0, 1000) == count


def test_envoy_counts_retries_from_their_yes_to_their_end() -> None:
    """A place is taken in backoff and in flight; the end frees it, and so does not sending at all."""
    account = BudgetAccount(EnvoyBudget(0, 3))
    assert granted(account, 0.0, 10) == 3
    account.withdrawn(1.0)
    assert granted(account, 0.0, 10) == 1
    account.sent(1.0, 2)
    assert account.price(1.0, FAILED) == REFUSED
    account.ended(2.0, 2, False, 1.0)
    assert granted(account, 2.0, 10) == 1


def test_envoy_counts_the_attempts_in_flight() -> None:
    """Thirty in flight allow six; when ten of them have ended, four."""
    account = BudgetAccount(EnvoyBudget())
    firsts(account, 30)
    assert granted(account, 0.0, 4) == 4
    for _ in range(10):
        account.ended(1.0, 1, True, 0.0)
    assert account.price(1.0, FAILED) == REFUSED
    account.withdrawn(1.0)
    assert granted(account, 1.0, 10) == 1


@pytest.mark.parametrize("budget", BUDGETS, ids=lambda budget: budget.kind)
def test_durations_scale_and_counts_do_not(budget: RetryBudget) -> None:
    """Half the unit of time halves windows and the ttl, and with the ttl Finagle's reserve."""
    scaled = budget.scaled(0.5)
    assert type(scaled) is type(budget)
    if isinstance(budget, WindowRatioBudget):
        assert scaled == WindowRatioBudget(0.1, 5.0)
    elif isinstance(budget, FinagleBudget):
        assert scaled == FinagleBudget(0.2, 10.0, 5.0)
        assert granted(BudgetAccount(scaled), 0.0, 1000) == 50
    else:
        assert scaled == budget


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RatioBudget(-0.1), r"^ratio: must be finite and at least 0 \(got -0\.1\)"),
        (lambda: RatioBudget(math.inf), r"^ratio: must be finite"),
        (lambda: RatioBudget(0.1, 0.9), r"^reserve: must be finite and at least 1, a retry \(got 0\.9\)"),
        (lambda: WindowRatioBudget(1.1), r"^ratio: must lie in \[0, 1\] \(got 1\.1\)"),
        (lambda: WindowRatioBudget(0.1, 0.0), r"^window_s: must be positive and finite \(got 0\.0\)"),
        (lambda: AwsTokenBucket(-1), r"^capacity: must be finite and at least 0 \(got -1\)"),
        (lambda: AwsTokenBucket(timeout_cost=math.inf), r"^timeout_cost: must be finite"),
        (lambda: AwsTokenBucket(error_cost=math.nan), r"^error_cost: must be finite"),
        (lambda: AwsTokenBucket(throttle_cost=-5), r"^throttle_cost: must be finite"),
        (lambda: GrpcThrottle(0), r"^max_tokens: must be above 0 and at most 1000 \(got 0\)"),
        (lambda: GrpcThrottle(1001), r"^max_tokens: must be above 0 and at most 1000"),
        (lambda: GrpcThrottle(10, 0.0009), r"^token_ratio: must be finite and at least 0\.001"),
        (lambda: FinagleBudget(-1), r"^percent: must lie in \[0, 1000\] \(got -1\)"),
        (lambda: FinagleBudget(0.2, -1), r"^min_retries_per_s: must be finite and at least 0 \(got -1\)"),
        (lambda: FinagleBudget(0.2, 10, math.inf), r"^ttl_s: must be positive and finite \(got inf\)"),
        (lambda: EnvoyBudget(1.2), r"^percent: must lie in \[0, 1\] \(got 1\.2\)"),
        (
            lambda: EnvoyBudget(0.2, 2.5),
            r"^min_concurrent: must be a whole number of at least 0 \(got 2\.5\)",
        ),
    ],
)
def test_settings_that_make_no_rule(make, words: str) -> None:
    """Refused with the field, the rule and the value."""
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("budget", "ends"),
    [
        (NoBudget(), False),
        (RatioBudget(), True),
        (WindowRatioBudget(0.9), True),
        (WindowRatioBudget(1.0), False),
        (AwsTokenBucket(), True),
        (AwsTokenBucket(timeout_cost=0.0), True),
        (AwsTokenBucket(error_cost=0.0), False),
        (AwsTokenBucket(throttle_cost=0.0), False),
        (GrpcThrottle(), True),
        (FinagleBudget(), True),
        (EnvoyBudget(), False),
    ],
)
def test_a_budget_that_runs_out_refuses_a_job_that_fails_at_once(budget: RetryBudget, ends: bool) -> None:
    """A thousand times at one moment, each with one of the two causes that come at once."""
    assert runs_out(budget) is ends
    refused = []
    for cause in (FAILED, THROTTLED):
        account = BudgetAccount(budget)
        account.sent(0.0, 1)
        price, attempt = 0.0, 1
        while attempt <= 1000 and price != REFUSED:
            account.ended(0.0, attempt, False, price)
            price = account.price(0.0, cause)
            attempt += 1
            if price != REFUSED:
                account.sent(0.0, attempt)
        refused.append(price == REFUSED)
    assert all(refused) is ends
