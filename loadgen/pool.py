"""Connections that are kept between attempts."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from loadgen.connection import Connection, Deadline, TlsConnection
from loadgen.response import (
    MAX_ANSWER_BYTES,
    STATUS_ONLY,
    UNHEARD,
    AnswerOptions,
    AttentiveReader,
    Heard,
    ResponseReader,
)
from loadgen.tls import TlsClient


class ConnectionPool:
    """Idle keep-alive connections to one address, last used first. ``tls`` makes them https.

    With an ``idle_limit`` of 0 every exchange has a connection of its own.
    """

    __slots__ = ("_attentive", "_connect", "_idle", "_idle_limit")

    def __init__(
        self,
        family: int,
        address: tuple[object, ...],
        idle_limit: int = 2000,
        options: AnswerOptions = STATUS_ONLY,
        tls: TlsClient | None = None,
    ) -> None:
        self._attentive = replace(options, max_answer_bytes=MAX_ANSWER_BYTES) != STATUS_ONLY
        make_reader = _make_reader(options, self._attentive)
        self._connect: Callable[[], Connection] = partial(Connection, family, address, make_reader)
        if tls is not None:
            self._connect = partial(TlsConnection, family, address, make_reader, tls)
        self._idle: list[Connection] = []
        self._idle_limit = idle_limit

    def exchange(self, payload: bytes, timeout_s: float, head_only: bool) -> tuple[int, Heard]:
        """One attempt: the status of the answer, within ``timeout_s`` seconds whatever the server does,
        and what the options asked to be found in it. Raises an ``AttemptError``.

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
            heard = connection.heard(time.time()) if self._attentive else UNHEARD
            if connection.reusable and len(self._idle) < self._idle_limit:
                self._idle.append(connection)
                connection = None
            return status, heard
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
        return self._connect()


def _make_reader(options: AnswerOptions, attentive: bool) -> Callable[[], ResponseReader]:
    if attentive:
        return partial(AttentiveReader, options)
    if options.max_answer_bytes != MAX_ANSWER_BYTES:
        return partial(ResponseReader, options.max_answer_bytes)
    return ResponseReader
