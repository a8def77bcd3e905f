"""The proxy itself: opens exchanges, counts them, says no when it is full, and knows all that is open."""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import Any

from meter.edge import EdgeCounter, route_of
from meter.proxy.client import ClientConnection
from meter.proxy.endpoints import Endpoint, Endpoints
from meter.proxy.exchange import REFUSED, Exchange
from meter.proxy.forwarding import forwarded_fields, request_bytes
from meter.proxy.heads import RequestHead
from meter.proxy.settings import ROUTINGS, ProxySettings
from meter.proxy.upstream import UpstreamConnection

METER_FULL = "meter-full"
NO_UPSTREAM = "no-upstream"
MALFORMED = "malformed"
NO_DESCRIPTOR = "no-descriptor"

RESERVE = 500
"""Descriptors kept from exchanges: for new connections that are told no, for scrapes, logs and look-ups."""
_LAST_DESCRIPTORS = 100
SATURATED_FOR_S = 5.0
"""How long after the last refusal for want of room the meter still calls itself saturated."""
_TICK_S = 1.0


class Proxy:
    """On the running loop. ``descriptors`` is how many the process may hold."""

    def __init__(self, settings: ProxySettings, edge: EdgeCounter, descriptors: int) -> None:
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.now_s = self.loop.time
        self.endpoints = Endpoints(settings.upstreams, ROUTINGS[settings.balance], settings.seed)
        self.upstream_connections = 0
        self.refused_sockets = 0
        self.max_outstanding = settings.max_outstanding or max(1, descriptors - RESERVE)
        self._descriptors = descriptors
        self._edge = edge
        self._recognised_by = {name.encode(): name for name in edge.recognition.headers_read}
        self._exchanges: set[Exchange] = set()
        self._clients: set[ClientConnection] = set()
        self._full_at_s: float | None = None
        self._closed = False

    # From clients

    def admit(self, client: ClientConnection) -> bool:
        """Whether there is a descriptor for one more client."""
        self._clients.add(client)
        if not self._closed and self._open_sockets <= self._descriptors - _LAST_DESCRIPTORS:
            return True
        self._edge.counts.refused(NO_DESCRIPTOR)
        self._full_at_s = self.loop.time()
        return False

    def left(self, client: ClientConnection) -> None:
        """A client's connection has ended."""
        self._clients.discard(client)

    def malformed(self) -> None:
        """A request was refused for what it is: it is no attempt, and no upstream has seen it."""
        self._edge.counts.refused(MALFORMED)

    def open(self, client: ClientConnection, head: RequestHead) -> Exchange:
        """Count a request and begin its exchange; it may be over already."""
        now_s = self.loop.time()
        exchange = Exchange(self, client, head, now_s)
        self._exchanges.add(exchange)
        client.attach(exchange)
        target = head.target.decode("ascii")
        if self.settings.counts(target):
            exchange.attempt = self._edge.started(self._told_by(head), route_of(target), now_s)
        endpoint = self.endpoints.next(now_s)
        if endpoint is None:
            self._refuse(exchange, NO_UPSTREAM, "no upstream has an address")
        elif self._full_for(endpoint):
            self._full_at_s = now_s
            self._refuse(exchange, METER_FULL, "the meter is full: too many exchanges are outstanding")
        else:
            exchange.begin(
                endpoint, self._for_upstream(client, head, endpoint), self.settings.upstream_timeout_s
            )
        return exchange

    # From exchanges

    def connect(self, exchange: Exchange, endpoint: Endpoint) -> asyncio.Task[None]:
        """Begin to connect; the exchange is told how it went."""
        return self.loop.create_task(self._connect(exchange, endpoint))

    def ended(self, exchange: Exchange, outcome: str) -> None:
        """An exchange is over."""
        self._exchanges.discard(exchange)
        if exchange.attempt:
            self._edge.ended(exchange.attempt, outcome, self.loop.time() - exchange.started_s)

    # From whoever runs it

    async def tick_for_ever(self) -> None:
        """Close what has been idle or stuck for too long, once a second."""
        while True:
            await asyncio.sleep(_TICK_S)
            now_s = self.loop.time()
            self.endpoints.close_idle(now_s)
            for client in list(self._clients):
                if client.overdue(now_s, self.settings.client_timeout_s):
                    client.hang_up()

    def close(self) -> None:
        """Cut everything off."""
        self._closed = True
        for exchange in list(self._exchanges):
            exchange.cut()
        for client in list(self._clients):
            client.hang_up()
        for endpoint in self.endpoints.all:
            endpoint.close_idle(float("inf"))

    @property
    def outstanding(self) -> int:
        """Exchanges that an upstream has not ended."""
        return len(self._exchanges)

    @property
    def clients(self) -> int:
        """Connections of clients."""
        return len(self._clients)

    def not_ready(self) -> str | None:
        """Why this meter should get no more traffic, or None."""
        if not self.endpoints.all:
            return "no upstream has an address"
        full = self.outstanding >= self.max_outstanding
        if full or (self._full_at_s is not None and self.loop.time() - self._full_at_s < SATURATED_FOR_S):
            return f"saturated: {self.outstanding} of {self.max_outstanding} exchanges outstanding"
        return None

    def state(self) -> dict[str, Any]:
        """What is open now."""
        now_s = self.loop.time()
        return {
            "outstanding": self.outstanding,
            "max_outstanding": self.max_outstanding,
            "descriptors": self._descriptors,
            "client_connections": self.clients,
            "upstream_connections": self.upstream_connections,
            "not_ready": self.not_ready(),
            "refused_sockets": self.refused_sockets,
            "upstreams": [
                {
                    "upstream": endpoint.origin.authority,
                    "address": endpoint.name,
                    "outstanding": endpoint.outstanding,
                    "idle_connections": len(endpoint.idle),
                    "left_out": endpoint.left_out_until_s > now_s,
                }
                for endpoint in self.endpoints.all
            ],
        }

    @property
    def _open_sockets(self) -> int:
        return len(self._clients) + self.upstream_connections

    def _full_for(self, endpoint: Endpoint) -> bool:
        if len(self._exchanges) > self.max_outstanding:
            return True
        return not endpoint.idle and self._open_sockets >= self._descriptors - RESERVE

    def _refuse(self, exchange: Exchange, reason: str, sentence: str) -> None:
        self._edge.counts.refused(reason)
        exchange.answer(HTTPStatus.SERVICE_UNAVAILABLE, sentence, REFUSED)

    def _told_by(self, head: RequestHead) -> dict[str, str]:
        named = head.named
        return {
            name: named[raw].decode("latin-1") for raw, name in self._recognised_by.items() if raw in named
        }

    def _for_upstream(self, client: ClientConnection, head: RequestHead, endpoint: Endpoint) -> bytes:
        authority = endpoint.origin.authority.encode()
        settings = self.settings
        host = authority if settings.rewrite_host else None
        forwarded = forwarded_fields(settings.forwarded, client.peer)
        return request_bytes(head, host, authority, settings.via, forwarded)

    async def _connect(self, exchange: Exchange, endpoint: Endpoint) -> None:
        self.upstream_connections += 1
        made: UpstreamConnection | None = None

        def protocol() -> UpstreamConnection:
            nonlocal made
            made = UpstreamConnection(self, endpoint)
            return made

        try:
            _, connection = await self.loop.create_connection(
                protocol, endpoint.address, endpoint.origin.port
            )
        except BaseException as error:
            if made is None or not made.stood:
                self.upstream_connections -= 1
            if not isinstance(error, OSError):
                raise
            if isinstance(error, ConnectionRefusedError):
                endpoint.refused(self.loop.time())
            exchange.not_connected(error)
        else:
            exchange.connected(connection)
