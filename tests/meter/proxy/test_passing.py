"""What passes, and what is changed about it on the way."""

import contextlib
import hashlib
import re
import socket

import pytest

from meter.proxy.bodies import body_of
from tests.meter.proxy.conftest import head_and_body, read_all
from tests.servers import CHUNKED, OK, chunked, friendly, serving, until_closed

pytestmark = pytest.mark.sockets


def answering_with(*pieces):
    def behave(talk):
        while talk.read_request() is not None:
            for piece in pieces:
                talk.send(piece)

    return behave


def test_a_request_goes_as_it_came_but_for_its_connection(meter):
    """Hop-by-hop headers, and those that Connection names, stay here; the rest keeps order and case."""
    request = (
        b"GET /a%2Fb?x=1 HTTP/1.1\r\nX-One: 1\r\nHost: shop.example:80\r\n"
        b"Connection: keep-alive, X-Drop, Host\r\nX-Drop: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\n"
        b"Trailer: X\r\nProxy-Connection: keep-alive\r\n"
        b"Proxy-Authorization: Basic eA==\r\nUpgrade: h2c\r\nX-Two: a:  b\r\nX-One: 3\r\n\r\n"
    )
    with serving(friendly) as log, meter(log.port) as proxy:
        assert proxy.raw(request, until_close=False) == OK
    sent = log.requests[0][1].split(b"\r\n")
    assert sent == [
        b"GET /a%2Fb?x=1 HTTP/1.1", b"Host: shop.example:80", b"X-One: 1", b"X-Two: a:  b", b"X-One: 3",
        b"Via: 1.1 tipover", b"", b"",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"rewrite_host": True}, rb"\r\nHost: 127\.0\.0\.1:\d+\r\n"),
        ({"forwarded": "x-forwarded-for"}, rb"-For: 9\.9\.9\.9\r\n.*-For: 127\.0\.0\.1\r\n"),
        ({"forwarded": "forwarded"}, rb"\r\nForwarded: for=127\.0\.0\.1\r\n"),
        ({"via": False}, rb"^(?!.*Via)"),
    ],
)  # fmt: skip
def test_what_the_upstream_is_told_of_the_way(meter, options, line):
    """Each flag does its own."""
    with serving(friendly) as log, meter(log.port, **options) as proxy:
        proxy.ask(X_Forwarded_For="9.9.9.9")
    assert re.search(line, log.requests[0][1], re.DOTALL)


def test_absolute_form_becomes_origin_form(meter):
    """And its authority goes before the Host header."""
    with serving(friendly) as log, meter(log.port) as proxy:
        proxy.raw(b"GET http://shop.example?x=1 HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n")
    assert log.requests[0][1].startswith(b"GET /?x=1 HTTP/1.1\r\nHost: shop.example\r\n")


def test_an_answer_goes_as_it_came(meter):
    """Status, phrase and headers; 500 requests over one connection, and few upstream."""
    answer = (
        b"HTTP/1.1 299 Fine, really\r\nX-A: 1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n"
        b"Content-Length: 2\r\n\r\nok"
    )
    with serving(answering_with(answer)) as log, meter(log.port) as proxy, proxy.connection() as sock:
        for _ in range(500):
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert sock.recv(65536) == answer
        assert log.connections == 1
        assert (proxy.counts.first, proxy.counts.outcomes) == (500, {"ok": 500})


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
def test_answers_without_a_body(meter, status):
    """The next request is answered on the same connections."""
    extra = b"Content-Length: 5\r\n" if status.startswith(b"304") else b""
    answer = b"HTTP/1.1 " + status + b"\r\n" + extra + b"\r\n"
    with serving(answering_with(answer)) as log, meter(log.port) as proxy, proxy.connection() as sock:
        for _ in range(3):
            sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert sock.recv(65536) == answer
        assert log.connections == 1


def test_head(meter):
    """The length of a body that does not come."""
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 12345\r\n\r\n"
    with serving(answering_with(answer)) as log, meter(log.port) as proxy, proxy.connection() as sock:
        for _ in range(3):
            sock.sendall(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert sock.recv(65536) == answer
        assert log.connections == 1


def test_a_chunked_answer_with_an_interim_one(meter):
    """103 passes; to an HTTP/1.0 client neither it nor the chunks."""
    with serving(chunked) as log, meter(log.port) as proxy:
        got = proxy.ask()
        assert got.startswith(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n")
        assert got.endswith(b"\r\n\r\n2\r\nok\r\n0\r\n\r\n")
        got = proxy.raw(b"GET / HTTP/1.0\r\n\r\n")
        assert got == b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nok"


def test_a_body_that_only_the_end_delimits(meter):
    """Becomes chunks, so that the client knows the end."""
    with serving(until_closed) as log, meter(log.port) as proxy:
        head, body = head_and_body(proxy.ask())
        assert b"Transfer-Encoding: chunked" in head
        assert body.endswith(b"0\r\n\r\n")
        assert b"whatever comes until the end" in body


def test_trailers_pass_both_ways(meter):
    """But for those that would decide on framing or identity."""
    seen = []
    answer = CHUNKED + b"2;ext=1\r\nok\r\n0\r\nX-Sum: 1\r\nContent-Length: 9\r\n\r\n"

    def behave(talk):
        data = b""
        while not data.endswith(b"X-Sum: 7\r\n\r\n"):
            data += talk.connection.recv(65536)
        seen.append(data)
        talk.send(answer)
        talk.read_request()

    with serving(behave) as log, meter(log.port) as proxy:
        got = proxy.raw(
            b"POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3;x\r\nabc\r\n0\r\nHost: evil\r\nX-Sum: 7\r\n\r\n"
        )
    assert head_and_body(seen[0])[1] == b"3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n"
    assert head_and_body(got)[1] == b"2\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n"


def test_expect_continue(meter):
    """The upstream's 100 is passed on, and only then the client sends its body."""
    seen = []

    def behave(talk):
        talk.read_request()
        talk.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        seen.append(talk.connection.recv(10))
        talk.send(OK)

    with serving(behave) as log, meter(log.port) as proxy, proxy.connection() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert sock.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        sock.sendall(b"body")
        assert sock.recv(100) == OK
    assert seen == [b"body"]
    assert b"Expect: 100-continue" in log.requests[0][1]


def test_an_answer_before_the_body_closes_the_connection(meter):
    """What is left of the body must not be taken for a request."""

    def behave(talk):
        talk.read_request()
        talk.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
        talk.over.wait(5)

    with serving(behave) as log, meter(log.port) as proxy, proxy.connection() as sock:
        sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n")
        got = read_all(sock)
        assert got == b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        with contextlib.suppress(OSError):  # refused or for nobody
            sock.sendall(b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n" * 100)
        proxy.until(lambda: proxy.state()["client_connections"] == 0)
    assert len(log.requests) == 1


@pytest.mark.parametrize("framing", ["length", "chunked"])
def test_large_bodies_stream_both_ways(meter, framing):
    """24 MB down and 24 MB up, none lost or changed."""
    size, piece = 24 << 20, bytes(range(256)) * 256
    expected = hashlib.sha256(piece * (size // len(piece))).hexdigest()

    def behave(talk):
        talk.read_request()
        talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size)
        for _ in range(size // len(piece)):
            talk.send(piece)
        while talk.connection.recv(1 << 16):
            pass

    digest = hashlib.sha256()
    with serving(behave) as log, meter(log.port) as proxy, proxy.connection() as sock:
        sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        _, _, rest = sock.recv(65536).partition(b"\r\n\r\n")
        digest.update(rest)
        while data := sock.recv(1 << 16):
            digest.update(data)
    assert digest.hexdigest() == expected

    got = hashlib.sha256()

    def sink(talk):
        data = b""
        while b"\r\n\r\n" not in data:
            data += talk.connection.recv(65536)
        data = data.partition(b"\r\n\r\n")[2]
        body = body_of(size if framing == "length" else None)
        while True:
            got.update(body.feed(data)[0])
            if body.done:
                break
            data = talk.connection.recv(1 << 16)
        talk.send(OK)
        talk.read_request()

    with serving(sink) as log, meter(log.port) as proxy, proxy.connection() as sock:
        if framing == "length":
            sock.sendall(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % size)
            for _ in range(size // len(piece)):
                sock.sendall(piece)
        else:
            sock.sendall(b"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in range(size // len(piece)):
                sock.sendall(b"%x\r\n" % len(piece) + piece + b"\r\n")
            sock.sendall(b"0\r\n\r\n")
        assert sock.recv(100) == OK
    assert got.hexdigest() == expected


def test_a_client_that_does_not_read_holds_the_upstream_back(meter):
    """Backpressure: an endless answer fills some buffers and then waits."""
    sent = []

    def behave(talk):
        talk.read_request()
        talk.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        talk.connection.settimeout(0.7)
        try:
            while True:
                sent.append(talk.connection.send(bytes(65536)))
        except TimeoutError:
            sent.append(0)

    with serving(behave) as log, meter(log.port) as proxy, proxy.connection() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        sock.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        proxy.until(lambda: sent and sent[-1] == 0)
        assert sum(sent) < 64 << 20


def test_pipelined_requests_are_answered_in_order(meter):
    """One at a time."""

    def behave(talk):
        while (data := talk.read_request()) is not None:
            number = data.split()[1]
            talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(number), number))

    with serving(behave) as log, meter(log.port) as proxy:
        requests = [b"GET /%d HTTP/1.1\r\nHost: a\r\n" % n for n in range(50)]
        got = proxy.raw(b"\r\n".join(requests) + b"Connection: close\r\n\r\n")
        assert re.findall(rb"\r\n\r\n(/\d+)", got) == [b"/%d" % n for n in range(50)]
        assert proxy.counts.first == 50
