"""A client's connection: reads request after request and begins an exchange for each."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from meter.proxy.answers import own_answer
from meter.proxy.forwarding import check_request
from meter.proxy.heads import BadMessage, RequestHead, check_unfinished, parse_request
from meter.proxy.transports import untie

if TYPE_CHECKING:
    from meter.proxy.exchange import Exchange
    from meter.proxy.proxy import Proxy

MAX_AHEAD = 64 * 1024
"""Bytes of further requests that are read while one is being answered; a hang-up is seen only up to there."""
_LINGER_S = 1.0


class ClientConnection(asyncio.Protocol):
    """One request at a time; those that come ahead wait."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._held = b""
        self._paused = False
        self._linger: asyncio.TimerHandle | None = None
        self._stuck_since_s: float | None = None
        self._quiet_since_s = proxy.now_s()
        self.closing = False
        """Whether no further request will be read."""
        self.peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Somebody has connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if not self._proxy.admit(self):
            transport.abort()
            return
        peer = transport.get_extra_info("peername")
        self.peer = peer[0] if isinstance(peer, tuple) else "unknown"

    def data_received(self, data: bytes) -> None:
        """Some of a request, or of the next."""
        if self.closing and self._exchange is None:
            return  # lingering: what comes now is for nobody
        if self._exchange is not None and not self._exchange.request_done:
            data = self._exchange.request_data(data)
        if not data or self.closing:
            return
        self._held = self._held + data if self._held else data
        if self._exchange is None:
            self._begin()
        elif len(self._held) > MAX_AHEAD:
            self.pause()

    def eof_received(self) -> bool:
        """No more comes. A client that closes half is taken to have hung up, as most servers do."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The client has gone."""
        if self._transport is not None:
            untie(self._transport)
        self._transport = None
        self.closing = True
        if self._linger is not None:
            self._linger.cancel()
        self._proxy.left(self)
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.client_gone()

    def pause_writing(self) -> None:
        """The client reads slower than the upstream sends."""
        self._stuck_since_s = self._proxy.now_s()
        if self._exchange is not None:
            self._exchange.pause_answer()

    def resume_writing(self) -> None:
        """It has caught up."""
        self._stuck_since_s = None
        if self._exchange is not None:
            self._exchange.resume_answer()

    def pause(self) -> None:
        """Read no more for now."""
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    def write(self, data: bytes) -> None:
        """Send some of an answer."""
        if self._transport is not None:
            self._transport.write(data)

    def answered(self, close: bool, request_done: bool) -> None:
        """The answer is complete: close, or go on with the next request."""
        self._exchange = None
        self._quiet_since_s = self._proxy.now_s()
        if close or self.closing:
            self._close(linger=not request_done)
            return
        self.resume()
        if self._held:
            # In a turn of its own: many short requests sent ahead must not nest.
            self._proxy.loop.call_soon(self._begin)

    def cut(self) -> None:
        """Break the connection off, so that the client knows the answer has not come to its end."""
        self._exchange = None
        self.closing = True
        if self._transport is not None:
            self._transport.abort()

    def overdue(self, now_s: float, timeout_s: float) -> bool:
        """Whether the client has been idle, in the middle of a head, or deaf to its answer for so long."""
        if self._stuck_since_s is not None:
            return now_s - self._stuck_since_s > timeout_s
        if self._exchange is None:
            return now_s - self._quiet_since_s > timeout_s
        return not self._exchange.request_done and self._exchange.silent_s(now_s) > timeout_s

    def hang_up(self) -> None:
        """Close without ado, as if the client had."""
        if self._transport is not None:
            self._transport.abort()

    def _begin(self) -> None:
        """Begin an exchange if a whole head is there."""
        if self._exchange is not None or self.closing or self._transport is None:
            return
        try:
            head = self._take_head()
        except BadMessage as error:
            self._refuse(error.status, error.reason)
            return
        if head is None:
            return
        rest, self._held = self._held, b""
        exchange = self._proxy.open(self, head)
        if rest and not exchange.request_done:
            rest = exchange.request_data(rest)
        if not self.closing:
            self._held = rest

    def attach(self, exchange: Exchange) -> None:
        """The exchange that is beginning; it may be answered before ``Proxy.open`` returns."""
        self._exchange = exchange

    def _take_head(self) -> RequestHead | None:
        data = self._held
        while data.startswith(b"\r\n"):  # an empty line before a request is no part of it (RFC 9112 §2.2)
            data = data[2:]
        end = data.find(b"\r\n\r\n")
        if end < 0:
            check_unfinished(data)
            self._held = data
            return None
        self._held = data[end + 4 :]
        head = parse_request(data[:end])
        check_request(head)
        return head

    def _refuse(self, status: HTTPStatus, reason: str) -> None:
        self._proxy.malformed()
        self.write(own_answer(status, reason))
        self._close(linger=True)

    def _close(self, linger: bool) -> None:
        """Close; where more may be on its way, only after a while, since the kernel would answer it with a
        reset that takes the answer with it (RFC 9112 §9.6)."""
        self.closing = True
        self._held = b""
        transport = self._transport
        if transport is None:
            return
        if not linger:
            transport.close()
            return
        self.resume()
        if transport.can_write_eof():
            transport.write_eof()
        self._linger = self._proxy.loop.call_later(_LINGER_S, transport.abort)
