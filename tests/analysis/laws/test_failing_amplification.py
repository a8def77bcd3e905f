"""Attempts per job under budgets and breakers: the laws against the very rules, simulated event by event."""

from __future__ import annotations

import heapq
import itertools
import math
import random
from dataclasses import replace

import pytest

from analysis import laws
from domain.attempts import Outcome
from domain.backoff import (
    DecorrelatedJitterBackoff,
    ExponentialBackoff,
    FixedBackoff,
    FullJitterBackoff,
    NoBackoff,
)
from domain.breakers.account import BreakerAccount
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.account import BudgetAccount
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.finagle import FinagleBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.ratio import RatioBudget
from domain.budgets.window_ratio import WindowRatioBudget
from domain.experiment import Client
from domain.hedging import Hedging
from domain.retry import Decision, Refused, RetryAfter

SEND, END, ASK = range(3)
SEEDS = range(4)


class Crowd:
    """The jobs of some clients against a service that fails each attempt with probability p.

    With p = 1 an attempt ends by its timeout, else at once by an error. Counted are jobs and attempts
    from ``from_s`` on, when the budgets' first savings are spent.
    """

    def __init__(self, client: Client, rate_per_s: float, p: float, seed: int) -> None:
        self.client, self.rate_per_s, self.p = client, rate_per_s, p
        self.flight_s = client.timeout_s if p == 1.0 else 0.0
        self.outcome = Outcome.TIMEOUT if p == 1.0 else Outcome.ERROR
        self.chance = random.Random(seed)
        self.budgets = [BudgetAccount(client.budget) for _ in range(client.clients)]
        self.breakers = [BreakerAccount(client.breaker) for _ in range(client.clients)]
        self.order = itertools.count()
        self.events: list[tuple[float, int, int, int, int, float, float, float]] = []

    def push(
        self, due_s: float, kind: int, job: int, attempt: int, price: float, before_s: float, until_s: float
    ):
        heapq.heappush(self.events, (due_s, next(self.order), kind, job, attempt, price, before_s, until_s))

    def attempts_per_job(self, from_s: float, end_s: float) -> float:
        """Of the jobs and attempts between the two times."""
        job = jobs = attempts = 0
        arrival_s = self.chance.expovariate(self.rate_per_s)
        while True:
            while self.events and self.events[0][0] <= min(arrival_s, end_s):
                attempts += self.handle(*heapq.heappop(self.events)) and self.now_s >= from_s
            if arrival_s >= end_s:
                return attempts / jobs
            job += 1
            jobs += arrival_s >= from_s
            self.push(arrival_s, SEND, job, 1, 0.0, 0.0, arrival_s + self.client.deadline_s)
            arrival_s += self.chance.expovariate(self.rate_per_s)

    def handle(
        self,
        now_s: float,
        _order: int,
        kind: int,
        job: int,
        attempt: int,
        price: float,
        before_s: float,
        until_s: float,
    ) -> bool:
        """One event; whether an attempt was sent."""
        self.now_s = now_s
        budget, breaker = (each[job % self.client.clients] for each in (self.budgets, self.breakers))
        outcome = Outcome.REFUSED
        if kind == SEND:
            if breaker.lets_through(now_s, self.chance.random()):
                budget.sent(now_s, attempt)
                end_s = min(now_s + self.flight_s, until_s)
                self.push(end_s, END, job, attempt, price, before_s, until_s)
                return True
            if attempt > 1:
                budget.withdrawn(price)
            if self.client.on_refusal == "give-up":
                return False
        elif kind == END:
            succeeded = self.chance.random() >= self.p
            budget.ended(now_s, attempt, succeeded, price)
            breaker.ended(now_s, succeeded)
            outcome = Outcome.OK if succeeded else self.outcome
        u = self.chance.random()
        decision: Decision = self.client.policy.decide(
            attempt, outcome, now_s, u, budget, previous_s=before_s, until_s=until_s
        )
        if isinstance(decision, RetryAfter | Refused):
            due_s = now_s + decision.delay_s
            step, paid = (SEND, decision.price) if isinstance(decision, RetryAfter) else (ASK, 0.0)
            self.push(due_s, step, job, attempt + 1, paid, decision.delay_s, until_s)
        return False


def measured(client: Client, rate: float, span: tuple[float, float], p: float = 1.0) -> tuple[float, float]:
    """Attempts per job over the seeds, and four standard errors of their mean."""
    found = [Crowd(client, rate, p, seed).attempts_per_job(*span) for seed in SEEDS]
    mean = sum(found) / len(found)
    variance = sum((each - mean) ** 2 for each in found) / (len(found) - 1)
    return mean, 4 * math.sqrt(variance / len(found))


PLAIN = Client(1.0, 4)


@pytest.mark.parametrize(
    ("client", "attempts"),
    [
        (Client(1.0, 3), 3.0),
        (Client(1.0, math.inf), math.inf),
        (Client(1.0, 3, budget=RatioBudget()), 1.1),
        (Client(1.0, 3, budget=RatioBudget(5.0)), 3.0),
        (Client(1.0, 3, budget=WindowRatioBudget()), 1 / 0.9),
        (Client(1.0, 3, budget=WindowRatioBudget(1.0)), 3.0),
        (Client(1.0, 3, budget=AwsTokenBucket()), 1.0),
        (Client(1.0, 3, budget=AwsTokenBucket(timeout_cost=0)), 3.0),
        (Client(1.0, 3, budget=GrpcThrottle()), 1.0),
        (Client(1.0, 3, budget=FinagleBudget()), 1 + 0.2 + 10 / 50),
        (Client(1.0, 3, budget=FinagleBudget(), clients=5), 1 + 0.2 + 10 / 10),
        (Client(1.0, 3, budget=EnvoyBudget(0, 0)), 1.0),
        (Client(1.0, 3, budget=EnvoyBudget(0.2, 0)), 1.25),
        (Client(1.0, 3, FixedBackoff(0.5), budget=EnvoyBudget(0.2, 0)), 1 + 0.2 / 1.3),
        (Client(1.0, 3, deadline_s=2.5), 3.0),
        (Client(1.0, 3, deadline_s=2.0), 2.0),
        (Client(1.0, 9, ExponentialBackoff(1.0, 8.0), deadline_s=7.5), 3.0),
        (Client(0.1, math.inf, deadline_s=500.0), 5000.0),
        (Client(1.0, 3, hedging=Hedging(4, 0.5)), 4.0),
        (Client(1.0, 3, hedging=Hedging(4, 5.0)), 4.0),
        (Client(1.0, 3, hedging=Hedging(4, 0.5), deadline_s=1.0), 2.0),
        (Client(1.0, 3, hedging=Hedging(4, 0.0), deadline_s=1.0), 4.0),
        (Client(1.0, 3, hedging=Hedging(4, 5.0), deadline_s=2.5), 3.0),
        (Client(1.0, 3, hedging=Hedging(4, 0.5), budget=RatioBudget()), 1.1),
    ],
)
def test_by_hand(client: Client, attempts: float) -> None:
    """50 jobs/s; of the copies of hedging each failure brings one forward, and none goes at the deadline."""
    assert laws.failing_amplification(client, 50.0) == pytest.approx(attempts, rel=1e-6)


@pytest.mark.parametrize(
    ("client", "rate", "span", "bias"),
    [
        (replace(PLAIN, budget=RatioBudget()), 50, (50, 250), 0.001),
        (replace(PLAIN, budget=WindowRatioBudget()), 50, (20, 220), 0.002),
        (replace(PLAIN, budget=WindowRatioBudget()), 2, (20, 1020), 0.02),
        (replace(PLAIN, budget=AwsTokenBucket()), 50, (20, 120), 0.0),
        (replace(PLAIN, budget=GrpcThrottle()), 50, (20, 120), 0.0),
        (replace(PLAIN, budget=FinagleBudget()), 50, (100, 300), 0.002),
        (replace(PLAIN, budget=FinagleBudget(), clients=4), 100, (50, 200), 0.002),
        (replace(PLAIN, backoff=FixedBackoff(0.5), budget=EnvoyBudget(0, 3)), 20, (20, 520), 0.0),
        (replace(PLAIN, budget=EnvoyBudget(0, 3)), 1, (20, 4020), 0.0),
        (replace(PLAIN, backoff=FullJitterBackoff(0.5, 4.0), budget=EnvoyBudget(0, 3)), 1, (20, 4020), 0.0),
        (replace(PLAIN, backoff=FixedBackoff(0.5), budget=EnvoyBudget()), 200, (20, 120), 0.003),
        (Client(1.0, 6, FullJitterBackoff(0.5, 4.0), deadline_s=5.0), 50, (20, 120), 0.001),
        (Client(1.0, math.inf, DecorrelatedJitterBackoff(0.5, 4.0), deadline_s=5.0), 50, (20, 120), 0.001),
        (
            Client(1.0, math.inf, DecorrelatedJitterBackoff(0.5, 4.0), budget=EnvoyBudget(0, 3)),
            5,
            (20, 820),
            0.001,
        ),
        (
            replace(PLAIN, budget=RatioBudget(), on_refusal="retry", backoff=FixedBackoff(0.1)),
            20,
            (50, 450),
            0.001,
        ),
    ],
    ids=lambda value: f"{value.budget.kind}, {value.backoff.kind}" if isinstance(value, Client) else None,
)
def test_failing_under_budgets_and_deadlines(client: Client, rate: float, span, bias: float) -> None:
    """Within four standard errors and a bias: retries, places and slices are whole, the law's are not."""
    law = laws.failing_amplification(client, rate)
    found, error = measured(client, rate, span)
    assert found == pytest.approx(law, abs=error + bias * law + 1e-12)


@pytest.mark.parametrize(
    ("client", "rate", "span", "bias"),
    [
        (replace(PLAIN, breaker=AdaptiveThrottle(window_s=20)), 5, (100, 6000), 0.0),
        (replace(PLAIN, breaker=AdaptiveThrottle(window_s=2)), 2, (20, 6000), 0.0),
        (replace(PLAIN, breaker=AdaptiveThrottle(window_s=10), clients=5), 10, (50, 4000), 0.05),
        (
            replace(
                PLAIN, breaker=AdaptiveThrottle(window_s=8), on_refusal="retry", backoff=FixedBackoff(0.5)
            ),
            5,
            (50, 4000),
            0.03,
        ),
        (replace(PLAIN, breaker=CircuitBreaker()), 50, (100, 2100), 0.01),
        (replace(PLAIN, breaker=CircuitBreaker.polly()), 20, (100, 4100), 0.01),
        (replace(PLAIN, breaker=CircuitBreaker(open_s=10)), 3, (200, 6000), 0.03),
        (replace(PLAIN, breaker=CircuitBreaker(open_s=10, half_open_s=0.5)), 50, (100, 2100), 0.02),
        (replace(PLAIN, breaker=CircuitBreaker(open_s=10), budget=RatioBudget()), 3, (400, 6000), 0.03),
    ],
    ids=lambda value: value.breaker.kind if isinstance(value, Client) else None,
)
def test_failing_under_breakers(client: Client, rate: float, span, bias: float) -> None:
    """Within four standard errors and a bias: means stand for chances, and jobs in turn are more regular."""
    law = laws.failing_amplification(client, rate)
    found, error = measured(client, rate, span)
    assert error < 0.2 * law
    assert found == pytest.approx(law, abs=error + bias * law)


def test_throttled_clients_send_one_attempt_a_window_whatever_k_is() -> None:
    """1/(λW) per job at 100 jobs/s and two minutes (11,750 calls): hardly anything, less the more calls."""
    found = [
        laws.failing_amplification(Client(1.0, 3, breaker=AdaptiveThrottle(k)), 100.0)
        for k in (1.1, 2.0, 5.0)
    ]
    assert found == pytest.approx([1 / 11_750] * 3, rel=1e-3)
    client = Client(1.0, 3, breaker=AdaptiveThrottle())
    assert laws.failing_amplification(client, 1e6) < 1e-7
    assert laws.failing_amplification(client, 0.0) == 3.0
    assert laws.failing_amplification(replace(client, max_attempts=math.inf), 100.0) == pytest.approx(
        1 / 11_750, rel=1e-3
    )


def test_a_circuit_breaker_sends_its_probes() -> None:
    """Ten in 60 s open, 10/50 s for the probes to come and 1 s for the last to time out, of 50 jobs/s."""
    client = Client(1.0, 3, breaker=CircuitBreaker())
    assert laws.failing_amplification(client, 50.0) == pytest.approx(10 / (50 * 61.2), rel=1e-12)
    rare = replace(client, breaker=CircuitBreaker.polly())
    assert laws.failing_amplification(rare, 1.0) == 3.0, "90 calls in 30 s never make the minimum of 100"
    assert laws.failing_amplification(client, 0.0) == 3.0


def test_cycles_of_a_breaker_overlap_if_it_is_open_for_less_than_a_timeout() -> None:
    """By up to 1 + ⌊1/.3⌋ = 4 in some runs; not at all with an open time above the timeout."""
    for open_s, most in ((0.3, 4.0), (1.2, 1.0)):
        client = Client(1.0, 1, breaker=replace(CircuitBreaker.polly(), window_s=3.0, open_s=open_s))
        law = laws.failing_amplification(client, 60.0)
        found = [Crowd(client, 60.0, 1.0, seed).attempts_per_job(100, 300) / law for seed in range(10)]
        assert all(0.95 < each < 1.05 * most for each in found)
        assert (max(found) > 1.3) is (most > 1)


@pytest.mark.parametrize("p", [0.0, 0.05, 0.2, 0.35, 0.5, 0.9, 1.0])
def test_at_p_without_a_budget(p: float) -> None:
    """(1 − p^m)/(1 − p), for copies as for attempts; the deadline leaves room for two backoffs of three."""
    assert laws.amplification_at(PLAIN, 50.0, p) == pytest.approx(laws.retry_amplification(4, p), rel=1e-12)
    hedged = replace(PLAIN, max_attempts=2, hedging=Hedging(4, 0.5))
    assert laws.amplification_at(hedged, 50.0, p) == pytest.approx(laws.retry_amplification(4, p), rel=1e-12)
    endless = replace(PLAIN, max_attempts=math.inf)
    assert laws.amplification_at(endless, 50.0, p) == pytest.approx(1 / (1 - p) if p < 1 else math.inf)
    hurried = replace(PLAIN, backoff=FixedBackoff(1.0), deadline_s=2.5)
    assert laws.amplification_at(hurried, 50.0, p) == pytest.approx(1 + p + p**2, rel=1e-12)


@pytest.mark.parametrize("p", [0.05, 0.2, 0.35, 0.5, 0.9])
@pytest.mark.parametrize(
    "budget",
    [
        RatioBudget(),
        WindowRatioBudget(),
        AwsTokenBucket(),
        AwsTokenBucket(500, 14, 14, 5),
        GrpcThrottle(),
        FinagleBudget(0.1, 1.0),
        EnvoyBudget(0, 3),
    ],
    ids=lambda budget: budget.kind,
)
def test_at_p_under_budgets(budget, p: float) -> None:
    """Within four standard errors and .3%, which whole retries in a window of 500 and slices of time take."""
    backoff = FullJitterBackoff(0.2, 1.0) if isinstance(budget, EnvoyBudget) else NoBackoff()
    client = replace(PLAIN, backoff=backoff, budget=budget)
    law = laws.amplification_at(client, 50.0, p)
    found, error = measured(client, 50.0, (150.0, 400.0), p)
    assert found == pytest.approx(law, abs=error + 0.003 * law)


def test_aws_at_its_drain_point() -> None:
    """There the bucket pays for exactly the retries that are wanted, and above for fewer."""
    for cost in (5.0, 14.0):
        client = Client(1.0, 3, budget=AwsTokenBucket(500, cost, cost, cost))
        point = laws.aws_drain_point(cost, 3)
        assert 1 + (1 - point) / (cost * point) == pytest.approx(
            laws.retry_amplification(3, point), rel=1e-12
        )
        below = laws.retry_amplification(3, point - 0.01)
        assert laws.amplification_at(client, 50.0, point - 0.01) == pytest.approx(below, rel=1e-12)
        assert laws.amplification_at(client, 50.0, point + 0.01) < laws.retry_amplification(3, point + 0.01)
    assert laws.amplification_at(Client(1.0, 3, budget=AwsTokenBucket(4.0)), 50.0, 0.5) == 1.0


def test_envoy_when_errors_take_no_time() -> None:
    """Without a backoff a place is never taken for long, so all retries go; without a place none do."""
    assert laws.amplification_at(replace(PLAIN, budget=EnvoyBudget(0, 3)), 50.0, 0.5) == 1.875
    assert laws.amplification_at(replace(PLAIN, budget=EnvoyBudget(0.2, 0)), 50.0, 0.5) == 1.0


def test_values_outside_the_domain() -> None:
    """Both say which."""
    with pytest.raises(
        laws.DomainError, match=r"^arrival_rate_per_s: must be finite and at least 0 \(got -1"
    ):
        laws.failing_amplification(PLAIN, -1.0)
    with pytest.raises(laws.DomainError, match=r"^failure_probability: must lie in \[0, 1\] \(got 1\.1\)"):
        laws.amplification_at(PLAIN, 1.0, 1.1)
