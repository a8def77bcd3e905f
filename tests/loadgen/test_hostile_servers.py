"""One hard deadline per attempt, whatever the server does."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests import servers
from tests.loadgen.generation import Generated, generate, small_experiment
from tests.servers import ServerLog, serving

pytestmark = pytest.mark.sockets

TIMEOUT_S = 0.3
TIMING_OUT = {
    "never accepts": servers.never_accepting,
    "accepts and stays silent": lambda: serving(servers.silent),
    "drips a byte at a time": lambda: serving(servers.dripping),
    "answers half and stops": lambda: serving(servers.half_then_silent),
}
FAILING = {
    "answers half and closes": servers.half_then_closed,
    "resets": servers.resetting,
    "is not HTTP": servers.not_http,
}
ANSWERING = {
    "keeps the connection": servers.friendly,
    "chunked after an interim answer": servers.chunked,
    "delimited by the close": servers.until_closed,
}


def _every_job_made_all_attempts(result: Generated) -> None:
    """Jobs whose last attempt could still be sent before the end made exactly two attempts."""
    early = result.trace[result.trace.planned_s < 1.0 - TIMEOUT_S - result.health["lag_max_s"] - 0.2]
    jobs = early[early.attempt == 1].job_id
    made = result.trace[result.trace.job_id.isin(jobs)].groupby("job_id").attempt.max()
    assert (made == 2).all()


@pytest.mark.parametrize("kind", TIMING_OUT)
def test_the_deadline_holds_when_the_server(kind: str, tmp_path: Path) -> None:
    """Every attempt ends as a timeout at its deadline: not before it, and not when the server likes."""
    server: AbstractContextManager[ServerLog] = TIMING_OUT[kind]()
    with server as log:
        result = generate(small_experiment(timeout_s=TIMEOUT_S), log.port, tmp_path)
    assert set(result.trace.outcome) == {"timeout"}
    took = result.trace.done_s - result.trace.sent_s
    assert took.min() >= TIMEOUT_S - 0.001  # timers of the event loop are good to a millisecond
    # Servers above would go on for seconds or for ever; the median shows that the deadline cut them off.
    assert took.median() < TIMEOUT_S + 0.1
    _every_job_made_all_attempts(result)


def test_a_held_up_event_loop_cuts_no_attempt_short(tmp_path: Path) -> None:
    """The deadline counts from the attempt's own send even when the loop had not looked at its clock."""
    with serving(servers.silent) as log:
        result = generate(small_experiment(rate_per_s=5), log.port, tmp_path, stall_s=0.1)
    # The stall lies between the record of the send and the deadline, so it comes on top of it.
    assert (result.trace.done_s - result.trace.sent_s).min() >= TIMEOUT_S + 0.1 - 0.001


@pytest.mark.parametrize("kind", FAILING)
def test_a_broken_answer_is_an_error_when_the_server(kind: str, tmp_path: Path) -> None:
    """A broken answer is known at once, is retried, and is never a success."""
    with serving(FAILING[kind]) as log:
        result = generate(small_experiment(timeout_s=5.0), log.port, tmp_path)
    assert set(result.trace.outcome) == {"error"}
    assert (result.trace[result.trace.attempt == 2].shape[0]) > 0
    assert (result.trace.done_s - result.trace.sent_s).median() < 1.0


@pytest.mark.parametrize("kind", ANSWERING)
def test_a_whole_answer_is_a_success_when_the_server(kind: str, tmp_path: Path) -> None:
    """Every form of a complete answer counts, with one attempt per job."""
    with serving(ANSWERING[kind]) as log:
        result = generate(small_experiment(timeout_s=5.0), log.port, tmp_path)
    assert Counter(result.trace.outcome) == {"ok": len(result.trace)}
    assert set(result.trace.status) == {200}
    assert set(result.trace.attempt) == {1}


def test_nothing_listens(tmp_path: Path) -> None:
    """A refused connection is the service's error, not a socket the machine refused."""
    with serving(servers.friendly) as log:
        port = log.port
    result = generate(small_experiment(), port, tmp_path)
    assert set(result.trace.outcome) == {"error"}
    assert result.health["refused_sockets"] == 0


def test_a_status_outside_the_success_set_is_rejected(tmp_path: Path) -> None:
    """A 503 is a rejection with its status, and is retried."""
    with serving(servers.rejecting) as log:
        result = generate(small_experiment(), log.port, tmp_path)
    assert set(result.trace.outcome) == {"rejected"}
    assert set(result.trace.status) == {503}
    assert set(result.trace.attempt) == {1, 2}


@pytest.mark.parametrize("method", ["HEAD", "head"])
def test_head_has_no_body(method: str, tmp_path: Path) -> None:
    """An answer to HEAD is whole after its header, whatever length it announces."""
    with serving(servers.half_then_silent) as log:
        result = generate(small_experiment(timeout_s=5.0), log.port, tmp_path, method)
    assert set(result.trace.outcome) == {"ok"}


def test_connections_closed_while_idle_are_noticed_before_use(tmp_path: Path) -> None:
    """A server that closes after each answer costs at most the odd attempt that met the close itself."""
    with serving(servers.closing_after_one) as log:
        result = generate(small_experiment(timeout_s=5.0), log.port, tmp_path)
    assert set(result.trace.outcome) <= {"ok", "error"}
    assert (result.trace.outcome == "ok").mean() > 0.8


def test_nothing_is_sent_that_is_not_recorded(tmp_path: Path) -> None:
    """A server that drops requests on kept connections sees exactly the attempts in the trace."""
    with serving(servers.dropping_the_second) as log:
        result = generate(small_experiment(timeout_s=5.0), log.port, tmp_path)
    assert len(log.requests) == len(result.trace) == result.health["attempts"]
    assert (result.trace.outcome == "error").any()


def test_the_meter_ends_with_nothing_in_flight(tmp_path: Path) -> None:
    """Attempts that the end of the run aborts are counted as aborted."""
    experiment = small_experiment(timeout_s=2.0, rate_per_s=100, max_attempts=1)
    with serving(servers.silent) as log:
        result = generate(experiment, log.port, tmp_path)
    assert result.counts["inflight"] == 0
    assert result.counts["outcomes"] == dict(Counter(result.trace.outcome))


def test_connections_are_kept_when_healthy_and_thrown_away_on_a_timeout(tmp_path: Path) -> None:
    """A healthy service sees few connections; one that times out sees a new one per attempt."""
    with serving(servers.friendly) as log:
        healthy = generate(small_experiment(timeout_s=5.0), log.port, tmp_path / "healthy")
        assert log.connections < len(healthy.trace) / 2
    with serving(servers.silent) as log:
        storm = generate(small_experiment(), log.port, tmp_path / "storm")
        assert log.connections == len(storm.trace)


def test_every_attempt_names_its_job_and_its_number(tmp_path: Path) -> None:
    """Attempts of one job carry one X-Request-Id and count from 1 in X-Attempt."""
    with serving(servers.silent) as log:
        result = generate(small_experiment(), log.port, tmp_path)
    seen: dict[bytes, list[int]] = {}
    for _, head in log.requests:
        lines = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:] if b": " in line)
        seen.setdefault(lines[b"X-Request-Id"], []).append(int(lines[b"X-Attempt"]))
    assert len(seen) == result.health["sent"]
    assert all(sorted(numbers) == list(range(1, len(numbers) + 1)) for numbers in seen.values())
