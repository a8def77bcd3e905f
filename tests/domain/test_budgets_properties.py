"""What holds of the retry budgets after any history, and that compiled they are the same rules."""

from __future__ import annotations

import math
import random
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.compiled import compiled_rule
from domain.budgets import decide
from domain.budgets.account import BudgetAccount
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.decide import FAILED, REFUSED, THROTTLED, TIMED_OUT, RetryBudget
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import BINS, WindowRatioBudget

BUDGETS: tuple[RetryBudget, ...] = (
    NoBudget(),
    RatioBudget(0.3, 2.5),
    WindowRatioBudget(0.25, 4.0),
    AwsTokenBucket(40.0),
    GrpcThrottle(10.0, 0.3),
    FinagleBudget(0.25, 0.5, 4.0),
    EnvoyBudget(0.3, 1.0),
)
CAUSES = (TIMED_OUT, FAILED, THROTTLED)
kinds = pytest.mark.parametrize("budget", BUDGETS, ids=[budget.kind for budget in BUDGETS])
steps = st.lists(
    st.tuples(
        st.sampled_from(["first", "ask", "ask", "send", "succeed", "fail", "withdraw"]),
        st.sampled_from([0.0, 0.01, 0.1, 0.2, 0.7, 3.0]),
        st.sampled_from(CAUSES),
    ),
    max_size=150,
)


@dataclass
class Client:
    """Attempts of one client and the state of its budget, in the order of calls that budgets ask for."""

    budget: RetryBudget
    now_s: float = 0.0
    state: list[float] = field(default_factory=list)
    paid: list[float] = field(default_factory=list)
    in_flight: list[tuple[int, float]] = field(default_factory=list)
    firsts_s: list[float] = field(default_factory=list)
    retries_s: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.state = [-7.0] * self.budget.state_size  # whatever was there before
        decide.begin(self.budget.code, self.budget.parameters, self.state)

    def ask(self, cause: int) -> float:
        """Ask for a retry and keep it to be sent if it is allowed."""
        price = decide.price(self.budget.code, self.budget.parameters, self.state, self.now_s, cause)
        if price != REFUSED:
            self.paid.append(price)
            self.retries_s.append(self.now_s)
        return price

    def take(self, step: str, wait_s: float, cause: int) -> float:
        """One thing happens, after a while; what a retry cost if one was asked for, else ``REFUSED``."""
        code, numbers = self.budget.code, self.budget.parameters
        self.now_s += wait_s
        if step == "ask":
            return self.ask(cause)
        if step == "first":
            decide.note_sent(code, numbers, self.state, self.now_s, 1)
            self.firsts_s.append(self.now_s)
            self.in_flight.append((1, 0.0))
        elif step == "send" and self.paid:
            decide.note_sent(code, numbers, self.state, self.now_s, 2)
            self.in_flight.append((2, self.paid.pop(0)))
        elif step == "withdraw" and self.paid:
            decide.take_back(code, numbers, self.state, self.paid.pop())
            self.retries_s.pop()
        elif step in ("succeed", "fail") and self.in_flight:
            attempt, price = self.in_flight.pop(0)
            decide.note_ended(code, numbers, self.state, self.now_s, attempt, step == "succeed", price)
        return REFUSED


@given(steps=steps, ratio=st.floats(0, 2), reserve=st.floats(1, 5))
def test_ratio_over_any_window_that_ends_at_a_retry_it_allowed(steps, ratio: float, reserve: float) -> None:
    """Retries in (s, t] are at most the reserve and β for each first attempt in it, for every start s."""
    budget = BudgetAccount(RatioBudget(ratio, reserve))
    history: list[bool] = []
    for step, _, cause in steps:
        if step == "first":
            budget.sent(0.0, 1)
            history.append(True)
        elif budget.price(0.0, cause) != REFUSED:
            history.append(False)
            firsts = retries = 0
            for is_first in reversed(history):
                firsts, retries = firsts + is_first, retries + (not is_first)
                assert retries <= reserve + ratio * firsts + 1e-6


@given(steps=steps, ratio=st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0]))
def test_window_ratio_says_yes_exactly_when_the_window_allows_it(steps, ratio: float) -> None:
    """Of all first attempts sent and retries allowed in the last 20 bins, the new one included, at most β."""
    client, width_s = Client(WindowRatioBudget(ratio, 4.0)), 4.0 / BINS
    for step, wait_s, cause in steps:
        if step == "withdraw":
            continue
        before = len(client.retries_s)
        price = client.take(step, wait_s, cause)
        if step != "ask":
            continue
        newest = math.floor(client.now_s / width_s)
        firsts, retries = (
            sum(newest - BINS < math.floor(t / width_s) <= newest for t in times)
            for times in (client.firsts_s, client.retries_s[:before])
        )
        assert (price == 1.0) == (retries + 1 <= ratio * (firsts + retries + 1) + 1e-9)


@given(
    steps=steps, percent=st.sampled_from([0.0, 0.1, 0.2, 0.5, 2.0]), least=st.sampled_from([0.0, 0.5, 2.0])
)
def test_finagle_says_yes_exactly_when_its_slices_allow_it(steps, percent: float, least: float) -> None:
    """Retries of the slices kept, the new one included: at most min · ttl and percent of the jobs in them."""
    client, slice_s = Client(FinagleBudget(percent, least, 4.0)), 0.4
    number, since_s = 0, None
    jobs: Counter[int] = Counter()
    retries: Counter[int] = Counter()
    for step, wait_s, cause in steps:
        if step == "withdraw":
            continue
        price = client.take(step, wait_s, cause)
        if step not in ("ask", "first"):
            continue
        since_s = client.now_s if since_s is None else since_s
        passed = math.floor((client.now_s - since_s) / slice_s)
        if passed >= 1:
            number, since_s = number + passed, client.now_s
        if step == "first":
            jobs[number] += 1
            continue
        kept = range(number - 9, number + 1)
        wanted = sum(retries[n] for n in kept) + 1
        assert (price != REFUSED) == (wanted <= least * 4.0 + percent * sum(jobs[n] for n in kept) + 1e-9)
        retries[number] += price != REFUSED


@given(steps=steps, percent=st.sampled_from([0.0, 0.2, 0.3, 1.0]), least=st.integers(0, 3))
def test_envoy_says_yes_exactly_when_a_place_is_free(steps, percent: float, least: int) -> None:
    """Retries paid for and not over are below max(⌊percent · in flight⌋, min)."""
    client = Client(EnvoyBudget(percent, least))
    for step, wait_s, cause in steps:
        on = len(client.paid) + sum(attempt > 1 for attempt, _ in client.in_flight)
        places = max(math.floor(percent * len(client.in_flight) + 1e-9), least)
        price = client.take(step, wait_s, cause)
        if step == "ask":
            assert (price == 1.0) == (on < places)


@given(steps=steps)
def test_tokens_stay_between_empty_and_full(steps) -> None:
    """AWS's and gRPC's buckets and the ratio's balance, after any history."""
    most = {"ratio": 2.5, "aws-token-bucket": 40.0, "grpc-throttle": 10_000.0}
    for client in [Client(budget) for budget in BUDGETS if budget.kind in most]:
        for step in steps:
            client.take(*step)
            assert 0.0 <= client.state[0] <= most[client.budget.kind]


@kinds
@given(steps=steps)
def test_what_is_taken_back_is_as_if_it_had_never_been_paid(budget: RetryBudget, steps) -> None:
    """At any point of any history; a refusal changes nothing either."""
    client = Client(budget)
    for step in steps:
        client.take(*step)
        trial = list(client.state)
        decide.note_sent(budget.code, budget.parameters, trial, client.now_s, 1)  # moves windows on
        before = list(trial)
        price = decide.price(budget.code, budget.parameters, trial, client.now_s, TIMED_OUT)
        if price != REFUSED:
            decide.take_back(budget.code, budget.parameters, trial, price)
        assert trial == pytest.approx(before, abs=1e-9)


@given(steps=steps)
def test_a_price_is_what_was_paid(steps) -> None:
    """Tokens, balances and places change by the price; gRPC's retries cost nothing."""
    sign = {"ratio": -1, "aws-token-bucket": -1, "envoy": 1, "grpc-throttle": 0}
    for client in [Client(budget) for budget in BUDGETS if budget.kind in sign]:
        at = 1 if client.budget.kind == "envoy" else 0
        for step, wait_s, cause in steps:
            before = client.state[at]
            price = client.take(step, wait_s, cause)
            if step == "ask":
                changed = sign[client.budget.kind] * price if price != REFUSED else 0.0
                assert client.state[at] == pytest.approx(before + changed, abs=1e-9)
                assert price == REFUSED or price >= 0.0


@kinds
@given(steps=steps)
def test_begin_forgets_everything(budget: RetryBudget, steps) -> None:
    """After any history the state is that of a new budget."""
    client = Client(budget)
    for step in steps:
        client.take(*step)
    decide.begin(budget.code, budget.parameters, client.state)
    assert client.state == Client(budget).state


@kinds
@given(steps=steps)
def test_a_budget_in_another_unit_of_time_decides_alike(budget: RetryBudget, steps) -> None:
    """Half the durations at half the times, where the reserve that a rate makes is left out of it."""
    if isinstance(budget, FinagleBudget):
        budget = FinagleBudget(budget.percent, 0.0, budget.ttl_s)
    whole, half = Client(budget), Client(budget.scaled(0.5))
    for step, wait_s, cause in steps:
        assert whole.take(step, wait_s, cause) == half.take(step, wait_s / 2, cause)


@kinds
def test_the_compiled_rules_give_the_same_numbers(budget: RetryBudget) -> None:
    """Every price over a long random history in which it says both yes and no."""
    names = ("begin", "price", "note_sent", "note_ended", "take_back")
    compiled = {name: compiled_rule(getattr(decide, name)) for name in names}
    code, numbers, state = budget.code, np.array(budget.parameters), np.full(budget.state_size, -7.0)
    compiled["begin"](code, numbers, state)
    account, chance, now_s, paid = BudgetAccount(budget), random.Random(1), 0.0, [0.0]
    prices: list[float] = []
    for _ in range(5000):
        now_s += chance.expovariate(20.0)
        step, cause = chance.choice(("first", "price", "ended", "withdrawn")), chance.choice(CAUSES)
        if step == "first":
            account.sent(now_s, 1)
            compiled["note_sent"](code, numbers, state, now_s, 1)
        elif step == "price":
            prices.append(account.price(now_s, cause))
            assert compiled["price"](code, numbers, state, now_s, cause) == prices[-1]
            paid += [price for price in prices[-1:] if price != REFUSED]
        elif step == "ended":
            price, succeeded = paid.pop() if len(paid) > 1 else 0.0, chance.random() < 0.7
            account.ended(now_s, 1 + (price > 0), succeeded, price)
            compiled["note_ended"](code, numbers, state, now_s, 1 + (price > 0), succeeded, price)
        elif len(paid) > 1:
            account.withdrawn(paid[-1])
            compiled["take_back"](code, numbers, state, paid.pop())
    assert {price == REFUSED for price in prices} == ({False} if budget.kind == "none" else {True, False})
