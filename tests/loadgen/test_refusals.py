"""What the client's own budgets and breakers refuse, and what the trace says of it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from domain.attempts import Outcome
from domain.backoff import FixedBackoff
from domain.breakers.adaptive_throttle import AdaptiveThrottle
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.ratio import RatioBudget
from domain.experiment import Client
from tests.loadgen.scripted import BROKEN, BUSY, Played, Reply, play

JOBS = 10
"""Of ``play``: ten evenly spaced jobs in a second."""


def retries(played: Played) -> int:
    """Attempts after the first that were sent."""
    sent = played.trace[played.trace.outcome != Outcome.REFUSED.value]
    return int((sent.index.get_level_values("attempt") > 1).sum())


def test_a_budget_ends_jobs_and_says_so(tmp_path: Path) -> None:
    """Three retries are in hand: three are sent, and each other job ends with a terminal refusal."""
    client = Client(1.0, 2, budget=RatioBudget(ratio=0.0, reserve=3.0))
    played = play(client, {1: BUSY}, tmp_path)
    refused = played.of(Outcome.REFUSED)
    assert retries(played) == 3
    assert len(refused) == JOBS - 3
    assert set(refused.reason) == {"budget"}
    assert refused.terminal.all()
    assert played.refusals == {"budget": JOBS - 3}
    first = played.trace.xs(1, level="attempt").loc[refused.index.get_level_values("job_id")]
    np.testing.assert_array_equal(refused.planned_s, first.done_s)
    assert played.trace[played.trace.outcome != "refused"][["reason", "terminal"]].isna().all(axis=None)


def test_each_client_has_a_budget_of_its_own(tmp_path: Path) -> None:
    """Two clients take the jobs in turn; each has two retries in hand."""
    client = Client(1.0, 2, budget=RatioBudget(ratio=0.0, reserve=2.0), clients=2)
    played = play(client, {1: BUSY}, tmp_path)
    retried = played.of(Outcome.REJECTED).query("attempt == 2").index.get_level_values("job_id")
    assert retried.tolist() == [0, 1, 2, 3]
    one = play(Client(1.0, 2, budget=RatioBudget(ratio=0.0, reserve=2.0)), {1: BUSY}, tmp_path / "one")
    assert retries(one) == 2


def test_a_budget_spent_unevenly_by_two_clients(tmp_path: Path) -> None:
    """A client that has spent its budget gets nothing of the other's: three clients, one retry each."""
    client = Client(1.0, 4, budget=RatioBudget(ratio=0.0, reserve=1.0), clients=3)
    played = play(client, {1: BUSY}, tmp_path)
    retried = played.of(Outcome.REJECTED).query("attempt > 1").index.tolist()
    assert retried == [(0, 2), (1, 2), (2, 2)]


def test_a_refusal_that_is_retried_is_not_terminal(tmp_path: Path) -> None:
    """It uses up a number and a backoff, as an attempt that failed at once would."""
    client = Client(
        1.0, 3, FixedBackoff(0.05), budget=RatioBudget(ratio=0.0, reserve=1.0), on_refusal="retry"
    )
    played = play(client, {1: BUSY}, tmp_path, rate_per_s=3.0)
    assert played.of(Outcome.REJECTED).index.tolist() == [(0, 1), (0, 2), (1, 1), (2, 1)]
    refused = played.of(Outcome.REFUSED)
    assert refused.index.tolist() == [(0, 3), (1, 2), (1, 3), (2, 2), (2, 3)]
    assert not refused.terminal.any()
    assert refused.loc[(1, 2)].planned_s == played.trace.loc[(1, 1)].done_s
    assert refused.loc[(1, 3)].planned_s >= refused.loc[(1, 2)].planned_s + 0.05 - 0.002


@pytest.mark.parametrize("most", [math.inf, 1001])
def test_an_endless_client_whose_budget_refuses_is_paced_and_can_end(most: float, tmp_path: Path) -> None:
    """Without attempt limit (or one to speak of) and backoff, at most one refusal in 10 ms for each job."""
    client = Client(1.0, most, budget=RatioBudget(ratio=0.0, reserve=1.0), on_refusal="retry")
    played = play(client, {1: BROKEN}, tmp_path, rate_per_s=2.0)
    gaps = played.of(Outcome.REFUSED).groupby("job_id").planned_s.diff().dropna()
    assert len(gaps) > 10
    assert gaps.min() >= 0.01 - 0.002
    assert played.health["elapsed_s"] < 20


def test_a_circuit_breaker_opens_and_refuses_first_attempts(tmp_path: Path) -> None:
    """After five failures of five nothing is sent, and every job of the plan is accounted for."""
    breaker = CircuitBreaker(failure_ratio=0.5, window_calls=5, min_calls=5, open_s=60.0)
    played = play(Client(1.0, 1, breaker=breaker), {1: BUSY}, tmp_path)
    refused = played.of(Outcome.REFUSED)
    assert refused.index.tolist() == [(job, 1) for job in range(5, JOBS)]
    assert set(refused.reason) == {"breaker"}
    assert refused.terminal.all()
    np.testing.assert_allclose(refused.planned_s, [0.55, 0.65, 0.75, 0.85, 0.95])
    assert (refused.sent_s >= refused.planned_s).all()
    assert played.health["sent"] == 5
    assert played.health["first_refused"] == JOBS - 5
    assert played.health["planned"] == JOBS


def test_each_client_has_a_breaker_of_its_own(tmp_path: Path) -> None:
    """Two failures open a breaker, and two clients take the jobs in turn: four jobs are sent."""
    breaker = CircuitBreaker(failure_ratio=1.0, window_calls=2, min_calls=2, open_s=60.0)
    played = play(Client(1.0, 1, breaker=breaker, clients=2), {1: BUSY}, tmp_path)
    assert played.of(Outcome.REJECTED).index.get_level_values("job_id").tolist() == [0, 1, 2, 3]


def test_a_breaker_that_is_retried_uses_up_attempts(tmp_path: Path) -> None:
    """The refusal counts as a failed attempt; when the breaker is half-open again the retry goes out."""
    breaker = CircuitBreaker(failure_ratio=1.0, window_calls=1, min_calls=1, open_s=0.25, probes=1)
    client = Client(1.0, 3, FixedBackoff(0.2), breaker=breaker, on_refusal="retry")
    played = play(client, {1: BUSY, 3: Reply(0.0)}, tmp_path, rate_per_s=1.0, duration_s=1.5)
    assert played.trace.loc[0].outcome.tolist() == ["rejected", "refused", "ok"]
    assert played.trace.loc[(0, 2)].terminal == False  # noqa: E712 - a null would pass for a falsehood
    assert played.trace.loc[(0, 2)].planned_s == played.trace.loc[(0, 1)].done_s + 0.2


def test_a_retry_that_the_breaker_refuses_is_withdrawn_from_the_budget(tmp_path: Path) -> None:
    """Two retries are in hand, and none is ever sent: the breaker opens before each, so both stay."""
    breaker = CircuitBreaker(failure_ratio=1.0, window_calls=2, min_calls=2, open_s=0.3, probes=2)
    client = Client(1.0, 2, FixedBackoff(0.15), budget=RatioBudget(ratio=0.0, reserve=2.0), breaker=breaker)
    played = play(client, {1: BUSY}, tmp_path, duration_s=2.0)
    refused = played.of(Outcome.REFUSED)
    assert retries(played) == 0
    assert set(refused.reason) == {"breaker"}
    assert (refused.index.get_level_values("attempt") == 2).sum() >= 4


def test_adaptive_throttling_refuses_at_random(tmp_path: Path) -> None:
    """Nothing is ever accepted: after n calls the next is refused with n/(n + 1), so few of 100 pass."""
    client = Client(1.0, 1, breaker=AdaptiveThrottle(window_s=60.0))
    played = play(client, {1: BUSY}, tmp_path, rate_per_s=100.0)
    sent = len(played.of(Outcome.REJECTED))
    assert 1 <= sent <= 15  # the mean is the sum of 1/n, 5.2; the draws are those of the seed
    assert len(played.of(Outcome.REFUSED)) == 100 - sent


@pytest.mark.parametrize("clients", [1, 7])
def test_without_budget_and_breaker_nothing_is_refused(clients: int, tmp_path: Path) -> None:
    """All attempts go out, however many clients there are."""
    played = play(Client(1.0, 3, clients=clients), {1: BUSY}, tmp_path)
    assert len(played.of(Outcome.REJECTED)) == len(played.trace) == 3 * JOBS
