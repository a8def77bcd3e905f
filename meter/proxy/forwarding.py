"""The heads that are sent on: what belongs to one connection only is taken out (RFC 9110 §7.6.1). Pure."""

from __future__ import annotations

from http import HTTPStatus

from meter.proxy.heads import BadMessage, Fields, RequestHead, ResponseHead

HOP_BY_HOP = frozenset(
    {
        b"connection", b"keep-alive", b"proxy-connection", b"proxy-authenticate", b"proxy-authorization",
        b"te", b"trailer", b"transfer-encoding", b"upgrade",
    }
)  # fmt: skip

_NOT_IN_TRAILERS = HOP_BY_HOP | {
    b"content-length", b"host", b"content-type", b"content-encoding", b"content-range", b"authorization",
    b"set-cookie", b"cache-control", b"expect", b"max-forwards", b"range", b"age", b"date", b"expires",
    b"location", b"retry-after", b"vary", b"warning", b"cookie",
}  # fmt: skip
"""What decides on framing, routing, identity or reading must not come after the body (RFC 9110 §6.5.1)."""

_IGNORED_UPGRADES = {b"h2c", b"tls/1.0", b"tls/1.1", b"tls/1.2", b"tls/1.3"}
VIA = b"tipover"


def check_request(head: RequestHead) -> None:
    """Refuse what this proxy cannot do: upgrades and expectations it does not know, TRACE. Raises BadMessage.

    An offer of h2c or TLS is a client's wish that a server may ignore (RFC 9110 §7.8), and some send it with
    every request; it is taken out. Whoever asks for a websocket wants nothing else.
    """
    named = head.named
    if head.method == b"TRACE":
        raise BadMessage(HTTPStatus.METHOD_NOT_ALLOWED, "TRACE is not passed on: it would echo credentials")
    upgrade = named.get(b"upgrade")
    if upgrade is not None and not set(_list(upgrade)) <= _IGNORED_UPGRADES:
        raise BadMessage(HTTPStatus.NOT_IMPLEMENTED, "no upgrade passes this proxy")
    if head.method == b"OPTIONS" and named.get(b"max-forwards") == b"0":
        raise BadMessage(HTTPStatus.OK, "Max-Forwards is 0: this is as far as the request may go")
    expected = named.get(b"expect")
    if expected is not None and head.http11 and expected.lower() != b"100-continue":
        raise BadMessage(HTTPStatus.EXPECTATION_FAILED, "no expectation but 100-continue is known")


def keeps_alive(head: RequestHead | ResponseHead) -> bool:
    """Whether the sender of this head keeps its connection; one that speaks HTTP/1.0 is taken not to."""
    return head.http11 and b"close" not in _list(head.named.get(b"connection", b""))


def request_bytes(
    head: RequestHead, host: bytes | None, default_host: bytes, via: bool, forwarded: Fields
) -> bytes:
    """The request's head for the upstream: HTTP/1.1, ``host`` instead of its own unless None.

    ``forwarded`` are fields about the client, added to those that came.
    """
    dropped = _dropped(head.named)
    lines = [b"%b %b HTTP/1.1" % (head.method, head.target)]
    lines.append(b"Host: " + (host or head.authority or default_host))
    for name, value in head.fields:
        key = name.lower()
        if key in dropped or key == b"host" or (key == b"expect" and not head.http11):
            continue
        if key == b"max-forwards" and head.method == b"OPTIONS" and value.isdigit():
            lines.append(b"Max-Forwards: %d" % max(0, int(value[:9]) - 1))
            continue
        lines.append(b"%b: %b" % (name, value))
    if head.length is None:
        lines.append(b"Transfer-Encoding: chunked")
    if via:
        lines.append(b"Via: %b %b" % (b"1.1" if head.http11 else b"1.0", VIA))
    lines += [b"%b: %b" % field for field in forwarded]
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def response_bytes(head: ResponseHead, chunked: bool, close: bool) -> bytes:
    """The response's head for the client."""
    dropped = _dropped(head.named)
    if head.status < 200 or head.status == 204:
        dropped = dropped | {b"content-length"}  # it has no place there, and some clients would wait
    lines = [b"HTTP/1.1 %d %b" % (head.status, head.phrase)]
    lines += [b"%b: %b" % field for field in head.fields if field[0].lower() not in dropped]
    if chunked:
        lines.append(b"Transfer-Encoding: chunked")
    if close:
        lines.append(b"Connection: close")
    lines.append(b"\r\n")
    return b"\r\n".join(lines)


def trailers_to_forward(trailers: Fields) -> Fields:
    """Those that may come after a body."""
    return [field for field in trailers if field[0].lower() not in _NOT_IN_TRAILERS]


def forwarded_fields(kind: str, client: str) -> Fields:
    """What tells the upstream who asked: ``x-forwarded-for``, ``forwarded`` (RFC 7239) or ``none``."""
    if kind == "x-forwarded-for":
        return [(b"X-Forwarded-For", client.encode())]
    if kind == "forwarded":
        node = f'"[{client}]"' if ":" in client else client
        return [(b"Forwarded", f"for={node}".encode())]
    return []


def _dropped(named: dict[bytes, bytes]) -> frozenset[bytes] | set[bytes]:
    connection = named.get(b"connection")
    if connection is None:
        return HOP_BY_HOP
    # Nobody may have the framing or the host taken out by naming them.
    return HOP_BY_HOP | (set(_list(connection)) - {b"content-length", b"host"})


def _list(value: bytes) -> list[bytes]:
    return [item.strip(b" \t").lower() for item in value.split(b",")] if value else []
