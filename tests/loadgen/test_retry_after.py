"""What a service may ask of a client that it rejects."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

import numpy as np
import pytest

from domain.attempts import Outcome
from domain.backoff import NoBackoff
from domain.experiment import Client, Demand, Experiment, Phase
from loadgen.response import MOST_PATIENCE_S, AnswerOptions, AttentiveReader, ResponseReader, retry_after_s
from tests.loadgen.generation import Generated, generate
from tests.loadgen.scripted import Reply, play
from tests.servers import OK, Conversation, serving

NOW_S = datetime(2026, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120.0),
        ("0", 0.0),
        ("1.5", 1.5),
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30.0),
        ("Wed, 31 Dec 2025 23:59:00 GMT", 0.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", MOST_PATIENCE_S),
        ("99999999999", MOST_PATIENCE_S),
        ("", 0.0),
        ("-5", 0.0),
        ("inf", 0.0),
        ("nan", 0.0),
        ("1e9", 0.0),
        ("soon", 0.0),
        ("9" * 400, MOST_PATIENCE_S),
    ],
)
def test_both_forms_are_read_and_nonsense_asks_for_nothing(text: str, seconds: float) -> None:
    """RFC 9110 §10.2.3: delta-seconds or an HTTP-date."""
    assert retry_after_s(text, NOW_S) == seconds


@pytest.mark.parametrize(
    ("lines", "seconds"),
    [
        ("Retry-After: 2", 2.0),
        ("RETRY-AFTER: 2\r\nretry-after-ms: 150", 0.15),
        ("retry-after-ms: 150\r\nRetry-After: 2", 0.15),
        ("retry-after-ms: soon\r\nRetry-After: 2", 2.0),
        (f"Retry-After: {format_datetime(datetime(2026, 1, 1, 0, 1, tzinfo=UTC), usegmt=True)}", 60.0),
        ("Server: x", 0.0),
    ],
)
def test_milliseconds_come_before_seconds(lines: str, seconds: float) -> None:
    """They are more exact; if they make no sense, the seconds count."""
    reader = AttentiveReader(AnswerOptions(patient=True))
    answer = f"HTTP/1.1 503 Busy\r\n{lines}\r\nContent-Length: 0\r\n\r\n".encode()
    assert reader.feed(answer)
    assert reader.heard(NOW_S).away_s == seconds
    reader.expect(head_only=False)
    assert reader.feed(b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
    assert reader.heard(NOW_S).away_s == 0.0


def test_a_client_that_does_not_care_does_not_look() -> None:
    """The plain reader asks for nothing, whatever the answer says."""
    reader = ResponseReader()
    assert reader.feed(b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n")
    assert reader.heard(NOW_S).away_s == 0.0


def busy_at_first(talk: Conversation) -> None:
    """Rejects first attempts for 100 ms, answers the others."""
    while (head := talk.read_request()) is not None:
        if b"X-Attempt: 1\r\n" in head:
            talk.send(
                b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nretry-after-ms: 100\r\n"
                b"Content-Length: 0\r\n\r\n"
            )
        else:
            talk.send(OK)


def against_busy(honours: bool, out: Path) -> Generated:
    """Half a second of load on a service that rejects first attempts."""
    experiment = Experiment(
        "busy",
        "a busy service",
        Client(5.0, 2, NoBackoff(), honours_retry_after=honours),
        Demand(20, (Phase("steady", 0.5),), arrivals="uniform"),
    )
    with serving(busy_at_first) as log:
        return generate(experiment, log.port, out)


@pytest.mark.sockets
@pytest.mark.parametrize(("honours", "wait_s"), [(True, 0.1), (False, 0.0)])
def test_the_header_is_honoured_or_not(honours: bool, wait_s: float, tmp_path: Path) -> None:
    """On real sockets: the retry is planned the asked time after the rejection, or at once."""
    trace = against_busy(honours, tmp_path).trace.set_index(["job_id", "attempt"]).sort_index()
    first, second = trace.xs(1, level="attempt"), trace.xs(2, level="attempt")
    assert len(first) == 10
    assert len(second) >= 7  # the last ones may be due after the end
    np.testing.assert_array_equal(second.planned_s, first.done_s.loc[second.index] + wait_s)


def test_jobs_put_off_beyond_the_end_are_not_kept(tmp_path: Path) -> None:
    """They take no memory: a service may tell every client to come back tomorrow."""
    script = {1: Reply(0.0, Outcome.REJECTED, 503, retry_after_s=MOST_PATIENCE_S)}
    peaks = []
    for attempts in (1, 2):
        client = Client(1.0, attempts, honours_retry_after=True)
        played = play(client, script, tmp_path / str(attempts), rate_per_s=3000.0, duration_s=5.0)
        assert len(played.of(Outcome.REJECTED)) == len(played.trace) == 15_000
        peaks.append(played.health["peak_rss_bytes"])
    assert peaks[1] < peaks[0] + 60e6  # 15,000 jobs that wait take 7 kB each
