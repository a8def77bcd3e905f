"""What is malformed is refused, the connection closed, and no upstream ever sees any of it."""

import socket

import pytest

from tests.servers import friendly, serving

H = b"GET / HTTP/1.1\r\nHost: a\r\n"
P = b"POST / HTTP/1.1\r\nHost: a\r\n"
CHUNKED = P + b"Transfer-Encoding: chunked\r\n\r\n"
REFUSED = {
    "both lengths": (400, P + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "both lengths, the other way": (400, P + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n"),
    "differing lengths": (400, P + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"),
    "repeated lengths": (400, P + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc"),
    "a list of lengths": (400, P + b"Content-Length: 3, 3\r\n\r\nabc"),
    "a signed length": (400, P + b"Content-Length: +3\r\n\r\nabc"),
    "a negative length": (400, P + b"Content-Length: -3\r\n\r\nabc"),
    "a hexadecimal length": (400, P + b"Content-Length: 0x3\r\n\r\nabc"),
    "an empty length": (400, P + b"Content-Length:\r\n\r\nabc"),
    "an endless length": (400, P + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nabc"),
    "another coding": (400, P + b"Transfer-Encoding: identity\r\n\r\n"),
    "a coding after chunked": (400, P + b"Transfer-Encoding: chunked, gzip\r\n\r\n"),
    "a coding before chunked": (501, P + b"Transfer-Encoding: gzip, chunked\r\n\r\n"),
    "chunked twice": (400, P + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
    "an obscured chunked": (400, P + b"Transfer-Encoding: xchunked\r\n\r\n"),
    "a vertical tab before chunked": (400, P + b"Transfer-Encoding: \x0bchunked\r\n\r\n"),
    "a space before the colon": (400, P + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
    "chunked in HTTP/1.0": (400, b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
    "a folded line": (400, H + b"X-A: b\r\n c\r\n\r\n"),
    "a line that begins with a tab": (400, H + b"\tX-A: b\r\n\r\n"),
    "a bare LF": (400, b"GET / HTTP/1.1\nHost: a\n\n"),
    "a bare LF among the headers": (400, H + b"X-A: b\nX-B: c\r\n\r\n"),
    "a bare CR in a value": (400, H + b"X-A: b\rX-B: c\r\n\r\n"),
    "a NUL in a value": (400, H + b"X-A: b\0c\r\n\r\n"),
    "a NUL in a name": (400, H + b"X\0A: b\r\n\r\n"),
    "a control character": (400, H + b"X-A: \x07\r\n\r\n"),
    "a space in a name": (400, H + b"X A: b\r\n\r\n"),
    "an empty name": (400, H + b": b\r\n\r\n"),
    "no colon": (400, H + b"X-A\r\n\r\n"),
    "a name in UTF-8": (400, H + "Ä: b\r\n\r\n".encode()),
    "no Host": (400, b"GET / HTTP/1.1\r\n\r\n"),
    "two Hosts": (400, H + b"Host: b\r\n\r\n"),
    "two Hosts alike": (400, H + b"Host: a\r\n\r\n"),
    "a Host with a path": (400, b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
    "a Host with a user": (400, b"GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
    "no version": (400, b"GET /\r\n\r\n"),
    "HTTP/2": (505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    "HTTP/1.2": (505, b"GET / HTTP/1.2\r\nHost: a\r\n\r\n"),
    "a version of two digits": (400, b"GET / HTTP/1.10\r\nHost: a\r\n\r\n"),
    "lower case http": (400, b"GET / http/1.1\r\nHost: a\r\n\r\n"),
    "two spaces": (400, b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a tab": (400, b"GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a space in the target": (400, b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a raw byte in the target": (400, b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a fragment": (400, b"GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a target that is no path": (400, b"GET a HTTP/1.1\r\nHost: a\r\n\r\n"),
    "another scheme": (400, b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a user in the target": (400, b"GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n"),
    "* for GET": (400, b"GET * HTTP/1.1\r\nHost: a\r\n\r\n"),
    "CONNECT": (501, b"CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n"),
    "TRACE": (405, b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n"),
    "a websocket": (501, H + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n"),
    "another expectation": (417, H + b"Expect: 200-ok\r\n\r\n"),
    "TLS": (400, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n"),
    "an endless request line": (414, b"GET /" + b"a" * 40_000),
    "an endless header": (431, H + b"X-A: " + b"a" * 40_000),
    "a head over the limit": (431, H + (b"X-A: " + b"a" * 1000 + b"\r\n") * 40 + b"\r\n"),
    "too many headers": (431, H + b"X: y\r\n" * 250 + b"\r\n"),
    "no further for OPTIONS": (200, b"OPTIONS * HTTP/1.1\r\nHost: a\r\nMax-Forwards: 0\r\n\r\n"),
}  # fmt: skip
BAD_CHUNKS = {
    "no size": b"\r\nabc\r\n",
    "a signed size": b"+3\r\nabc\r\n0\r\n\r\n",
    "a size with 0x": b"0x3\r\nabc\r\n0\r\n\r\n",
    "a size with a space": b" 3\r\nabc\r\n0\r\n\r\n",
    "a size with a bare LF": b"3\nabc\r\n0\r\n\r\n",
    "an endless size": b"f" * 17 + b"\r\nabc",
    "a chunk longer than its size": b"3\r\nabcd\r\n0\r\n\r\n",
    "a NUL in an extension": b"3;\0\r\nabc\r\n0\r\n\r\n",
    "a bare CR in an extension": b"3;a\rb\r\nabc\r\n0\r\n\r\n",
    "an endless extension": b"3;" + b"x" * 9000,
    "a malformed trailer": b"0\r\nX A: b\r\n\r\n",
    "an endless trailer": b"0\r\nX: " + b"x" * 20_000,
}
pytestmark = pytest.mark.sockets


@pytest.fixture(scope="module")
def both():
    from tests.meter.proxy.conftest import metered

    with serving(friendly) as log, metered(log.port) as proxy:
        yield log, proxy


@pytest.mark.parametrize("case", REFUSED)
def test_refused_and_never_forwarded(both, case):
    """The status, the closed connection, and an upstream that has seen nothing of it."""
    log, proxy = both
    status, data = REFUSED[case]
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n"
    before, attempts = len(log.requests), proxy.counts.ingress
    answer = proxy.raw(data + smuggled)
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"\r\nConnection: close\r\n" in answer
    assert answer.count(b"\r\nX-Tipover-Meter: ") == 1
    assert (len(log.requests), proxy.counts.ingress) == (before, attempts)


@pytest.mark.parametrize("case", BAD_CHUNKS)
def test_a_malformed_chunk_ends_both_sides(both, case):
    """The head was good and is counted; the upstream gets no end of the body, so it cannot take half for
    all."""
    log, proxy = both
    before = dict(proxy.counts.outcomes)
    answer = proxy.raw(CHUNKED + BAD_CHUNKS[case] + b"GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n")
    # The friendly upstream answers at the head; whichever was first, nothing follows.
    assert answer.count(b"HTTP/1.1 ") <= 1
    proxy.until(lambda: proxy.counts.inflight == 0)
    assert sum(proxy.counts.outcomes.values()) == sum(before.values()) + 1
    assert all(b"/smuggled" not in data and b"\r\n0\r\n\r\n" not in data for _, data in log.requests)


def test_slowly_is_no_other_than_at_once(both):
    """A malformed head a byte at a time is refused as soon as it can be."""
    _, proxy = both
    with proxy.connection() as sock:
        for byte in b"GET / HTTP/1.1\r\nHost: a\n":
            sock.send(bytes([byte]))
        assert sock.recv(65536).startswith(b"HTTP/1.1 400 ")
        sock.shutdown(socket.SHUT_WR)


def test_refusals_are_counted_apart(both):
    """They are no attempts."""
    _, proxy = both
    before = proxy.counts.refusals.get("malformed", 0)
    proxy.raw(b"nonsense\r\n\r\n")
    assert proxy.counts.refusals["malformed"] == before + 1
