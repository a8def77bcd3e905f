"""One attempt after another on real sockets: what comes back, and what it cost."""

from __future__ import annotations

import contextlib
import gzip
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests import servers
from tests.loadgen.certificates import HOST, Authority
from tests.loadgen.exchanges import Exchange, Exchanged, exchange
from tests.servers import CHUNKED, ENDLESS, OK, Behaviour, ServerLog, answering, serving

pytestmark = pytest.mark.sockets

MATCHED = b"HTTP/1.1 200 OK\r\nServer: Shop/1\r\nContent-Length: 11\r\n\r\nall is well"
BOMB = gzip.compress(b"well " * 2**22)
BROKEN: dict[str, tuple[Behaviour, str]] = {
    "invalid chunks": (answering(CHUNKED + b"zz\r\nok\r\n"), "not HTTP"),
    "closes in a chunk": (servers.half_then_closed, "closed before the answer was whole"),
    "resets": (servers.resetting, "reset by peer"),
    "is not HTTP": (servers.not_http, "not HTTP"),
    "switches protocols": (
        answering(b"HTTP/1.1 101 Go\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"),
        "switches protocols",
    ),
}


def against(behaviour: Behaviour, **asked: object) -> tuple[Exchanged, ServerLog]:
    """One exchange with a server of its own."""
    with serving(behaviour) as log:
        found = exchange(Exchange(f"http://127.0.0.1:{log.port}", **asked))  # type: ignore[arg-type]
    return found[0], log


@pytest.fixture(scope="module")
def endless() -> Iterator[dict[str, Exchanged]]:
    """Twenty attempts at once against every server whose answers have no end."""
    with ExitStack() as stack:
        logs = {kind: stack.enter_context(serving(behaviour)) for kind, behaviour in ENDLESS.items()}
        asked = [
            Exchange(
                f"http://127.0.0.1:{log.port}",
                timeout_s=60.0,
                times=20,
                at_once=20,
                max_answer_bytes=2**22,
            )
            for log in logs.values()
        ]
        yield dict(zip(logs, exchange(*asked), strict=True))


@pytest.mark.parametrize("kind", ENDLESS)
def test_endless_answers_are_errors_and_take_no_memory(kind: str, endless: dict[str, Exchanged]) -> None:
    """Each is cut off long before its deadline; twenty at once take less than half a megabyte each."""
    found = endless[kind]
    assert set(found.ends) == {("error", 0, 0.0)}
    limit = "longer than 4194304 bytes" if kind in {"a body", "chunks"} else "more than 65536 bytes"
    assert [limit in reason for reason in found.errors] == [True]
    assert sum(found.errors.values()) == 20
    assert found.grown_bytes < 10e6


@pytest.mark.parametrize("kind", BROKEN)
def test_the_reason_of_an_error_is_kept(kind: str) -> None:
    """So that it can be shown."""
    behaviour, why = BROKEN[kind]
    found, _ = against(behaviour, times=3)
    assert found.ends == [("error", 0, 0.0)] * 3
    assert list(found.errors.values()) == [3]
    assert why in next(iter(found.errors))


def test_nothing_listens() -> None:
    """That is a reason too."""
    with serving(servers.friendly) as log:
        port = log.port
    [found] = exchange(Exchange(f"http://127.0.0.1:{port}"))
    assert found.ends == [("error", 0, 0.0)]
    assert "refused" in next(iter(found.errors)).lower()


def test_a_slow_body_is_a_timeout_and_no_error() -> None:
    """The deadline is for the whole answer."""
    found, _ = against(servers.dripping, timeout_s=0.3)
    assert found.ends == [("timeout", 0, 0.0)]
    assert found.errors == {}
    assert 0.299 <= found.took_s[0] < 5.0


def test_what_is_compressed_stays_so() -> None:
    """A bomb takes as much as is on the wire, and its content is not searched."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB
    found, log = against(answering(answer), body_match="well")
    assert found.ends == [("rejected", 200, 0.0)]
    assert found.grown_bytes < 2**23
    assert b"accept-encoding" not in log.requests[0][1].lower()


def test_a_redirect_is_an_answer_and_is_not_followed() -> None:
    """Nobody else gets load, nor does this server a second request."""
    with serving(servers.friendly) as elsewhere:
        place = b"http://127.0.0.1:%d/" % elsewhere.port
        redirect = b"HTTP/1.1 302 Found\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n" % place
        found, log = against(answering(redirect))
    assert found.ends == [("rejected", 302, 0.0)]
    assert (len(log.requests), elsewhere.connections) == (1, 0)


@pytest.mark.parametrize(("pattern", "outcome"), [("is w.ll$", "ok"), ("unwell", "rejected")])
@pytest.mark.parametrize("patiently", [False, True])
def test_a_body_decides(pattern: str, outcome: str, patiently: bool) -> None:
    """If there is something to match; the status is told all the same."""
    found, _ = against(answering(MATCHED), body_match=pattern, patiently=patiently)
    assert found.ends[0][:2] == (outcome, 200)


def test_a_probe_comes_as_a_new_client_and_hears_who_answers() -> None:
    """A connection each, closed afterwards, however willing the server is to keep it."""
    found, log = against(answering(MATCHED, MATCHED), times=3, patiently=True)
    assert found.ends == [("ok", 200, "Shop/1")] * 3
    assert (log.connections, len(log.requests)) == (3, 3)
    found, log = against(answering(MATCHED, MATCHED, MATCHED), times=3)
    assert found.ends == [("ok", 200, 0.0)] * 3
    assert (log.connections, len(log.requests)) == (1, 3)


@pytest.mark.parametrize(
    ("behaviour", "end"),
    [
        (servers.rejecting, ("rejected", 503, "")),
        (servers.silent, ("timeout", 0, "")),
        (servers.resetting, ("error", 0, "")),
    ],
    ids=["rejecting", "silent", "resetting"],
)
def test_a_probe_fails_like_any_attempt(behaviour: Behaviour, end: tuple[str, int, str]) -> None:
    """In every way."""
    found, _ = against(behaviour, timeout_s=0.5 if end[0] == "timeout" else 10.0, patiently=True)
    assert found.ends == [end]
    assert list(found.errors.values()) == ([1] if end[0] == "error" else [])


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """One for all tests: keys take time."""
    return Authority(tmp_path_factory.mktemp("authority"))


def secure(log: ServerLog, authority: Authority, **asked: object) -> Exchange:
    """An exchange with a host that only its address makes reachable."""
    url = f"https://{HOST}:{log.port}"
    return Exchange(url, "127.0.0.1", ca_file=authority.ca_file, **asked)  # type: ignore[arg-type]


def test_https_is_http_under_tls(authority: Authority) -> None:
    """Kept connections, long requests, long answers, an end that is the close: all as without."""
    long = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n" + bytes(1_000_000)
    with (
        serving(answering(OK, long, OK), authority.good()) as several,
        serving(swallowing, authority.good()) as uploads,
        serving(servers.chunked, authority.good()) as probes,
    ):
        kept, sent, probed = exchange(
            secure(several, authority, times=3),
            secure(uploads, authority, method="POST", body_bytes=3_000_000),
            secure(probes, authority, times=2, patiently=True),
        )
    assert kept.ends == [("ok", 200, 0.0)] * 3
    assert several.connections == 1
    assert sent.ends == [("ok", 200, 0.0)]
    assert probed.ends == [("ok", 200, "")] * 2
    assert probes.connections == 2
    assert f"\r\nHost: {HOST}:{several.port}\r\n".encode() in several.requests[0][1]


def swallowing(talk: servers.Conversation) -> None:
    """Answers once three million bytes of body have come."""
    head = talk.read_request()
    assert head is not None
    missing = 3_000_000 - len(head.split(b"\r\n\r\n", 1)[1])
    while missing > 0 and (data := talk.connection.recv(65536)):
        missing -= len(data)
    talk.send(OK)


@pytest.mark.parametrize("kind", ["expired", "for another host", "by an authority nobody knows", "by itself"])
def test_a_bad_certificate_is_an_error_that_says_why(kind: str, authority: Authority) -> None:
    """Not a byte of the request is sent."""
    context, why = authority.bad()[kind]
    with serving(servers.friendly, context) as log:
        [found] = exchange(secure(log, authority, times=2))
    assert found.ends == [("error", 0, 0.0)] * 2
    assert list(found.errors.values()) == [2]
    assert "the certificate is not accepted" in next(iter(found.errors))
    assert why in next(iter(found.errors))
    assert log.requests == []


def test_the_deadline_is_for_the_handshake_too(authority: Authority) -> None:
    """A server that accepts and says nothing."""
    with serving(servers.silent) as log, servers.never_accepting() as full:
        found = exchange(secure(log, authority, timeout_s=0.3), secure(full, authority, timeout_s=0.3))
    for one in found:
        assert one.ends == [("timeout", 0, 0.0)]
        assert 0.299 <= one.took_s[0] < 5.0


def test_servers_that_break_tls(authority: Authority) -> None:
    """One that speaks plain HTTP, one that hangs up, one that ends without saying so, and one without end."""
    with (
        serving(lambda talk: talk.pour(b"HTTP/1.1 400 Bad Request\r\n\r\n")) as plain,
        serving(lambda talk: None) as closing,
        serving(servers.until_closed, authority.good()) as cut,
        serving(ENDLESS["headers"], authority.good()) as long,
    ):
        found = exchange(*(secure(log, authority) for log in (plain, closing, cut, long)))
    for one, why in zip(found, ("not TLS", "TLS: closed|reset", "TLS: closed", "header"), strict=True):
        assert one.ends == [("error", 0, 0.0)]
        assert any(word in next(iter(one.errors)) for word in why.split("|"))


def test_plain_http_to_an_https_port_is_an_error(authority: Authority) -> None:
    """And nothing worse."""
    with serving(servers.friendly, authority.good()) as log:
        [found] = exchange(Exchange(f"http://127.0.0.1:{log.port}"))
    assert found.ends == [("error", 0, 0.0)]


@pytest.mark.parametrize("kind", ["another answer", "the end"])
def test_a_connection_on_which_more_has_come_is_not_used_again(kind: str, authority: Authority) -> None:
    """Be it an answer that nobody asked for, in a record of its own: it must not answer the next request."""
    context = authority.good()

    def in_two_records(talk: servers.Conversation) -> None:
        """One answer and more behind it, in one segment, which only TLS without a socket can do."""
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = context.wrap_bio(incoming, outgoing, server_side=True)
        while True:
            try:
                talk.log.requests.append((0.0, tls.read()))
                break
            except ssl.SSLWantReadError:
                talk.send(outgoing.read())
                incoming.write(talk.connection.recv(65536))
        tls.write(OK)
        if kind == "another answer":
            tls.write(OK.replace(b"200 OK", b"500 No"))
        else:
            with contextlib.suppress(ssl.SSLWantReadError):
                tls.unwrap()
        talk.send(outgoing.read())
        talk.over.wait()

    with serving(in_two_records) as log:
        [found] = exchange(secure(log, authority, times=3))
    assert found.ends == [("ok", 200, 0.0)] * 3
    assert (log.connections, len(log.requests)) == (3, 3)


@pytest.fixture
def no_bundle(tmp_path: Path) -> str:
    """A file that is not there."""
    return str(tmp_path / "missing.pem")


def test_a_bundle_without_https_is_not_read(no_bundle: str) -> None:
    """Nothing there needs it."""
    found, _ = against(servers.friendly, ca_file=no_bundle)
    assert found.ends == [("ok", 200, 0.0)]
