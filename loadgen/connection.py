"""One attempt over one TCP connection with one hard deadline, straight on gevent's event loop.

gevent's own sockets set a timer for every operation, so a server that drips a byte at a time resets
the clock for ever. Here a single timer runs from the send to the last byte, and the socket is a raw
non-blocking one: that costs about half as much as a gevent socket when every attempt times out.
"""

from __future__ import annotations

import _socket
import contextlib
import errno
import socket
from collections.abc import Callable
from enum import Enum

from gevent import get_hub, getcurrent

from loadgen.response import AnswerTooLongError, Heard, HttpParserError, HttpParserUpgrade, ResponseReader
from loadgen.tls import TlsClient, TlsError

_READ, _WRITE = 1, 2
_RECEIVE_BYTES = 65536
_NO_SOCKET = {errno.EMFILE, errno.ENFILE, errno.EADDRNOTAVAIL, errno.EAGAIN, errno.ENOBUFS, errno.ENOMEM}


class Wake(Enum):
    """What woke a waiting greenlet."""

    READY = 1
    DEADLINE = 2


class AttemptError(Exception):
    """The attempt brought no whole answer; the text says why."""


class DeadlineError(AttemptError):
    """The deadline passed before the answer was whole."""


class NoSocketError(AttemptError):
    """The machine had no descriptor or no local port for the attempt: the generator's fault."""


class BrokenConnectionError(AttemptError):
    """The connection was refused, reset or closed, or what came back is not HTTP, or has no end."""


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

    def __init__(
        self, family: int, address: tuple[object, ...], make_reader: Callable[[], ResponseReader]
    ) -> None:
        self._hub = get_hub()
        try:
            self._socket = _socket.socket(family, _socket.SOCK_STREAM | _socket.SOCK_NONBLOCK)
        except OSError as error:
            raise NoSocketError(str(error)) from error
        self._reader = make_reader()
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
            data = self._receive()
            if not data:
                if reader.started and reader.end_of_stream():
                    return reader.status
                raise BrokenConnectionError("closed before the answer was whole")
            try:
                if reader.feed(data):
                    return reader.status
            except HttpParserError as error:
                raise BrokenConnectionError(f"not HTTP: {error}") from error
            except HttpParserUpgrade as error:
                raise BrokenConnectionError("not HTTP: it switches protocols, unasked") from error
            except AnswerTooLongError as error:
                raise BrokenConnectionError(str(error)) from error

    def heard(self, now_epoch_s: float) -> Heard:
        """What the reader found in the last answer."""
        return self._reader.heard(now_epoch_s)

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

    def _receive(self) -> bytes:
        """What comes next; empty at the end of the stream."""
        watcher = self._readable
        while True:
            # As ``_wait``, which would be one more call for every answer.
            watcher.start(getcurrent().switch, Wake.READY)
            try:
                woken = self._hub.switch()
            finally:
                watcher.stop()
            if woken is Wake.DEADLINE:
                raise DeadlineError
            try:
                return self._socket.recv(_RECEIVE_BYTES)
            except BlockingIOError:
                continue
            except OSError as error:
                raise BrokenConnectionError(f"receive: {error}") from error

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


class TlsConnection(Connection):
    """One that speaks TLS; shaking hands is part of its first exchange, under the same deadline."""

    __slots__ = ("_tls",)

    def __init__(
        self,
        family: int,
        address: tuple[object, ...],
        make_reader: Callable[[], ResponseReader],
        client: TlsClient,
    ) -> None:
        self._tls = client.stream()
        super().__init__(family, address, make_reader)

    @property
    def alive(self) -> bool:
        """Whether an idle connection is still open, and all that has come meanwhile is TLS's own."""
        try:
            with contextlib.suppress(BlockingIOError):
                self._tls.take(self._socket.recv(_RECEIVE_BYTES))
            return self._tls.content() is None
        except (OSError, TlsError):
            return False

    def _send(self, payload: bytes) -> None:
        try:
            while not self._tls.established and not self._tls.shake_hands():
                super()._send(self._tls.outgoing())
                self._tls.take(super()._receive())
            records = self._tls.encrypt(payload)
        except TlsError as error:
            self._tell_peer()
            raise BrokenConnectionError(str(error)) from error
        # The last words of the handshake travel with the request.
        super()._send(records)

    def _receive(self) -> bytes:
        tls = self._tls
        try:
            while (content := tls.content()) is None:
                if reply := tls.outgoing():
                    super()._send(reply)
                tls.take(super()._receive())
        except TlsError as error:
            raise BrokenConnectionError(str(error)) from error
        return content

    def _tell_peer(self) -> None:
        """Say why the handshake failed, if the socket takes it at once."""
        with contextlib.suppress(OSError):
            self._socket.send(self._tls.outgoing())
