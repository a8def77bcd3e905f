"""Connections that have ended leave nothing that only the garbage collector could free."""

import gc
import threading
from asyncio import BaseTransport, Transport

import pytest

from meter.proxy.transports import untie
from tests.servers import Conversation, serving

CONNECTIONS = 100
LAST_ANSWER = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"


def socket_transports():
    """Of all threads, closed or not."""
    return sum(isinstance(each, BaseTransport) for each in gc.get_objects())


@pytest.fixture
def uncollected():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.sockets
@pytest.mark.parametrize("patient", [True, False], ids=["answered", "given up"])
def test_what_has_ended_is_freed_without_collecting(meter, uncollected, patient):
    """On both sides of the proxy: for a storm that stood long the collector would come too late."""
    may_answer = threading.Event()
    if patient:
        may_answer.set()

    def answer(talk: Conversation) -> None:
        talk.read_request()
        may_answer.wait(20)
        talk.send(LAST_ANSWER)

    with serving(answer) as log, meter(log.port) as proxy:
        before = socket_transports()
        for _ in range(CONNECTIONS):
            if patient:
                proxy.ask(path="/work")
            else:
                with proxy.connection() as sock:
                    sock.sendall(b"GET /work HTTP/1.1\r\nHost: service\r\n\r\n")
        proxy.until(lambda: len(log.requests) == CONNECTIONS)
        may_answer.set()
        proxy.until(lambda: proxy.counts.finished == CONNECTIONS)
        proxy.until(lambda: socket_transports() <= before + 2)


def test_a_loop_of_another_make_has_nothing_to_undo():
    """Its transports may keep no method of themselves, and may take no attributes."""
    untie(Transport())
