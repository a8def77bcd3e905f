"""Copies of a request: when they go out, and what becomes of those that are not needed any more."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from domain.attempts import Outcome
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.decide import RetryBudget
from domain.budgets.envoy import EnvoyBudget
from domain.budgets.grpc import GrpcThrottle
from domain.budgets.ratio import RatioBudget
from domain.experiment import Client, Demand, Experiment, Phase
from domain.hedging import Hedging
from tests.loadgen.generation import generate
from tests.loadgen.scripted import BUSY, SILENCE, Reply, play
from tests.servers import OK, Conversation, serving

THREE = Hedging(copies=3, delay_s=0.1)


def hedging(**settings: object) -> Client:
    """A client that sends three copies, a tenth of a second apart."""
    return Client(**({"timeout_s": 0.5, "hedging": THREE} | settings))  # type: ignore[arg-type]


def test_copies_go_out_one_delay_apart_until_there_are_no_more(tmp_path: Path) -> None:
    """Nothing answers: three copies at their times, each with a timeout of its own."""
    played = play(hedging(), {1: SILENCE}, tmp_path, rate_per_s=2.0, duration_s=2.0)
    first = played.trace.xs(1, level="attempt").planned_s
    for number in (2, 3):
        np.testing.assert_allclose(
            played.trace.xs(number, level="attempt").planned_s, first + (number - 1) * 0.1, atol=1e-9
        )
    assert set(played.trace.index.get_level_values("attempt")) == {1, 2, 3}
    assert (played.trace.sent_s >= played.trace.planned_s - 0.002).all()
    assert {call["timeout_s"] for call in played.calls.values()} == {0.5}


def test_the_first_answer_cancels_the_other_copies(tmp_path: Path) -> None:
    """The second copy is answered: the first ends at that moment, and a third is never sent."""
    played = play(hedging(), {1: SILENCE, 2: Reply(0.05)}, tmp_path, rate_per_s=4.0)
    first, second = (played.trace.xs(number, level="attempt") for number in (1, 2))
    assert set(played.trace.index.get_level_values("attempt")) == {1, 2}
    assert set(first.outcome) == {"cancelled"}
    assert set(second.outcome) == {"ok"}
    np.testing.assert_array_equal(first.done_s, second.done_s)
    for job in first.index:
        assert played.calls[job, 1]["hung_up_s"] >= second.done_s.loc[job]
        assert played.calls[job, 1]["hung_up_s"] < second.sent_s.loc[job] + 0.4  # its timeout is at +0.4
        assert played.calls[job, 2]["hung_up_s"] is None
    assert played.inflight == 0


def test_a_late_answer_of_the_first_copy_ends_the_second(tmp_path: Path) -> None:
    """Whichever copy is answered first wins."""
    played = play(hedging(), {1: Reply(0.15), 2: SILENCE}, tmp_path, rate_per_s=4.0)
    assert set(played.trace.xs(1, level="attempt").outcome) == {"ok"}
    assert set(played.trace.xs(2, level="attempt").outcome) == {"cancelled"}


def test_a_copy_that_fails_brings_the_next_forward(tmp_path: Path) -> None:
    """It goes out at the failure, and the delays run from there."""
    script = {1: Reply(0.04, Outcome.REJECTED, 503), 2: SILENCE}
    played = play(hedging(), script, tmp_path, rate_per_s=2.0)
    first, second, third = (played.trace.xs(number, level="attempt") for number in (1, 2, 3))
    np.testing.assert_array_equal(second.planned_s, first.done_s)
    np.testing.assert_allclose(third.planned_s, second.planned_s + 0.1, atol=1e-9)


@pytest.mark.parametrize(("honours", "asked_s"), [(True, 0.25), (False, 0.0)])
def test_a_rejection_may_ask_for_the_time_of_the_next_copy(
    honours: bool, asked_s: float, tmp_path: Path
) -> None:
    """Later than the delay too, if the client honours it."""
    script = {1: Reply(0.02, Outcome.REJECTED, 503, retry_after_s=0.25), 2: Reply(0.0)}
    played = play(hedging(honours_retry_after=honours), script, tmp_path, rate_per_s=2.0)
    first, second = (played.trace.xs(number, level="attempt") for number in (1, 2))
    assert len(second) >= 1  # those of late jobs would come after the end
    np.testing.assert_array_equal(second.planned_s, first.done_s.loc[second.index] + asked_s)


def test_a_rejection_that_waits_out_its_timeout_brings_forward_then(tmp_path: Path) -> None:
    """With a delay beyond the timeout, the next copy goes out when the rejected one would have timed out."""
    client = Client(0.2, hedging=Hedging(2, 0.4), on_rejection="after-timeout")
    played = play(client, {1: BUSY, 2: Reply(0.0)}, tmp_path, rate_per_s=2.0)
    first, second = (played.trace.xs(number, level="attempt") for number in (1, 2))
    np.testing.assert_array_equal(second.planned_s, first.sent_s + 0.2)


def test_giving_up_on_a_rejection_cancels_the_other_copies(tmp_path: Path) -> None:
    """The second copy is rejected: the first ends with it."""
    client = hedging(on_rejection="give-up")
    played = play(client, {1: SILENCE, 2: BUSY}, tmp_path, rate_per_s=2.0)
    assert set(played.trace.index.get_level_values("attempt")) == {1, 2}
    assert set(played.trace.xs(1, level="attempt").outcome) == {"cancelled"}


def test_a_copy_that_the_budget_refuses_is_the_last_but_ends_nothing(tmp_path: Path) -> None:
    """One copy is in hand, for the first job; each later job is answered by its first copy all the same."""
    client = hedging(budget=RatioBudget(ratio=0.0, reserve=1.0))
    played = play(client, {1: Reply(0.25), 2: SILENCE}, tmp_path, rate_per_s=2.0)
    # Job 0 sends its second copy; its third is refused. Job 1's second is refused, and no third comes.
    assert played.trace.outcome.to_dict() == {
        (0, 1): "ok",
        (0, 2): "cancelled",
        (0, 3): "refused",
        (1, 1): "ok",
        (1, 2): "refused",
    }
    refused = played.of(Outcome.REFUSED)
    assert refused.terminal.all()
    assert refused.loc[(1, 2)].planned_s == pytest.approx(played.trace.loc[(1, 1)].planned_s + 0.1)


def test_a_refusal_that_is_retried_uses_up_a_copy_and_brings_nothing_forward(tmp_path: Path) -> None:
    """The third copy comes at its regular time, and is refused too."""
    client = hedging(budget=RatioBudget(ratio=0.0, reserve=1.0), on_refusal="retry")
    played = play(client, {1: Reply(0.35), 2: SILENCE}, tmp_path, rate_per_s=2.0)
    refused = played.of(Outcome.REFUSED, job=1)
    assert refused.index.tolist() == [(1, 2), (1, 3)]
    np.testing.assert_allclose(refused.planned_s, played.trace.loc[(1, 1)].planned_s + np.array([0.1, 0.2]))
    assert not refused.terminal.any()


@pytest.mark.parametrize(
    ("budget", "script", "rate_per_s"),
    [
        # Each first copy that is cancelled would cost a token of ten, if it were taken for a failure.
        (GrpcThrottle(), {1: SILENCE, 2: Reply(0.01)}, 25.0),
        # Each second copy that is cancelled holds the only place for a retry until it has ended.
        (EnvoyBudget(min_concurrent=1), {1: Reply(0.11), 2: SILENCE}, 8.0),
    ],
    ids=["grpc", "envoy"],
)
def test_cancelled_copies_cost_a_healthy_service_nothing(
    budget: RetryBudget, script: dict[int, Reply], rate_per_s: float, tmp_path: Path
) -> None:
    """Every job hedges and is answered: the budget never refuses a copy."""
    played = play(hedging(budget=budget), script, tmp_path, rate_per_s=rate_per_s, duration_s=2.0)
    assert len(played.of(Outcome.CANCELLED)) >= 10
    assert played.of(Outcome.REFUSED).empty


def test_an_open_breaker_refuses_every_copy(tmp_path: Path) -> None:
    """The first two jobs fail with all their copies; from then on not even a first copy goes out."""
    breaker = CircuitBreaker(failure_ratio=1.0, window_calls=6, min_calls=6, open_s=60.0)
    played = play(hedging(breaker=breaker), {1: BUSY}, tmp_path, rate_per_s=5.0)
    assert played.of(Outcome.REJECTED).index.tolist() == [(job, n) for job in (0, 1) for n in (1, 2, 3)]
    assert played.of(Outcome.REFUSED).index.tolist() == [(2, 1), (3, 1), (4, 1)]


def test_no_copy_goes_out_after_the_deadline_of_its_job(tmp_path: Path) -> None:
    """A copy due at or after it is not sent, and the timeouts of those before are cut to it."""
    played = play(hedging(deadline_s=0.15), {1: SILENCE}, tmp_path, rate_per_s=2.0)
    assert set(played.trace.index.get_level_values("attempt")) == {1, 2}
    until = played.trace.xs(1, level="attempt").planned_s + 0.15
    for (job, number), call in played.calls.items():
        assert call["timeout_s"] == pytest.approx(until.loc[job] - played.trace.loc[(job, number)].sent_s)


def test_nothing_goes_out_after_the_end(tmp_path: Path) -> None:
    """Jobs near the end have copies to come; none is sent after the last phase, and none is left open."""
    played = play(hedging(), {1: SILENCE}, tmp_path, rate_per_s=40.0)
    assert (played.trace.sent_s <= 1.0).all()
    late = played.trace[played.trace.planned_s > 0.95]
    assert set(late.index.get_level_values("attempt")) <= {1, 2, 3}
    assert set(played.trace.outcome) <= {"timeout", "aborted"}
    assert played.inflight == 0


@pytest.mark.sockets
def test_the_socket_of_a_cancelled_copy_closes_at_once(tmp_path: Path) -> None:
    """The service sees the client hang up long before the timeout, and exactly the attempts in the trace."""
    gone: list[tuple[float, float]] = []

    def answering_second_copies(talk: Conversation) -> None:
        while (head := talk.read_request()) is not None:
            begun_s = time.monotonic()
            if b"X-Attempt: 2\r\n" in head:
                talk.send(OK)
            else:
                talk.read_request()
                gone.append((begun_s, time.monotonic()))

    experiment = Experiment(
        "hedged",
        "a hedged load",
        Client(4.0, hedging=Hedging(2, 0.1)),
        Demand(20, (Phase("steady", 1.0),), arrivals="uniform"),
    )
    with serving(answering_second_copies) as log:
        result = generate(experiment, log.port, tmp_path)
    outcomes = result.trace.outcome.value_counts().to_dict()
    assert (
        outcomes["cancelled"] == outcomes["ok"] >= 15
    )  # the last jobs' second copies would be after the end
    assert sum(end_s - begun_s < 2.0 for begun_s, end_s in gone) == outcomes["cancelled"]
    assert len(log.requests) == len(result.trace)
    assert result.counts["inflight"] == 0
