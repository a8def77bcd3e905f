"""Small hostile and friendly servers on loopback, in threads, for tests on real sockets."""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Behaviour = Callable[["Conversation"], None]


@dataclass
class ServerLog:
    """What a server saw; times are ``time.monotonic()``."""

    port: int = 0
    connections: int = 0
    requests: list[tuple[float, bytes]] = field(default_factory=list)


@dataclass
class Conversation:
    """One accepted connection."""

    connection: socket.socket
    log: ServerLog
    over: threading.Event

    def read_request(self) -> bytes | None:
        """The head of the next request; None when the client has closed."""
        data = b""
        while b"\r\n\r\n" not in data:
            try:
                more = self.connection.recv(65536)
            except OSError:
                return None
            if not more:
                return None
            data += more
        self.log.requests.append((time.monotonic(), data))
        return data

    def send(self, data: bytes) -> bool:
        """Send, and say whether the client is still there; one that has gone is no error."""
        try:
            self.connection.sendall(data)
        except OSError:
            return False
        return True

    def pour(self, data: bytes) -> None:
        """Send the same for ever, until the client has gone."""
        while not self.over.is_set() and self.send(data):
            pass


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def friendly(talk: Conversation) -> None:
    """Answers every request at once and keeps the connection."""
    while talk.read_request() is not None:
        talk.send(OK)


def silent(talk: Conversation) -> None:
    """Accepts, reads, says nothing."""
    while talk.read_request() is not None:
        pass


def dripping(talk: Conversation) -> None:
    """Sends a long answer one byte at a time, for ever."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not talk.over.wait(0.02):
        talk.send(b"x")


def half_then_silent(talk: Conversation) -> None:
    """Sends half an answer and then nothing."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    talk.over.wait()


def half_then_closed(talk: Conversation) -> None:
    """Sends half an answer and closes."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")


def resetting(talk: Conversation) -> None:
    """Resets the connection once the request is there."""
    talk.read_request()
    talk.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def not_http(talk: Conversation) -> None:
    """Answers with something that is not HTTP."""
    talk.read_request()
    talk.send(b"SSH-2.0-OpenSSH_9.2\r\n")
    talk.over.wait()


def rejecting(talk: Conversation) -> None:
    """Says 503 to everything."""
    while talk.read_request() is not None:
        talk.send(b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n")


def chunked(talk: Conversation) -> None:
    """Answers with an interim response and then a chunked body."""
    while talk.read_request() is not None:
        talk.send(
            b"HTTP/1.1 103 Early Hints\r\n\r\n"
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        )


def until_closed(talk: Conversation) -> None:
    """Answers with a body that only the end of the connection delimits."""
    talk.read_request()
    talk.send(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nwhatever comes until the end")


def closing_after_one(talk: Conversation) -> None:
    """Answers once, promises to keep the connection, and closes it."""
    talk.read_request()
    talk.send(OK)


def dropping_the_second(talk: Conversation) -> None:
    """Answers the first request of a connection; reads the second and closes without a word."""
    talk.read_request()
    talk.send(OK)
    talk.read_request()


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


def pouring(start: bytes, piece: bytes) -> Behaviour:
    """Answers with ``start`` and then ``piece`` after ``piece``, without end."""

    def pour(talk: Conversation) -> None:
        talk.read_request()
        talk.send(start)
        talk.pour(piece)

    return pour


def answering(*answers: bytes) -> Behaviour:
    """Gives these answers in turn, whatever is asked, and then hangs up."""

    def answer(talk: Conversation) -> None:
        for data in answers:
            if talk.read_request() is None:
                return
            talk.send(data)
        talk.read_request()

    return answer


ENDLESS: dict[str, Behaviour] = {
    "a header's name": pouring(b"HTTP/1.1 200 OK\r\nX", b"x" * 16384),
    "a header's value": pouring(b"HTTP/1.1 200 OK\r\nX: ", b"x" * 16384),
    "headers": pouring(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 2048),
    "a reason phrase": pouring(b"HTTP/1.1 200 ", b"x" * 16384),
    "interim answers": pouring(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 512),
    "a chunk extension": pouring(CHUNKED + b"5;x=", b"x" * 16384),
    "a trailer": pouring(CHUNKED + b"2\r\nok\r\n0\r\nX: ", b"x" * 16384),
    "trailers": pouring(CHUNKED + b"2\r\nok\r\n0\r\n", b"X: y\r\n" * 2048),
    "a body": pouring(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n", bytes(65536)),
    "chunks": pouring(CHUNKED, b"8000\r\n" + bytes(32768) + b"\r\n"),
}
"""Answers that never end in one way or another, as fast as the client takes them."""


@contextmanager
def serving(
    behaviour: Behaviour, tls: ssl.SSLContext | None = None, listener: socket.socket | None = None
) -> Iterator[ServerLog]:
    """A server on a free port of 127.0.0.1 (or on ``listener``) whose every connection is handled by
    ``behaviour``, under TLS if there is a context."""
    if listener is None:
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    log, over = ServerLog(listener.getsockname()[1]), threading.Event()

    def handle(connection: socket.socket) -> None:
        with connection, contextlib.suppress(ssl.SSLError, ConnectionError):
            if tls is not None:
                connection = tls.wrap_socket(connection, server_side=True)
            with connection:
                behaviour(Conversation(connection, log, over))

    def accept() -> None:
        while not over.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            log.connections += 1
            threading.Thread(target=handle, args=(connection,), daemon=True).start()

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield log
    finally:
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(5)


@contextmanager
def never_accepting() -> Iterator[ServerLog]:
    """A listening socket whose accept queue is full, so that the kernel answers no SYN."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    fillers = []
    try:
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
            fillers.append(filler)
        yield ServerLog(listener.getsockname()[1])
    finally:
        for filler in fillers:
            filler.close()
        listener.close()
