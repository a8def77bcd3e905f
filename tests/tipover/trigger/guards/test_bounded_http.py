"""One GET that no server can draw out, blow up or send elsewhere."""

from __future__ import annotations

import ssl
import threading
import time
from pathlib import Path

import pytest
import trustme

from tests.servers import (
    Behaviour,
    Conversation,
    dripping,
    friendly,
    half_then_closed,
    half_then_silent,
    never_accepting,
    not_http,
    resetting,
    serving,
    silent,
    until_closed,
)
from tests.tipover.trigger.guards.answers import answering
from tipover.trigger.guards.bounded_http import LARGEST_BODY, Answer, get
from tipover.trigger.guards.resolution import Resolved

pytestmark = pytest.mark.sockets


def asked(behaviour: Behaviour, within_s: float = 5.0) -> Answer:
    """What a server with this behaviour is understood to say."""
    with serving(behaviour) as log:
        return get(f"http://x.example:{log.port}/health?deep=1", at(log.port), within_s)


def at(port: int, host: str = "x.example", scheme: str = "http") -> Resolved:
    """A place on loopback under another name."""
    return Resolved(host, "127.0.0.1", port, None, scheme)


def endless_headers(talk: Conversation) -> None:
    """Never comes to the end of the head."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\n")
    while not talk.over.wait(0.005):
        talk.send(b"X-More: and more\r\n")


def endless_interim(talk: Conversation) -> None:
    """Says 100 Continue for ever."""
    talk.read_request()
    while not talk.over.wait(0.02):
        talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")


def dripping_head(talk: Conversation) -> None:
    """Sends a head of one long line byte by byte."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\nX: ")
    while not talk.over.wait(0.02):
        talk.send(b"x")


def huge(talk: Conversation) -> None:
    """Sends a body without an end as fast as it is taken."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\n\r\n")
    while not talk.over.is_set():
        try:
            talk.connection.sendall(b"x" * 65536)
        except OSError:
            return


def in_chunks(talk: Conversation) -> None:
    """Answers 100 first and then with chunks."""
    talk.read_request()
    talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n")


def bad_chunks(talk: Conversation) -> None:
    """Announces chunks and sends none."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nnonsense\r\n")


def test_path_query_and_host_are_sent_as_they_were_given() -> None:
    with serving(friendly) as log:
        assert get(f"http://x.example:{log.port}/health?deep=1", at(log.port), 5.0) == Answer(200, b"ok")
    head = log.requests[0][1]
    assert head.startswith(b"GET /health?deep=1 HTTP/1.1\r\n")
    assert f"Host: x.example:{log.port}\r\n".encode() in head


@pytest.mark.parametrize(
    ("behaviour", "body"), [(in_chunks, b"ok"), (until_closed, b"whatever comes until the end")]
)
def test_bodies_of_every_framing_are_read(behaviour: Behaviour, body: bytes) -> None:
    assert asked(behaviour) == Answer(200, body)


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    with serving(friendly) as other:
        location = f"Location: http://127.0.0.1:{other.port}/"
        assert asked(answering(302, b"", location)).status == 302
        assert other.connections == 0


@pytest.mark.parametrize(
    "behaviour", [silent, dripping, dripping_head, half_then_silent, not_http, endless_interim]
)
def test_whatever_takes_longer_than_the_deadline_is_no_answer(behaviour: Behaviour) -> None:
    """Drips too, which every read of a socket takes for progress."""
    began_s = time.monotonic()
    answer = asked(behaviour, within_s=0.3)
    assert answer.status is None
    assert answer.error
    assert time.monotonic() - began_s < 4.0


def test_a_connection_that_is_not_taken_is_no_answer() -> None:
    with never_accepting() as log:
        assert get("http://x.example/", at(log.port), 0.3).error == "no answer within 0.3 s"


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (huge, "more than 1048576 bytes"),
        (half_then_closed, "lacks its last 96 bytes"),
        (endless_headers, "HTTPException"),
        (bad_chunks, "IncompleteRead"),
        (resetting, "ConnectionResetError"),
    ],
)
def test_what_a_server_does_wrong_is_an_error_and_no_exception(behaviour: Behaviour, said: str) -> None:
    answer = asked(behaviour)
    assert answer.status is None
    assert answer.body == b""
    assert said in answer.error


def test_a_body_of_exactly_the_limit_is_read() -> None:
    assert len(asked(answering(200, b"x" * LARGEST_BODY)).body) == LARGEST_BODY
    assert asked(answering(200, b"x" * (LARGEST_BODY + 1))).status is None


def test_nobody_listening_is_an_error() -> None:
    with serving(friendly) as log:
        port = log.port
    assert "ConnectionRefusedError" in get("http://x.example/", at(port), 2.0).error


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would resolve the name again."""
    with serving(friendly) as proxy, serving(friendly) as log:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        assert get("http://x.example/", at(log.port), 5.0).status == 200
        assert (proxy.connections, log.connections) == (0, 1)


def over_tls(authority: trustme.CA, name: str) -> Behaviour:
    """Shakes hands with a certificate for ``name`` and answers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name).configure_cert(context)

    def behave(talk: Conversation) -> None:
        try:
            talk.connection = context.wrap_socket(talk.connection, server_side=True)
        except OSError:
            return
        with talk.connection:
            friendly(talk)

    return behave


@pytest.mark.parametrize(
    ("trusted", "name", "status"),
    [(True, "x.example", 200), (True, "y.example", None), (False, "x.example", None)],
)
def test_tls_is_verified_against_the_name(
    tmp_path: Path, trusted: bool, name: str, status: int | None
) -> None:
    """The address is pinned, the certificate must still be the name's and from an authority that is
    trusted."""
    authority, other = trustme.CA(), trustme.CA()
    tls = ssl.create_default_context()
    (authority if trusted else other).configure_trust(tls)
    with serving(over_tls(authority, name)) as log:
        answer = get("https://x.example/", at(log.port, scheme="https"), 5.0, tls=tls)
    assert answer.status == status
    if status is None:
        assert "certificate" in answer.error.lower()
        assert log.requests == []


def test_a_handshake_that_never_ends_is_cut_off() -> None:
    with serving(silent) as log:
        answer = get("https://x.example/", at(log.port, scheme="https"), 0.3)
    assert answer.status is None


def test_sockets_are_closed() -> None:
    """A server sees the end of every connection, after an answer and after an error."""
    ended = threading.Semaphore(0)

    def behave(talk: Conversation) -> None:
        friendly(talk)
        ended.release()

    with serving(behave) as log:
        for _ in range(3):
            get("http://x.example/", at(log.port), 5.0)
            assert ended.acquire(timeout=5.0)
