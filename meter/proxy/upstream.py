"""A connection to an upstream: sends one request at a time and reads the answer as it comes."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from meter.proxy.bodies import Body, UntilClosed, body_of
from meter.proxy.endpoints import Endpoint
from meter.proxy.forwarding import keeps_alive
from meter.proxy.heads import BadMessage, ResponseHead, check_unfinished, parse_response, response_length
from meter.proxy.transports import untie

if TYPE_CHECKING:
    from meter.proxy.exchange import Exchange
    from meter.proxy.proxy import Proxy

_START = b"HTTP/1."


class UpstreamConnection(asyncio.Protocol):
    """Belongs to one exchange at a time, and between two to its endpoint's idle ones."""

    def __init__(self, proxy: Proxy, endpoint: Endpoint) -> None:
        self._proxy = proxy
        self._endpoint = endpoint
        self._exchange: Exchange | None = None
        self._transport: asyncio.Transport | None = None
        self._held = b""
        self._head: ResponseHead | None = None
        self._body: Body | None = None
        self._paused = False
        self.idle_since_s = 0.0
        self.stood = False
        """Whether the connection ever stood, so that its end is told."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self.stood = True

    def carry(self, exchange: Exchange) -> None:
        """From now on what comes is the answer to this exchange's request."""
        self._exchange = exchange

    def write(self, data: bytes) -> None:
        """Send more of the request."""
        if self._transport is not None and data:
            self._transport.write(data)

    def pause(self) -> None:
        """Read no more for now: the client does not keep up."""
        if not self._paused and self._transport is not None:
            self._paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        """Read on."""
        if self._paused and self._transport is not None:
            self._paused = False
            self._transport.resume_reading()

    @property
    def paused(self) -> bool:
        """Whether the client, not the upstream, holds things up."""
        return self._paused

    def close(self) -> None:
        """Give the connection up, whatever it is doing; the exchange is told nothing more."""
        self._exchange = None
        if self in self._endpoint.idle:
            self._endpoint.idle.remove(self)
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Some of the answer."""
        exchange = self._exchange
        if exchange is None:
            self.close()  # nothing was asked: whatever this is, the next answer cannot be trusted
            return
        try:
            self._read(exchange, data)
        except BadMessage as error:
            self.close()
            exchange.upstream_failed(error.reason)
            return
        exchange.flush()

    def _read(self, exchange: Exchange, data: bytes) -> None:
        exchange.progressed()
        if self._head is None:
            data = self._held + data if self._held else data
            self._held = b""
            while self._head is None:
                end = data.find(b"\r\n\r\n")
                if end < 0:
                    if not data.startswith(_START[: len(data)]):
                        raise BadMessage(HTTPStatus.BAD_GATEWAY, "the upstream does not speak HTTP/1")
                    check_unfinished(data)
                    self._held = data
                    return
                head, data = parse_response(data[:end]), data[end + 4 :]
                self._take_head(exchange, head)
        body = self._body
        assert body is not None
        if data and not body.done:
            payload, data = body.feed(data)
            exchange.response_data(payload)
        if body.done:
            self._end(exchange, body, clean=not data)

    def _take_head(self, exchange: Exchange, head: ResponseHead) -> None:
        if head.status == 101:
            raise BadMessage(HTTPStatus.BAD_GATEWAY, "the upstream switched protocols, unasked")
        length = response_length(exchange.method, head)
        if head.status >= 200:
            self._head = head
            self._body = body_of(length)
        exchange.response_head(head, length)

    def _end(self, exchange: Exchange, body: Body, clean: bool) -> None:
        """The answer is complete; the connection is kept if nothing speaks against it."""
        head = self._head
        assert head is not None
        self._exchange = None
        self._head = self._body = None
        reusable = clean and exchange.request_done and keeps_alive(head) and not self._endpoint.gone
        if reusable:
            self.resume()
            self.idle_since_s = self._proxy.now_s()
            self._endpoint.idle.append(self)
        else:
            self.close()
        exchange.response_end(body.trailers)

    def connection_lost(self, exc: Exception | None) -> None:
        """The end of the connection, which may be the end of the answer."""
        self._proxy.upstream_connections -= 1
        if self._transport is not None:
            untie(self._transport)
        self._transport = None
        if self in self._endpoint.idle:
            self._endpoint.idle.remove(self)
        exchange, body, self._exchange = self._exchange, self._body, None
        if exchange is None:
            return
        if exc is None and isinstance(body, UntilClosed):
            exchange.response_end([])
            exchange.flush()
            return
        exchange.upstream_failed("the upstream closed the connection before its answer was complete")

    def pause_writing(self) -> None:
        """The upstream does not keep up with the request's body."""
        if self._exchange is not None:
            self._exchange.pause_client()

    def resume_writing(self) -> None:
        """It has caught up."""
        if self._exchange is not None:
            self._exchange.resume_client()
