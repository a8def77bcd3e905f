"""Heads of requests and responses, read strictly: what two readers could take differently is refused.

RFC 9112 allows some leniency (bare LF, folded lines); none is given, since it is what request smuggling is
made of. Pure: bytes in, values out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from http import HTTPStatus

MAX_HEAD = 32 * 1024
"""Bytes of a head, above which it is refused; most servers stop at 8 to 64 KiB."""
MAX_FIELDS = 200

_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb") ([\x21-\x7e]+) (HTTP/[0-9]\.[0-9])")
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: ([\t\x20-\x7e\x80-\xff]*))?")
_FIELD = re.compile(rb"(" + _TOKEN + rb"):([\t\x20-\x7e\x80-\xff]*)")
_BROKEN_LINE = re.compile(rb"(?<!\r)\n|\r[^\n]|\0")
_ABSOLUTE = re.compile(rb"https?://([^/?#@]+)([/?][^#]*)?", re.IGNORECASE)
_AUTHORITY = re.compile(rb"(?:\[[0-9A-Fa-f:.]+\]|[0-9A-Za-z._~!$&'()*+,;=%-]*)(?::[0-9]*)?")
_DIGITS = re.compile(rb"[0-9]{1,18}")
_COMPRESSIONS = {b"gzip", b"x-gzip", b"deflate", b"compress", b"x-compress"}

Fields = list[tuple[bytes, bytes]]


class BadMessage(Exception):  # noqa: N818  # it is what the other side sent, not an error of ours
    """A message that is not forwarded: the status to answer and why, in a sentence."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(slots=True)
class RequestHead:
    """A request's head as it came; ``named`` has the values by lower-cased name, repeated ones joined.

    ``target`` is in origin-form (or ``*``); ``length`` is the body's in bytes, None when it is chunked.
    """

    method: bytes
    target: bytes
    http11: bool
    fields: Fields
    named: dict[bytes, bytes]
    length: int | None = 0
    authority: bytes | None = None


@dataclass(slots=True)
class ResponseHead:
    """A response's head as it came."""

    status: int
    phrase: bytes
    http11: bool
    fields: Fields
    named: dict[bytes, bytes]


def check_unfinished(data: bytes | bytearray) -> None:
    """Refuse the beginning of a head that can no longer become a good one."""
    if _BROKEN_LINE.search(data):
        raise BadMessage(HTTPStatus.BAD_REQUEST, "a line of the head does not end in CRLF")
    if len(data) > MAX_HEAD:
        if not 0 <= data.find(b"\r\n") <= MAX_HEAD:
            raise BadMessage(HTTPStatus.REQUEST_URI_TOO_LONG, "the request line is too long")
        raise BadMessage(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"the head has over {MAX_HEAD} bytes")


def parse_request(data: bytes) -> RequestHead:
    """The head in ``data``, which ends before the empty line. Raises BadMessage."""
    if len(data) > MAX_HEAD:
        check_unfinished(data)
    start, _, rest = data.partition(b"\r\n")
    line = _REQUEST_LINE.fullmatch(start)
    if line is None:
        raise BadMessage(HTTPStatus.BAD_REQUEST, "the request line is malformed")
    method, target, version = line.groups()
    if version not in (b"HTTP/1.1", b"HTTP/1.0"):
        raise BadMessage(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 and HTTP/1.0 are spoken here")
    fields, named = _fields(rest)
    head = RequestHead(method, target, version == b"HTTP/1.1", fields, named)
    _set_target(head)
    _set_authority(head)
    head.length = _request_length(head)
    return head


def parse_response(data: bytes) -> ResponseHead:
    """The head in ``data``, which ends before the empty line. Raises BadMessage (502)."""
    start, _, rest = data.partition(b"\r\n")
    line = _STATUS_LINE.fullmatch(start)
    if line is None:
        raise BadMessage(HTTPStatus.BAD_GATEWAY, "the upstream's status line is malformed")
    try:
        fields, named = _fields(rest)
    except BadMessage as error:
        raise BadMessage(HTTPStatus.BAD_GATEWAY, f"the upstream's answer: {error.reason}") from error
    return ResponseHead(int(line[2]), line[3] or b"", line[1] == b"1", fields, named)


def response_length(method: bytes, head: ResponseHead) -> int | None:
    """Bytes of a response's body; None when chunked, -1 when only the connection's end delimits it.

    RFC 9112 §6.3. Raises BadMessage (502) when the framing is ambiguous.
    """
    status, named = head.status, head.named
    coding, length = named.get(b"transfer-encoding"), named.get(b"content-length")
    if coding is not None and length is not None:
        raise BadMessage(HTTPStatus.BAD_GATEWAY, "the upstream gave both a length and a transfer coding")
    if length is not None and not _DIGITS.fullmatch(length):
        raise BadMessage(HTTPStatus.BAD_GATEWAY, "the upstream's Content-Length is malformed")
    if method == b"HEAD" or status < 200 or status in (204, 304):
        return 0
    if coding is not None:
        if coding.lower() != b"chunked" or not head.http11:
            raise BadMessage(HTTPStatus.BAD_GATEWAY, "the upstream's transfer coding is not chunked")
        return None
    return -1 if length is None else int(length)


def trailer_field(line: bytes) -> tuple[bytes, bytes] | None:
    """A trailer's name and value, or None when the line is not a field."""
    field = _FIELD.fullmatch(line)
    return None if field is None else (field[1], field[2].strip(b" \t"))


def _fields(block: bytes) -> tuple[Fields, dict[bytes, bytes]]:
    fields: Fields = []
    named: dict[bytes, bytes] = {}
    if not block:
        return fields, named
    for line in block.split(b"\r\n"):
        field = _FIELD.fullmatch(line)
        if field is None:
            raise BadMessage(HTTPStatus.BAD_REQUEST, "a header line is malformed")
        name, value = field[1], field[2].strip(b" \t")
        fields.append((name, value))
        key = name.lower()
        named[key] = value if key not in named else named[key] + b", " + value
    if len(fields) > MAX_FIELDS:
        raise BadMessage(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, f"more than {MAX_FIELDS} header lines")
    return fields, named


def _set_target(head: RequestHead) -> None:
    """Bring the target to origin-form; an authority in it goes before the Host header (RFC 9112 §3.2.2)."""
    target = head.target
    if head.method == b"CONNECT":
        raise BadMessage(HTTPStatus.NOT_IMPLEMENTED, "CONNECT is not supported: this is no forward proxy")
    if target.startswith(b"/"):
        if b"#" in target:
            raise BadMessage(HTTPStatus.BAD_REQUEST, "the request target has a fragment")
    elif target == b"*":
        if head.method != b"OPTIONS":
            raise BadMessage(HTTPStatus.BAD_REQUEST, "only OPTIONS may ask for *")
    else:
        absolute = _ABSOLUTE.fullmatch(target)
        if absolute is None or not _AUTHORITY.fullmatch(absolute[1]):
            raise BadMessage(HTTPStatus.BAD_REQUEST, "the request target is malformed")
        head.authority = absolute[1]
        path = absolute[2] or (b"*" if head.method == b"OPTIONS" else b"/")
        head.target = b"/" + path if path.startswith(b"?") else path


def _set_authority(head: RequestHead) -> None:
    host = head.named.get(b"host")
    if host is None:
        if head.http11:
            raise BadMessage(HTTPStatus.BAD_REQUEST, "the Host header is missing")
        return
    if not _AUTHORITY.fullmatch(host) or sum(name.lower() == b"host" for name, _ in head.fields) > 1:
        raise BadMessage(HTTPStatus.BAD_REQUEST, "the Host header is malformed or repeated")
    head.authority = head.authority or host


def _request_length(head: RequestHead) -> int | None:
    coding, length = head.named.get(b"transfer-encoding"), head.named.get(b"content-length")
    if coding is None:
        if length is None:
            return 0
        if not _DIGITS.fullmatch(length):
            raise BadMessage(HTTPStatus.BAD_REQUEST, "Content-Length is malformed or repeated")
        return int(length)
    if length is not None:
        raise BadMessage(HTTPStatus.BAD_REQUEST, "both Content-Length and Transfer-Encoding")
    if not head.http11:
        raise BadMessage(HTTPStatus.BAD_REQUEST, "HTTP/1.0 has no Transfer-Encoding")
    codings = [item.strip(b" \t").lower() for item in coding.split(b",")]
    if codings == [b"chunked"]:
        return None
    if codings[-1] == b"chunked" and set(codings[:-1]) <= _COMPRESSIONS:
        raise BadMessage(HTTPStatus.NOT_IMPLEMENTED, "no transfer coding but chunked is understood")
    raise BadMessage(HTTPStatus.BAD_REQUEST, "Transfer-Encoding is not chunked")
