"""Reading an HTTP/1.1 answer off a byte stream (llhttp through httptools), keeping only what is needed."""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
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

    def retry_after_s(self, now_epoch_s: float) -> float:  # noqa: ARG002
        """How long the answer asked the client to stay away; this reader does not look."""
        return 0.0

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


class PatientResponseReader(ResponseReader):
    """One that also reads how long an answer asks the client to stay away."""

    __slots__ = ("_milliseconds", "_seconds")

    def expect(self, head_only: bool) -> None:
        """Get ready for the next answer."""
        super().expect(head_only)
        self._seconds = self._milliseconds = ""

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep what it asks for, to be understood only if the answer turns out a rejection."""
        super().on_header(name, value)
        lowered = name.lower()
        if lowered == b"retry-after":
            self._seconds = value.decode("latin-1").strip()
        elif lowered == b"retry-after-ms":
            self._milliseconds = value.decode("latin-1").strip()

    def retry_after_s(self, now_epoch_s: float) -> float:
        """Seconds from now: of ``retry-after-ms`` if it says anything, else of ``Retry-After``."""
        if _NUMBER.fullmatch(self._milliseconds):
            return min(float(self._milliseconds) / 1e3, MOST_PATIENCE_S)
        return retry_after_s(self._seconds, now_epoch_s)


_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
MOST_PATIENCE_S = 86_400.0
"""Whoever asks for more than a day gets a day, be it in more digits than a float holds (RFC 9111 §1.2.2)."""


def retry_after_s(text: str, now_epoch_s: float) -> float:
    """Seconds from now that a ``Retry-After`` asks for, as delta-seconds (a fraction is taken too) or as an
    HTTP-date (RFC 9110 §10.2.3); 0 for what is neither, or past."""
    if _NUMBER.fullmatch(text):
        return min(float(text), MOST_PATIENCE_S)
    try:
        then_s = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return min(max(then_s - now_epoch_s, 0.0), MOST_PATIENCE_S)


__all__ = ["HttpParserError", "PatientResponseReader", "ResponseReader", "retry_after_s"]
