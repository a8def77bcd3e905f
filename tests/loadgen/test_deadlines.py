"""One deadline per job: no attempt starts after it, none lasts beyond it, and the service is told."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from domain.attempts import Outcome
from domain.backoff import FixedBackoff
from domain.budgets.ratio import RatioBudget
from domain.deadlines import Propagation, grpc_timeout_s, x_deadline_s
from domain.experiment import Client, Demand, Experiment, Phase
from loadgen.request import Request, RequestEncoder
from tests import servers
from tests.loadgen.generation import generate
from tests.loadgen.scripted import BUSY, SILENCE, Reply, play
from tests.servers import serving

TIMEOUT_S = 0.2


def test_the_last_attempt_is_cut_to_the_deadline_and_none_follows(tmp_path: Path) -> None:
    """A job of .5 s has room for two attempts of .2 s and one of .1 s, of the six it might make."""
    played = play(Client(TIMEOUT_S, 6, deadline_s=0.5), {1: SILENCE}, tmp_path, rate_per_s=2.0, duration_s=2)
    assert set(played.trace.index.get_level_values("attempt")) == {1, 2, 3}
    planned = played.trace.xs(1, level="attempt").planned_s
    for (job, attempt), call in played.calls.items():
        left_s = planned.loc[job] + 0.5 - played.trace.loc[(job, attempt)].sent_s
        assert call["timeout_s"] == pytest.approx(min(TIMEOUT_S, left_s), abs=1e-9)
        assert call["timeout_s"] > 0


def test_a_backoff_beyond_the_deadline_ends_the_job_unpaid(tmp_path: Path) -> None:
    """Nothing is asked of the budget for a retry that could not be sent in time."""
    client = Client(TIMEOUT_S, 3, FixedBackoff(0.6), RatioBudget(0.0, 1.0), deadline_s=0.5)
    played = play(client, {1: BUSY}, tmp_path, rate_per_s=4.0)
    assert set(played.trace.outcome) == {"rejected"}
    assert set(played.trace.index.get_level_values("attempt")) == {1}


def test_without_a_deadline_every_attempt_has_the_whole_timeout(tmp_path: Path) -> None:
    """The timeout is the client's."""
    played = play(Client(TIMEOUT_S, 2), {1: SILENCE}, tmp_path, rate_per_s=4.0)
    assert {call["timeout_s"] for call in played.calls.values()} == {TIMEOUT_S}


def test_a_rejection_as_good_as_silence(tmp_path: Path) -> None:
    """``after-timeout``: the retry is planned when the rejected attempt would have timed out."""
    client = Client(TIMEOUT_S, 2, FixedBackoff(0.05), on_rejection="after-timeout")
    played = play(client, {1: BUSY, 2: Reply(0.0)}, tmp_path, rate_per_s=4.0)
    first = played.trace.xs(1, level="attempt")
    second = played.trace.xs(2, level="attempt")
    np.testing.assert_allclose(
        second.planned_s, first.sent_s.loc[second.index] + TIMEOUT_S + 0.05, rtol=0, atol=1e-9
    )
    assert (first.done_s < first.sent_s + TIMEOUT_S).all()


@pytest.mark.parametrize(
    ("status", "asked_s", "honours", "wait_s"),
    [(503, 0.15, True, 0.15), (503, 0.02, True, 0.05), (503, 0.15, False, 0.05)],
    ids=["longer than the backoff", "shorter", "ignored"],
)
def test_a_retry_comes_no_sooner_than_asked(
    status: int, asked_s: float, honours: bool, wait_s: float, tmp_path: Path
) -> None:
    """The longer of backoff and what the rejection asked for, if the client honours it."""
    client = Client(TIMEOUT_S, 2, FixedBackoff(0.05), honours_retry_after=honours)
    script = {1: Reply(0.0, Outcome.REJECTED, status, asked_s), 2: Reply(0.0)}
    played = play(client, script, tmp_path, rate_per_s=4.0)
    first = played.trace.xs(1, level="attempt")
    second = played.trace.xs(2, level="attempt")
    np.testing.assert_array_equal(second.planned_s, first.done_s.loc[second.index] + wait_s)


def headers(payload: bytes) -> list[tuple[str, str]]:
    """Names in lower case, and values."""
    lines = payload.decode().split("\r\n\r\n")[0].split("\r\n")[1:]
    return [(name.lower(), value) for name, value in (line.split(": ", 1) for line in lines)]


@pytest.mark.parametrize("propagate", ["x-deadline", "grpc-timeout", "none"])
def test_an_attempt_says_when_it_is_too_late(propagate: Propagation) -> None:
    """In the notation asked for, and in no other."""
    before_s = time.time()
    payload = RequestEncoder("host", "token", propagate).encode(Request(), 1, 1, 2.5)
    after_s = time.time()
    told = dict(headers(payload))
    assert ("x-deadline" in told, "grpc-timeout" in told) == (
        propagate == "x-deadline",
        propagate == "grpc-timeout",
    )
    if propagate == "x-deadline":
        until_s = x_deadline_s(told["x-deadline"])
        assert until_s is not None
        assert before_s + 2.5 - 1e-6 <= until_s <= after_s + 2.5 + 1e-6
    if propagate == "grpc-timeout":
        assert grpc_timeout_s(told["grpc-timeout"]) == 2.5


def test_every_attempt_has_a_deadline_of_its_own() -> None:
    """The request is the same, its head is built once, the deadline is not."""
    encoder, request = RequestEncoder("host", "token", "grpc-timeout"), Request()
    told = [dict(headers(encoder.encode(request, 1, n, n * 0.5)))["grpc-timeout"] for n in (1, 2)]
    assert [grpc_timeout_s(text) for text in told] == [0.5, 1.0]


@pytest.mark.parametrize("name", ["X-Deadline", "x-deadline"])
def test_a_request_that_names_its_deadline_keeps_it(name: str) -> None:
    """There is one such header, the request's own; another request of the same run has ours."""
    encoder = RequestEncoder("host", "token", "x-deadline")
    own = headers(encoder.encode(Request(headers={name: "1.5"}), 1, 1, 2.5))
    assert [value for key, value in own if key == "x-deadline"] == ["1.5"]
    other = headers(encoder.encode(Request(), 1, 1, 2.5))
    assert len([value for key, value in other if key == "x-deadline"]) == 1


@pytest.mark.sockets
def test_the_service_is_told_the_deadline_of_each_attempt(tmp_path: Path) -> None:
    """On the wire: at least as far ahead as the request took to arrive, at most the timeout."""
    offset_s = time.time() - time.monotonic()
    experiment = Experiment(
        "told", "told", Client(5.0, 1), Demand(20, (Phase("steady", 0.5),), arrivals="uniform")
    )
    with serving(servers.friendly) as log:
        generate(experiment, log.port, tmp_path)
    ahead_s = []
    for seen_s, head in log.requests:
        until_s = x_deadline_s(dict(headers(head))["x-deadline"])
        assert until_s is not None
        ahead_s.append(until_s - (seen_s + offset_s))
    assert len(ahead_s) == 10
    assert max(ahead_s) <= 5.0 + 0.01
    assert np.median(ahead_s) > 4.0
