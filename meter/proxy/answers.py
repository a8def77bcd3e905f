"""The few answers that are the meter's own and not an upstream's."""

from __future__ import annotations

from http import HTTPStatus

FROM = b"X-Tipover-Meter"
"""A header that only the meter's own answers have, so that nobody takes them for the service's."""


def own_answer(status: HTTPStatus, reason: str, head_only: bool = False, close: bool = True) -> bytes:
    """A plain-text answer that says who speaks and why."""
    body = f"tipover meter: {reason}\n".encode()
    lines = [
        b"HTTP/1.1 %d %b" % (status, status.phrase.encode()),
        b"Content-Type: text/plain; charset=utf-8",
        b"Content-Length: %d" % len(body),
        FROM + b": " + reason.encode(),
    ]
    if close:
        lines.append(b"Connection: close")
    return b"\r\n".join([*lines, b"", b"" if head_only else body])
