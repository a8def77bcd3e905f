"""Reading an HTTP/1.1 answer off a byte stream (llhttp through httptools), keeping only what is needed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

MAX_HEAD_BYTES = 65_536
"""Interim answers, header, trailers and chunk extensions may take so much without a byte of body."""
MAX_ANSWER_BYTES = 64 * 2**20
"""An answer longer than this, header included, is no answer."""
MATCHED_BYTES = 2**20
"""So much of a body is kept to be searched."""
_SERVER_CHARACTERS = 200
_DELIMITING = frozenset({b"content-length", b"transfer-encoding"})
_DELIMITING_LENGTHS = frozenset(map(len, _DELIMITING))


@dataclass(frozen=True, slots=True)
class AnswerOptions:
    """What is looked for in an answer beyond its status.

    ``patient``: how long a failing answer (4xx, 5xx) asks the client to stay away. ``body_match``: searched
    in the first ``MATCHED_BYTES`` of the body, as it is sent but for its chunks: no ``Accept-Encoding`` is
    sent, and a body that is compressed all the same is not unpacked. ``keep_server``: the ``Server`` header.
    """

    patient: bool = False
    body_match: re.Pattern[bytes] | None = None
    keep_server: bool = False
    max_answer_bytes: int = MAX_ANSWER_BYTES


STATUS_ONLY = AnswerOptions()
"""Nothing is looked for."""


class Heard(NamedTuple):
    """What was found in an answer: the seconds it asks the client to stay away, whether its body is as it
    should be, and who says to have written it."""

    away_s: float = 0.0
    matches: bool = True
    server: str = ""


UNHEARD = Heard()
"""What a reader finds that looks for nothing."""


class AnswerTooLongError(Exception):
    """The answer goes on and on."""


class ResponseReader:
    """One answer after another from one connection.

    ``feed`` takes bytes as they come and says whether the answer is whole. The body is thrown away. What
    the peer sends takes no more memory than one header of ``MAX_HEAD_BYTES``, whatever it sends.
    """

    __slots__ = (
        "_body_bytes",
        "_bytes",
        "_delimited",
        "_framing_bytes",
        "_head_only",
        "_keep_alive",
        "_max_bytes",
        "_parser",
        "complete",
        "excess",
        "started",
        "status",
    )

    def __init__(self, max_answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self._parser: Any = None
        self._max_bytes = max_answer_bytes
        self.expect(head_only=False)

    def expect(self, head_only: bool) -> None:
        """Get ready for the next answer; ``head_only`` if it answers HEAD and so has no body."""
        self._head_only = head_only
        self._delimited = False
        self.complete = False
        self.started = False
        self.excess = False
        self._keep_alive = False
        self._bytes = self._body_bytes = self._framing_bytes = 0
        self.status = 0

    def heard(self, now_epoch_s: float) -> Heard:  # noqa: ARG002
        """What was found in the whole answer; this reader looks for nothing."""
        return UNHEARD

    def feed(self, data: bytes) -> bool:
        """Take more bytes; True once the answer is whole.

        Raises ``HttpParserError`` or ``HttpParserUpgrade`` on what is not an answer, and
        ``AnswerTooLongError``.
        """
        self.started = True
        if self._parser is None:
            # Made at the first byte, which an attempt that times out in a storm never sees.
            self._parser = HttpResponseParser(self)
        self._parser.feed_data(data)
        if not self.complete or self._bytes:  # most answers come whole, at once
            self._account(len(data))
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

    def _account(self, count: int) -> None:
        """Bound the answer, and what the parser keeps: a name or value that never ends."""
        self._bytes += count
        if self._bytes > self._max_bytes:
            raise AnswerTooLongError(f"the answer is longer than {self._max_bytes} bytes")
        self._framing_bytes += count - self._body_bytes
        if self._framing_bytes > MAX_HEAD_BYTES:
            what = "trailers or chunk extensions" if self.status else "header or interim answers"
            raise AnswerTooLongError(f"{what} of more than {MAX_HEAD_BYTES} bytes")
        if self._body_bytes:
            self._body_bytes = self._framing_bytes = 0

    # Callbacks of httptools.

    def on_message_begin(self) -> None:
        """Another message after the one expected: the stream is out of step."""
        if self.complete:
            self.excess = True

    def on_header(self, name: bytes, _value: bytes) -> None:
        """Note what delimits the body."""
        # The length is looked at first because that is cheaper than lowering every name.
        if len(name) in _DELIMITING_LENGTHS and name.lower() in _DELIMITING:
            self._delimited = True

    def on_headers_complete(self) -> None:
        """The status is known; an answer to HEAD ends here."""
        status = self._parser.get_status_code()
        if status < 200 or self.complete:
            return
        self.status = status
        if self._head_only or status in {204, 304}:
            self.complete = True

    def on_body(self, data: bytes) -> None:
        """Count it."""
        self._body_bytes += len(data)

    def on_message_complete(self) -> None:
        """The body has ended; an interim answer (1xx) does not count."""
        if self._parser.get_status_code() >= 200:
            self.complete = True
            # llhttp knows this only inside the callback: afterwards it has forgotten the header.
            self._keep_alive = bool(self._parser.should_keep_alive()) and not self._head_only


class AttentiveReader(ResponseReader):
    """One that also finds what ``options`` ask for."""

    __slots__ = ("_body", "_kept", "_options", "_wanted")

    def __init__(self, options: AnswerOptions) -> None:
        self._options = options
        self._wanted = (_RETRY_HEADERS if options.patient else frozenset()) | (
            _SERVER_HEADER if options.keep_server else frozenset()
        )
        super().__init__(options.max_answer_bytes)

    def expect(self, head_only: bool) -> None:
        """Get ready for the next answer."""
        super().expect(head_only)
        self._kept: dict[bytes, str] = {}
        self._body = bytearray()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep what is wanted, to be understood only once the answer is whole; of several, the last."""
        lowered = name.lower()
        if lowered in _DELIMITING:
            self._delimited = True
        elif lowered in self._wanted and not self.status:
            self._kept[lowered] = value.decode("latin-1").strip()

    def on_body(self, data: bytes) -> None:
        """Keep its beginning if it is to be searched."""
        super().on_body(data)
        if self._options.body_match is not None and not self.complete:
            self._body += data[: MATCHED_BYTES - len(self._body)]

    def heard(self, now_epoch_s: float) -> Heard:
        """What was found in the whole answer; the body is let go."""
        pattern, body = self._options.body_match, self._body
        self._body = bytearray()
        return Heard(
            self._away_s(now_epoch_s) if self.status >= 400 else 0.0,
            pattern is None or pattern.search(body) is not None,
            _printable(self._kept.get(b"server", "")[:_SERVER_CHARACTERS]),
        )

    def _away_s(self, now_epoch_s: float) -> float:
        """Seconds from now: of ``retry-after-ms`` if it says anything, else of ``Retry-After``."""
        milliseconds = self._kept.get(b"retry-after-ms", "")
        if _NUMBER.fullmatch(milliseconds):
            return min(float(milliseconds) / 1e3, MOST_PATIENCE_S)
        return retry_after_s(self._kept.get(b"retry-after", ""), now_epoch_s)


def _printable(text: str) -> str:
    """It is shown on terminals, and a peer may send the control characters of C1 (CSI among them)."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


_RETRY_HEADERS = frozenset({b"retry-after", b"retry-after-ms"})
_SERVER_HEADER = frozenset({b"server"})
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


__all__ = [
    "MATCHED_BYTES",
    "MAX_ANSWER_BYTES",
    "MAX_HEAD_BYTES",
    "MOST_PATIENCE_S",
    "STATUS_ONLY",
    "UNHEARD",
    "AnswerOptions",
    "AnswerTooLongError",
    "AttentiveReader",
    "Heard",
    "HttpParserError",
    "HttpParserUpgrade",
    "ResponseReader",
    "retry_after_s",
]
