"""One attempt over one TCP connection with one hard deadline, straight on gevent's event loop.

gevent's own sockets set a timer for every operation, so a server that drips a byte at a time resets
the clock for ever. Here a single timer runs from the send to the last byte, and the socket is a raw
non-blocking one: that costs about half as much as a gevent socket when every attempt times out.
"""

from __future__ import annotations

import _socket
import errno
import socket
import time
from enum import Enum

from gevent import get_hub, getcurrent

from loadgen.response import HttpParserError, PatientResponseReader, ResponseReader

_READ, _WRITE = 1, 2
_RECEIVE_BYTES = 65536
_NO_SOCKET = {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM}


class Wake(Enum):
    """What woke a waiting greenlet."""

    READY = 1
    DEADLINE = 2


class DeadlineError(Exception):
    """The deadline passed before the answer was whole."""


class NoSocketError(Exception):
    """The machine had no descriptor or no local port for the attempt: the generator's fault."""


class BrokenConnectionError(Exception):
    """The connection was refused, reset or closed, or what came back is not HTTP."""


class Deadline:
    """One timer for a whole attempt. ``stop`` must be called before the greenlet does anything else."""

    __slots__ = ("_timer",)

    def __init__(self, seconds: float) -> None:
        self._timer = get_hub().loop.timer(max(seconds, 0.0))
        # Without the update the timer would count from when the loop last looked at the clock: a
        # loop that was held up would cut the attempts after it short.
        self._timer.start(getcurrent().switch, Wake.DEADLINE, update=True)

    def stop(self) -> None:
        """Cancel the timer."""
        self._timer.close()


class Connection:
    """A raw non-blocking TCP connection. Every blocking method must run under a ``Deadline``."""

    __slots__ = ("_hub", "_readable", "_reader", "_socket")

    def __init__(self, family: int, address: tuple[object, ...], patient: bool = False) -> None:
        self._hub = get_hub()
        try:
            self._socket = _socket.socket(family, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
        except OSError as error:
            raise NoSocketError(str(error)) from error
        self._reader = PatientResponseReader() if patient else ResponseReader()
        self._readable = self._hub.loop.io(self._socket.fileno(), _READ)
        code = self._socket.connect_ex(address)
        if code not in {0, errno.EINPROGRESS}:
            self.close()
            if code in _NO_SOCKET:
                raise NoSocketError(f"connect: {errno.errorcode.get(code, code)}")
            raise BrokenConnectionError(f"connect: {errno.errorcode.get(code, code)}")

    def exchange(self, payload: bytes, head_only: bool) -> int:
        """Send a request and return the status of the whole answer.

        Raises ``DeadlineError`` when the deadline passes and ``BrokenConnectionError`` on anything else
        that leaves the answer incomplete.
        """
        reader = self._reader
        reader.expect(head_only)
        self._send(payload)
        while True:
            self._wait(self._readable)
            try:
                data = self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                raise BrokenConnectionError(f"receive: {error}") from error
            if not data:
                if reader.started and reader.end_of_stream():
                    return reader.status
                raise BrokenConnectionError("closed before the answer was whole")
            try:
                if reader.feed(data):
                    return reader.status
            except HttpParserError as error:
                raise BrokenConnectionError(f"not HTTP: {error}") from error

    def retry_after_s(self, now_epoch_s: float) -> float:
        """How long the last answer asked the client to stay away, if the connection is a patient one."""
        return self._reader.retry_after_s(now_epoch_s)

    @property
    def reusable(self) -> bool:
        """Whether it may carry another request after a whole answer."""
        return self._reader.reusable

    @property
    def alive(self) -> bool:
        """Whether an idle connection is still open and silent, at the price of one system call."""
        try:
            self._socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        """Close it with a FIN, as a client that gives up does.

        An abortive close (RST) would be cheaper, but a server with the request still in its accept
        queue would then lose the request, and with it the abandoned work this tool is about.
        """
        self._readable.close()
        self._socket.close()
        self._reader.close()

    def _send(self, payload: bytes) -> None:
        view: bytes | memoryview = payload
        while True:
            try:
                sent = self._socket.send(view)
            except BlockingIOError:
                self._wait_writable()
                continue
            except OSError as error:
                raise BrokenConnectionError(f"send: {error}") from error
            if sent == len(view):
                return
            view = memoryview(view)[sent:]

    def _wait_writable(self) -> None:
        watcher = self._hub.loop.io(self._socket.fileno(), _WRITE)
        try:
            self._wait(watcher)
        finally:
            watcher.close()

    def _wait(self, watcher: object) -> None:
        watcher.start(getcurrent().switch, Wake.READY)  # type: ignore[attr-defined]
        try:
            woken = self._hub.switch()
        finally:
            watcher.stop()  # type: ignore[attr-defined]
        if woken is Wake.DEADLINE:
            raise DeadlineError


class ConnectionPool:
    """Idle keep-alive connections to one address, last used first.

    ``patient``: look for how long a failing answer (4xx, 5xx) asks the client to stay away.
    """

    __slots__ = ("_address", "_family", "_idle", "_idle_limit", "_patient")

    def __init__(
        self, family: int, address: tuple[object, ...], idle_limit: int = 2000, patient: bool = False
    ) -> None:
        self._family = family
        self._patient = patient
        self._address = address
        self._idle: list[Connection] = []
        self._idle_limit = idle_limit

    def exchange(self, payload: bytes, timeout_s: float, head_only: bool) -> tuple[int, float]:
        """One attempt: the status of the answer, within ``timeout_s`` seconds whatever the server does,
        and the seconds it asks the client to stay away.

        The connection is kept if the answer was whole and the server allows it, and thrown away
        otherwise. Nothing is ever sent twice: HTTP clients may resend on a new connection when a kept
        one turns out to be closed, but such a resend would be load that no count shows. A kept
        connection is looked at before it is used, and what closes in the instant after that fails.
        """
        deadline = Deadline(timeout_s)
        connection: Connection | None = None
        try:
            connection = self._take()
            status = connection.exchange(payload, head_only)
            away_s = connection.retry_after_s(time.time()) if self._patient and status >= 400 else 0.0
            if connection.reusable and len(self._idle) < self._idle_limit:
                self._idle.append(connection)
                connection = None
            return status, away_s
        finally:
            deadline.stop()
            if connection is not None:
                connection.close()

    def close(self) -> None:
        """Close every idle connection."""
        while self._idle:
            self._idle.pop().close()

    def _take(self) -> Connection:
        while self._idle:
            connection = self._idle.pop()
            if connection.alive:
                return connection
            connection.close()
        return Connection(self._family, self._address, self._patient)
