"""Behaviours of servers that are asked how things are."""

from __future__ import annotations

import json
from typing import Any

from tests.servers import Behaviour, Conversation


def answering(status: int, body: bytes = b"", *headers: str) -> Behaviour:
    """Answers every request with this."""
    lines = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(body)}", *headers]
    data = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def behave(talk: Conversation) -> None:
        while talk.read_request() is not None:
            talk.send(data)

    return behave


def saying(kind: str, result: Any) -> Behaviour:
    """Prometheus, answering every query with this result."""
    return answering(200, said(kind, result))


def said(kind: str, result: Any) -> bytes:
    """The body of a successful query."""
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}}).encode()
