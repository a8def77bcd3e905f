"""Bodies as they pass: which bytes belong to one and where it ends, a piece at a time. Pure.

A decoder is fed what came and returns (payload, what belongs to the next message); ``done`` says whether
the body has ended. Nothing is gathered: at most a chunk's size line or the trailers are held.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Protocol

from meter.proxy.heads import BadMessage, Fields, trailer_field

MAX_SIZE_LINE = 4096
MAX_TRAILERS = 8192

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")


class Body(Protocol):
    """Where a body ends."""

    done: bool
    trailers: Fields

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """(payload, rest): the rest is beyond the end, and empty before it. Raises BadMessage."""


class FixedBody:
    """So many bytes."""

    def __init__(self, length: int) -> None:
        self._left = length
        self.done = length == 0
        self.trailers: Fields = []

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """See ``Body``."""
        if len(data) <= self._left:
            self._left -= len(data)
            self.done = self._left == 0
            return data, b""
        payload, rest = data[: self._left], data[self._left :]
        self._left = 0
        self.done = True
        return payload, rest


class UntilClosed:
    """Everything until the connection ends; whoever sees that sets ``done``."""

    def __init__(self) -> None:
        self.done = False
        self.trailers: Fields = []

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """See ``Body``."""
        return data, b""


class ChunkedBody:
    """Chunks, RFC 9112 §7.1. Extensions are dropped, as an intermediary may; trailers are kept."""

    def __init__(self) -> None:
        self.done = False
        self.trailers: Fields = []
        self._held = b""
        self._left = 0  # bytes of the chunk that are to come, its CRLF not among them
        self._in_chunk = False
        self._in_trailers = False
        self._trailer_bytes = 0

    def feed(self, data: bytes) -> tuple[bytes, bytes]:
        """See ``Body``."""
        if self._held:
            data, self._held = self._held + data, b""
        pieces: list[bytes] = []
        at = 0
        while not self.done:
            after = self._step(data, at, pieces)
            if after is None:
                self._held = data[at:]
                return b"".join(pieces), b""
            at = after
        return b"".join(pieces), data[at:]

    def _step(self, data: bytes, at: int, pieces: list[bytes]) -> int | None:
        """Take the next element at ``at``; where it ends, or None when more must come first."""
        if self._in_chunk:
            if self._left:
                piece = data[at : at + self._left]
                if not piece:
                    return None
                pieces.append(piece)
                self._left -= len(piece)
                return at + len(piece)
            return self._end_of_chunk(data, at)
        end = data.find(b"\r\n", at)
        if end < 0:
            self._check_unfinished(data, at)
            return None
        line = data[at:end]
        if self._in_trailers:
            self._take_trailer(line)
        else:
            self._take_size(line)
        return end + 2

    def _end_of_chunk(self, data: bytes, at: int) -> int | None:
        ending = data[at : at + 2]
        if not b"\r\n".startswith(ending):
            raise BadMessage(HTTPStatus.BAD_REQUEST, "a chunk does not end where its size says")
        if len(ending) < 2:
            return None
        self._in_chunk = False
        return at + 2

    def _take_size(self, line: bytes) -> None:
        size = _SIZE_LINE.fullmatch(line) if len(line) <= MAX_SIZE_LINE else None
        if size is None:
            raise BadMessage(HTTPStatus.BAD_REQUEST, "a chunk's size is malformed")
        self._left = int(size[1], 16)
        self._in_chunk = self._left > 0
        self._in_trailers = self._left == 0

    def _take_trailer(self, line: bytes) -> None:
        if not line:
            self.done = True
            return
        self._trailer_bytes += len(line) + 2
        field = trailer_field(line) if self._trailer_bytes <= MAX_TRAILERS else None
        if field is None:
            raise BadMessage(HTTPStatus.BAD_REQUEST, "the trailers are malformed or too long")
        self.trailers.append(field)

    def _check_unfinished(self, data: bytes, at: int) -> None:
        most = MAX_TRAILERS if self._in_trailers else MAX_SIZE_LINE
        unfinished = data[at : at + most + 2]
        if len(unfinished) > most or b"\n" in unfinished or b"\r" in unfinished[:-1]:
            raise BadMessage(HTTPStatus.BAD_REQUEST, "a line of a chunked body is malformed")


def body_of(length: int | None) -> Body:
    """The decoder for a length: None for chunked, -1 for one that the connection's end delimits."""
    if length is None:
        return ChunkedBody()
    return UntilClosed() if length < 0 else FixedBody(length)


def chunk(payload: bytes) -> bytes:
    """``payload`` (not empty) as one chunk."""
    return b"%x\r\n%b\r\n" % (len(payload), payload)


def last_chunk(trailers: Fields) -> bytes:
    """The end of a chunked body."""
    if not trailers:
        return b"0\r\n\r\n"
    return b"0\r\n" + b"".join(b"%b: %b\r\n" % field for field in trailers) + b"\r\n"
