"""Reading an HTTP/1.1 answer off a byte stream (llhttp through httptools), keeping only what is needed."""

from __future__ import annotations

from typing import Any

from httptools import HttpParserError, HttpResponseParser


class ResponseReader:
    """One answer after another from one connection.

    ``feed`` takes bytes as they come and says whether the answer is whole. The body is thrown away.
    """

    __slots__ = (
        "_delimited",
        "_head_only",
        "_keep_alive",
        "_parser",
        "complete",
        "excess",
        "started",
        "status",
    )

    def __init__(self) -> None:
        self._parser: Any = None
        self.expect(head_only=False)

    def expect(self, head_only: bool) -> None:
        """Get ready for the next answer; ``head_only`` if it answers HEAD and so has no body."""
        self._head_only = head_only
        self._delimited = False
        self.complete = False
        self.started = False
        self.excess = False
        self._keep_alive = False
        self.status = 0

    def feed(self, data: bytes) -> bool:
        """Take more bytes; True once the answer is whole. Raises ``HttpParserError`` on nonsense."""
        self.started = True
        if self._parser is None:
            # Made at the first byte, which an attempt that times out in a storm never sees.
            self._parser = HttpResponseParser(self)
        self._parser.feed_data(data)
        return self.complete

    def end_of_stream(self) -> bool:
        """Whether the answer is whole now that the peer has closed: true if only the close delimits it."""
        return self.complete or (self.status >= 200 and not self._delimited)

    @property
    def reusable(self) -> bool:
        """Whether the connection may carry another request."""
        return self._keep_alive and not self.excess

    def close(self) -> None:
        """Part from the parser: the two refer to each other, which only the garbage collector could end."""
        self._parser = None

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        """Another message after the one expected: the stream is out of step."""
        if self.complete:
            self.excess = True

    def on_header(self, name: bytes, _value: bytes) -> None:
        """Note what delimits the body."""
        if name.lower() in {b"content-length", b"transfer-encoding"}:
            self._delimited = True

    def on_headers_complete(self) -> None:
        """The status is known; an answer to HEAD ends here."""
        status = self._parser.get_status_code()
        if status < 200:
            return
        self.status = status
        if self._head_only or status in {204, 304}:
            self.complete = True

    def on_message_complete(self) -> None:
        """The body has ended; an interim answer (1xx) does not count."""
        if self._parser.get_status_code() >= 200:
            self.complete = True
            # llhttp knows this only inside the callback: afterwards it has forgotten the header.
            self._keep_alive = bool(self._parser.should_keep_alive()) and not self._head_only


__all__ = ["HttpParserError", "ResponseReader"]
