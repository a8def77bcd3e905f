"""One request and its answer on their way: what the client's side and the upstream's side tell each other."""

from __future__ import annotations

import asyncio
import errno
from http import HTTPStatus
from typing import TYPE_CHECKING

from meter.edge import outcome_of
from meter.proxy.answers import own_answer
from meter.proxy.bodies import body_of, chunk, last_chunk
from meter.proxy.forwarding import keeps_alive, response_bytes, trailers_to_forward
from meter.proxy.heads import BadMessage, RequestHead, ResponseHead

if TYPE_CHECKING:
    from meter.proxy.client import ClientConnection
    from meter.proxy.endpoints import Endpoint
    from meter.proxy.proxy import Proxy
    from meter.proxy.upstream import UpstreamConnection

ERROR, TIMEOUT = "error", "timeout"
ABANDONED = "abandoned"
"""The client hung up; the upstream's answer was read to its end all the same."""
INCOMPLETE = "incomplete"
"""The client hung up in the middle of its request, or its body was malformed: no upstream can serve that."""
REFUSED = "refused"
"""The meter said no itself: it was full, or no upstream had an address."""


class Exchange:
    """Lives from a complete request head to the end of the answer, which its client may not live to see."""

    def __init__(self, proxy: Proxy, client: ClientConnection, head: RequestHead, started_s: float) -> None:
        self._proxy = proxy
        self._client: ClientConnection | None = client
        self._head = head
        self._body = body_of(head.length)
        self._chunked_request = head.length is None
        self._chunked_answer = False
        self._to_send: list[bytes] = []
        self._to_client: list[bytes] = []
        self._upstream: UpstreamConnection | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._status = 0
        self._close_client = not keeps_alive(head)
        self._last_progress_s = started_s
        self._over = False
        self.method = head.method
        self.started_s = started_s
        self.attempt = 0
        """Its number as counted, or 0 if it is not."""
        self.endpoint: Endpoint | None = None

    @property
    def request_done(self) -> bool:
        """Whether the whole request has come."""
        return self._body.done

    # From the proxy

    def begin(self, endpoint: Endpoint, data: bytes, timeout_s: float | None) -> None:
        """Send the head, ``data``, to ``endpoint``, on an idle connection or a new one."""
        self.endpoint = endpoint
        endpoint.outstanding += 1
        if timeout_s is not None:
            self._timer = self._proxy.loop.call_later(timeout_s, self._look_at_time, timeout_s)
        if endpoint.idle:
            self._upstream = endpoint.idle.pop()
            self._to_send.append(data)
            # Sent at the end of this turn, so that a body which came with the head goes with it.
            self._upstream.carry(self)
            self._proxy.loop.call_soon(self._send)
            return
        self._to_send.append(data)
        self._connecting = self._proxy.connect(self, endpoint)

    def connected(self, upstream: UpstreamConnection) -> None:
        """The new connection stands."""
        self._connecting = None
        if self._over:
            upstream.close()
            return
        self._upstream = upstream
        upstream.carry(self)
        self._send()
        self.resume_client()

    def not_connected(self, error: OSError) -> None:
        """There is no connection: nothing was sent."""
        self._connecting = None
        if error.errno == errno.ETIMEDOUT:
            self._fail(
                TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT, "the upstream did not accept a connection in time"
            )
        else:
            self._fail(ERROR, HTTPStatus.BAD_GATEWAY, "no connection to the upstream")

    def answer(self, status: HTTPStatus, reason: str, outcome: str) -> None:
        """Answer without any upstream."""
        self._fail(outcome, status, reason)

    # From the client's side

    def request_data(self, data: bytes) -> bytes:
        """Some of the request's body; returns what is beyond its end. A malformed one ends it all."""
        self.progressed()
        try:
            payload, rest = self._body.feed(data)
        except BadMessage as error:
            self._fail(INCOMPLETE, error.status, error.reason)
            return b""
        if self._chunked_request:
            if payload:
                self._to_send.append(chunk(payload))
            if self._body.done:
                self._to_send.append(last_chunk(trailers_to_forward(self._body.trailers)))
        elif payload:
            self._to_send.append(payload)
        if self._upstream is not None:
            self._send()
        elif not self._body.done:
            self.pause_client()
        return rest

    def client_gone(self) -> None:
        """The client has hung up. What the upstream has begun it ends, if it has all it needs for that."""
        self._client = None
        self._to_client.clear()
        if not self.request_done:
            self._give_up(INCOMPLETE)
        elif self._proxy.settings.cancel_upstream:
            self._give_up(ABANDONED)
        elif self._upstream is not None:
            self._upstream.resume()

    def pause_answer(self) -> None:
        """The client does not keep up with the answer."""
        if self._upstream is not None:
            self._upstream.pause()

    def resume_answer(self) -> None:
        """It has caught up."""
        if self._upstream is not None:
            self.progressed()
            self._upstream.resume()

    def silent_s(self, now_s: float) -> float:
        """Seconds since anything has come from either side."""
        return now_s - self._last_progress_s

    # From the upstream's side

    def progressed(self) -> None:
        """Something has come from either side."""
        self._last_progress_s = self._proxy.loop.time()

    def pause_client(self) -> None:
        """Take no more of the body for now."""
        if self._client is not None:
            self._client.pause()

    def resume_client(self) -> None:
        """Take more again."""
        if self._client is not None:
            self._client.resume()

    def response_head(self, head: ResponseHead, length: int | None) -> None:
        """An interim head, or the one of the answer."""
        client_http11 = self._head.http11
        if head.status < 200:
            if client_http11:
                self._to_client.append(response_bytes(head, chunked=False, close=False))
            return
        self._status = head.status
        delimited = length is not None and length >= 0
        self._chunked_answer = client_http11 and not delimited
        if not self.request_done or not (client_http11 or delimited):
            self._close_client = True  # what more of the body comes, nobody waits for
        if self._client is not None and self._client.closing:
            self._close_client = True
        self._to_client.append(response_bytes(head, self._chunked_answer, self._close_client))

    def response_data(self, payload: bytes) -> None:
        """Some of the answer's body."""
        if payload and self._client is not None:
            self._to_client.append(chunk(payload) if self._chunked_answer else payload)

    def response_end(self, trailers: list[tuple[bytes, bytes]]) -> None:
        """The whole answer has come."""
        self._upstream = None
        if self._chunked_answer:
            self._to_client.append(last_chunk(trailers_to_forward(trailers)))
        client, data = self._client, b"".join(self._to_client)
        self._to_client.clear()
        # Counted first, so that whoever has the answer finds it counted.
        self._end(outcome_of(self._status))
        if client is not None:
            client.write(data)
            client.answered(self._close_client, self.request_done)

    def flush(self) -> None:
        """Write what has come to the client, in one piece."""
        if self._client is not None and self._to_client:
            client, data = self._client, b"".join(self._to_client)
            self._to_client.clear()
            client.write(data)
        else:
            self._to_client.clear()

    def upstream_failed(self, reason: str) -> None:
        """The connection broke, or what came over it is no HTTP."""
        self._upstream = None
        self._fail(ERROR, HTTPStatus.BAD_GATEWAY, reason)

    def cut(self) -> None:
        """Everything ends now."""
        self._give_up("aborted")

    def _send(self) -> None:
        if self._upstream is not None and self._to_send:
            data = b"".join(self._to_send)
            self._to_send.clear()
            self._upstream.write(data)

    def _look_at_time(self, timeout_s: float) -> None:
        """The timer: how long has the upstream, and nobody else, been silent?"""
        now_s = self._proxy.loop.time()
        waits_for_client = not self.request_done or (self._upstream is not None and self._upstream.paused)
        left_s = timeout_s if waits_for_client else self._last_progress_s + timeout_s - now_s
        if left_s > 0.0:
            self._timer = self._proxy.loop.call_later(left_s, self._look_at_time, timeout_s)
            return
        self._timer = None
        self._fail(TIMEOUT, HTTPStatus.GATEWAY_TIMEOUT, "the upstream was silent for too long")

    def _fail(self, outcome: str, status: HTTPStatus, reason: str) -> None:
        """Tell the client, if the answer has not begun; else cut it off: half must not be taken for all."""
        client, begun = self._client, self._status != 0
        self.flush()  # interim answers, and the half that there is
        self._give_up(outcome)
        if client is None:
            return
        if begun:
            client.cut()
        else:
            client.write(own_answer(status, reason, head_only=self.method == b"HEAD", close=True))
            client.answered(True, self.request_done)

    def _give_up(self, outcome: str) -> None:
        if self._upstream is not None:
            self._upstream.close()
            self._upstream = None
        if self._connecting is not None:
            self._connecting.cancel()
            self._connecting = None
        self._end(outcome)

    def _end(self, outcome: str) -> None:
        if self._over:
            return
        self._over = True
        if self._client is None and self.request_done:
            outcome = ABANDONED  # however the upstream took it
        self._client = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self.endpoint is not None:
            self.endpoint.outstanding -= 1
        self._proxy.ended(self, outcome)
