"""Upstreams that fail and clients that give up: what the client sees, what is counted, what goes on."""

import socket
import threading

import pytest

from tests.meter.proxy.conftest import read_all
from tests.servers import (
    OK,
    dropping_the_second,
    friendly,
    half_then_closed,
    not_http,
    rejecting,
    resetting,
    serving,
    silent,
)

pytestmark = pytest.mark.sockets
GET = b"GET / HTTP/1.1\r\nHost: a\r\nX-Attempt: 1\r\n\r\n"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


def held(release):
    """Answers when it is let to."""

    def behave(talk):
        while talk.read_request() is not None:
            release.wait(20)
            talk.send(OK)

    return behave


def outcomes_after(proxy, count):
    proxy.until(lambda: sum(proxy.counts.outcomes.values()) >= count)
    assert proxy.counts.inflight == 0
    return proxy.counts.outcomes


def test_nobody_listens(meter):
    """502, an error."""
    with meter(free_port()) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 502 ")
        assert outcomes_after(proxy, 1) == {"error": 1}


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 0\n\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
    ],
)
def test_an_answer_that_can_be_taken_two_ways(meter, answer):
    """502: none of it is passed on."""

    def behave(talk):
        talk.read_request()
        talk.send(answer)
        talk.read_request()

    with serving(behave) as log, meter(log.port) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 502 ")
        assert outcomes_after(proxy, 1) == {"error": 1}


@pytest.mark.parametrize("behaviour", [resetting, not_http])
def test_no_answer_but_an_end(meter, behaviour):
    """502, an error; asked once."""
    with serving(behaviour) as log, meter(log.port) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 502 ")
        assert outcomes_after(proxy, 1) == {"error": 1}
        assert len(log.requests) == 1


def test_a_kept_connection_that_breaks_is_no_reason_to_ask_again(meter):
    """The second request gets 502, and the upstream has seen two requests, not three."""
    with serving(dropping_the_second) as log, meter(log.port) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 200 ")
        assert proxy.ask().startswith(b"HTTP/1.1 502 ")
        assert len(log.requests) == 2
        assert outcomes_after(proxy, 2) == {"ok": 1, "error": 1}


def test_half_an_answer_is_cut_off(meter):
    """The client gets what there was and no end that is none."""
    with serving(half_then_closed) as log, meter(log.port) as proxy:
        got = proxy.ask()
        assert len(got.partition(b"\r\n\r\n")[2]) < 100
        assert b"502" not in got
        assert outcomes_after(proxy, 1) == {"error": 1}


def test_half_of_the_chunks_are_cut_off(meter):
    """No last chunk is made up."""

    def behave(talk):
        talk.read_request()
        talk.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n")

    with serving(behave) as log, meter(log.port) as proxy:
        assert b"0\r\n\r\n" not in proxy.ask().partition(b"\r\n\r\n")[2]
        assert outcomes_after(proxy, 1) == {"error": 1}


def test_an_upstream_that_says_nothing(meter):
    """504 after the timeout, a timeout."""
    with serving(silent) as log, meter(log.port, upstream_timeout_s=0.2) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 504 ")
        assert outcomes_after(proxy, 1) == {"timeout": 1}


def test_rejections_are_counted_as_such(meter):
    """503 of the service's own passes."""
    with serving(rejecting) as log, meter(log.port) as proxy:
        got = proxy.ask()
        assert got.startswith(b"HTTP/1.1 503 ")
        assert b"X-Tipover-Meter" not in got
        assert outcomes_after(proxy, 1) == {"rejected": 1}


def test_a_client_that_hangs_up_cancels_nothing(meter):
    """The upstream's work goes on to its end; its connection is used again."""
    release = threading.Event()
    with serving(held(release)) as log, meter(log.port) as proxy:
        with proxy.connection() as sock:
            sock.sendall(GET)
            proxy.until(lambda: log.requests)
        proxy.until(lambda: proxy.state()["client_connections"] == 0)
        assert proxy.state()["outstanding"] == 1
        assert proxy.counts.outcomes == {}
        release.set()
        assert outcomes_after(proxy, 1) == {"abandoned": 1}
        assert proxy.ask().startswith(b"HTTP/1.1 200 ")
        assert log.connections == 1


def test_a_client_that_hangs_up_while_the_upstream_is_being_connected(meter):
    """Its request is whole, so it is delivered."""
    release = threading.Event()
    release.set()
    with serving(held(release)) as log, meter(log.port) as proxy:
        for _ in range(20):
            with proxy.connection() as sock:
                sock.sendall(GET)
        proxy.until(lambda: proxy.counts.first == 20 and proxy.counts.inflight == 0)
        assert len(log.requests) == 20
        assert set(proxy.counts.outcomes) <= {"abandoned", "ok"}


def test_cancel_upstream(meter):
    """Then the upstream is hung up on."""
    gone = threading.Event()

    def behave(talk):
        talk.read_request()
        if talk.read_request() is None:
            gone.set()

    with serving(behave) as log, meter(log.port, cancel_upstream=True) as proxy:
        with proxy.connection() as sock:
            sock.sendall(GET)
            proxy.until(lambda: log.requests)
        assert gone.wait(20)
        assert outcomes_after(proxy, 1) == {"abandoned": 1}


def test_half_a_request_is_given_up_upstream(meter):
    """Nobody can serve it."""
    gone = threading.Event()

    def behave(talk):
        talk.read_request()
        if talk.read_request() is None:
            gone.set()

    with serving(behave) as log, meter(log.port) as proxy:
        with proxy.connection() as sock:
            sock.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf")
            proxy.until(lambda: log.requests)
        assert gone.wait(20)
        assert outcomes_after(proxy, 1) == {"incomplete": 1}


def test_idle_and_slow_clients_are_hung_up_on(meter):
    """After the client's timeout: one that says nothing, one in the middle of a head, one of a body."""
    with serving(silent) as log, meter(log.port, client_timeout_s=0.3) as proxy:
        for data in (b"", b"GET / HT", b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nhal"):
            with proxy.connection() as sock:
                sock.sendall(data)
                sock.settimeout(20)
                assert read_all(sock) == b""
        assert outcomes_after(proxy, 1) == {"incomplete": 1}


def test_a_stop_cuts_everything_off(meter):
    """Also what is outstanding; the fixture waits for the end."""
    with serving(silent) as log:
        with meter(log.port) as proxy, proxy.connection() as sock:
            sock.sendall(GET)
            proxy.until(lambda: log.requests)
            counts = proxy.counts
        assert counts.outcomes == {"aborted": 1}


def test_full(meter):
    """Beyond the limit the meter says no itself, tells why, and is not ready until it has room."""
    release = threading.Event()
    with serving(held(release)) as log, meter(log.port, max_outstanding=2) as proxy:
        socks = [socket.create_connection(("127.0.0.1", proxy.port), 20) for _ in range(2)]
        for sock in socks:
            sock.sendall(GET)
        proxy.until(lambda: len(log.requests) == 2)
        got = proxy.ask()
        assert got.startswith(b"HTTP/1.1 503 ")
        assert b"X-Tipover-Meter: the meter is full" in got
        assert proxy.counts.refusals == {"meter-full": 1}
        assert proxy.counts.outcomes == {"refused": 1}
        assert proxy.page("/readyz")[0] == 503
        assert "saturated" in proxy.page("/readyz")[1]
        assert proxy.page("/healthz")[0] == 200
        assert 'tipover_refusals_total{reason="meter-full"} 1.0' in proxy.page("/metrics")[1]
        for sock in socks:
            sock.close()
        proxy.until(lambda: proxy.state()["client_connections"] == 0)
        assert proxy.ask().startswith(b"HTTP/1.1 503 ")  # abandoned work still has its places
        release.set()
        proxy.until(lambda: proxy.state()["outstanding"] == 0)
        assert proxy.ask().startswith(b"HTTP/1.1 200 ")


def test_descriptors_bound_what_is_open(meter):
    """With few of them, the reserve is kept and connections beyond it are closed at once."""
    with serving(silent) as log, meter(log.port, descriptors=110) as proxy:
        assert proxy.ask().startswith(b"HTTP/1.1 503 ")
        socks = [socket.create_connection(("127.0.0.1", proxy.port), 20) for _ in range(15)]
        proxy.until(lambda: proxy.counts.refusals.get("no-descriptor", 0) >= 5)
        for sock in socks:
            sock.close()


def test_round_robin_and_an_upstream_that_refuses(meter):
    """Turn by turn; one that refuses is passed over for a while."""
    with serving(friendly) as one, serving(friendly) as two, meter(one.port, two.port) as proxy:
        for _ in range(10):
            proxy.ask()
        assert (len(one.requests), len(two.requests)) == (5, 5)
    with serving(friendly) as one, meter(one.port, free_port()) as proxy:
        statuses = [proxy.ask()[9:12] for _ in range(6)]
        assert statuses.count(b"502") == 1
        assert [u["left_out"] for u in proxy.state()["upstreams"]] == [False, True]


def test_least_outstanding(meter):
    """The one that hangs gets no more than its one."""
    release = threading.Event()
    with (
        serving(held(release)) as slow,
        serving(friendly) as fast,
        meter(slow.port, fast.port, balance="least-outstanding") as proxy,
    ):
        socks = [socket.create_connection(("127.0.0.1", proxy.port), 20) for _ in range(2)]
        for sock in socks:
            sock.sendall(GET)
        proxy.until(lambda: slow.requests)
        for _ in range(10):
            assert proxy.ask().startswith(b"HTTP/1.1 200 ")
        assert len(slow.requests) == 1
        release.set()
        for sock in socks:
            sock.close()
