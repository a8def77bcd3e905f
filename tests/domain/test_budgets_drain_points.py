"""Where budgets run dry when each attempt fails independently: simulated, against ``analysis.laws``."""

from __future__ import annotations

import math
import random

import pytest

from analysis import laws
from domain.budgets.account import BudgetAccount
from domain.budgets.aws import AwsTokenBucket
from domain.budgets.decide import FAILED, REFUSED, RetryBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.none import NoBudget

JOBS = 60_000


def run(budget: RetryBudget, p: float, max_attempts: int, jobs: int = JOBS) -> tuple[float, float]:
    """Of the second half of the jobs, run one by one: attempts per job, and the share of retries refused."""
    account, chance = BudgetAccount(budget), random.Random(7)
    attempts = asked = refused = 0
    for job in range(jobs):
        attempt, price, counts = 1, 0.0, job >= jobs // 2
        while True:
            account.sent(float(job), attempt)
            attempts += counts
            succeeded = chance.random() >= p
            account.ended(float(job), attempt, succeeded, price)
            if succeeded or attempt == max_attempts:
                break
            price = account.price(float(job), FAILED)
            asked += counts
            if price == REFUSED:
                refused += counts
                break
            attempt += 1
    return attempts / (jobs - jobs // 2), refused / asked


@pytest.mark.parametrize("cost", [14.0, 5.0])
def test_the_aws_bucket_drains_above_its_point_and_not_below(cost: float) -> None:
    """.2149 at a cost of 14 and .3207 at 5, for three attempts; looked at .02 on either side."""
    point = laws.aws_drain_point(cost, 3)
    assert point == pytest.approx({14.0: 0.2149, 5.0: 0.3207}[cost], abs=5e-5)
    budget = AwsTokenBucket(500.0, cost, cost, cost)
    below, above = run(budget, point - 0.02, 3), run(budget, point + 0.02, 3)
    assert below[1] == 0.0
    assert above[1] > 0.02
    assert below[0] == pytest.approx(laws.retry_amplification(3, point - 0.02), abs=0.015)
    # Drained, it pays for (1 − p)/(c·p) retries per job.
    p = point + 0.02
    assert above[0] == pytest.approx(1 + (1 - p) / (cost * p), abs=0.015)


def test_the_grpc_throttle_drains_above_one_failure_in_eleven() -> None:
    """A large bucket, looked at .02 on either side of 1/11: no retry is refused below, all are above."""
    budget = GrpcThrottle(1000.0, 0.1)
    assert run(budget, 1 / 11 - 0.02, 3)[1] == 0.0
    assert run(budget, 1 / 11 + 0.02, 3) == (1.0, 1.0)


def test_the_grpc_throttle_of_ten_tokens() -> None:
    """Chance blurs the point of so small a bucket: at 5% and 20% failures it is still on its side."""
    assert run(GrpcThrottle(), 0.05, 3)[1] < 0.01
    assert run(GrpcThrottle(), 0.20, 3)[1] > 0.99


@pytest.mark.parametrize(
    ("budget", "attempts"),
    [
        (NoBudget(), 1.875),
        (AwsTokenBucket(), 1.2),
        (AwsTokenBucket(500, 14, 14, 5), 1 + 1 / 14),
        (GrpcThrottle(), 1.0),
    ],
    ids=["none", "aws", "aws of 2026", "grpc"],
)
def test_three_retries_when_every_second_attempt_fails(budget: RetryBudget, attempts: float) -> None:
    """1.875 attempts a job without a budget; a drained AWS bucket pays for (1 − p)/(c·p) = 1/c retries.

    Tolerance: four standard errors of 30,000 jobs; the number of attempts varies by 1.05 without a budget,
    and with a bucket the retries are tied to the first tries that succeed, whose variance is less.
    """
    assert run(budget, 0.5, 4)[0] == pytest.approx(attempts, abs=4 * 1.05 / math.sqrt(JOBS / 2))
