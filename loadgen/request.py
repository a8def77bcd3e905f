"""What is sent: a request as a value, and its bytes on the wire."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.attempts import ATTEMPT_HEADER, REQUEST_ID_HEADER
from domain.deadlines import (
    DEADLINE_HEADER,
    GRPC_TIMEOUT_HEADER,
    Propagation,
    grpc_timeout,
    x_deadline,
)

_FORBIDDEN = ("\r", "\n", "\0")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_SET_HERE = {
    name.lower()
    for name in ("Host", "Content-Length", "Transfer-Encoding", REQUEST_ID_HEADER, ATTEMPT_HEADER)
}


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of demand: what a user wanted, however many attempts it takes."""

    job_id: int
    planned_s: float
    worker: int


@dataclass(frozen=True, slots=True)
class Request:
    """An HTTP request. ``Host``, ``Content-Length``, the request id and the attempt number are added, and the
    attempt's deadline unless the request names the header of one itself."""

    method: str = "GET"
    path: str = "/work"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""

    def __post_init__(self) -> None:
        if not _TOKEN.fullmatch(self.method):
            raise ValueError(f"request.method: must be a token, such as GET (got {self.method!r})")
        object.__setattr__(self, "method", self.method.upper())
        if not self.path.startswith("/") or " " in self.path or not self.path.isascii():
            raise ValueError("request.path: must start with / and be ASCII without a space")
        if any(mark in self.path for mark in _FORBIDDEN):
            raise ValueError("request.path: must not hold a line break")
        self._check_headers()

    def _check_headers(self) -> None:
        """Refuse what would be another message on the wire. A value may be a secret and is never told."""
        seen: set[str] = set()
        for name, value in self.headers.items():
            lowered = name.lower()
            if not _TOKEN.fullmatch(name):
                raise ValueError(f"request.headers: a name must be a token (got {name!r})")
            if lowered in _SET_HERE or lowered in seen:
                raise ValueError(f"request.headers: {name} must not be given twice (it may be added anyway)")
            if any(mark in value for mark in _FORBIDDEN):
                raise ValueError(f"request.headers: {name} must not hold a line break")
            seen.add(lowered)

    def head(self, host: str) -> bytes:
        """The bytes up to where the headers of one attempt are added."""
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {host}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.body or self.method in {"POST", "PUT", "PATCH"}:
            lines.append(f"Content-Length: {len(self.body)}")
        return ("\r\n".join(lines) + f"\r\n{REQUEST_ID_HEADER}: ").encode("latin-1")


_DEADLINE_HEADERS: dict[Propagation, str] = {
    "x-deadline": DEADLINE_HEADER,
    "grpc-timeout": GRPC_TIMEOUT_HEADER,
}
ATTEMPT_SEPARATOR = f"\r\n{ATTEMPT_HEADER}: ".encode()
END_OF_HEAD = b"\r\n\r\n"


class RequestEncoder:
    """Turns requests into bytes; the head of a request that is sent again and again is built once.

    ``propagate`` says how attempts tell their deadline.
    """

    __slots__ = ("_deadline", "_head", "_host", "_propagate", "_request", "_run_token", "_tells")

    def __init__(self, host: str, run_token: str, propagate: Propagation = "none") -> None:
        self._host = host
        self._run_token = run_token
        self._propagate = propagate
        name = _DEADLINE_HEADERS.get(propagate, "")
        self._deadline = f"\r\n{name}: "
        self._tells = False
        self._request: Request | None = None
        self._head = b""

    def encode(self, request: Request, job_id: int, attempt: int, timeout_s: float) -> bytes:
        """The whole request of one attempt that is sent now and may take ``timeout_s``."""
        if request is not self._request:
            self._head = request.head(self._host)
            self._request = request
            name = _DEADLINE_HEADERS.get(self._propagate)
            self._tells = name is not None and name.lower() not in map(str.lower, request.headers)
        return b"%b%b-%d%b%d%b%b%b" % (
            self._head,
            self._run_token.encode(),
            job_id,
            ATTEMPT_SEPARATOR,
            attempt,
            self._told(timeout_s) if self._tells else b"",
            END_OF_HEAD,
            request.body,
        )

    def _told(self, timeout_s: float) -> bytes:
        """The header of the deadline. The clock is read anew each time: it may have been set meanwhile."""
        if self._propagate == "grpc-timeout":
            return (self._deadline + grpc_timeout(timeout_s)).encode()
        return (self._deadline + x_deadline(time.time() + timeout_s)).encode()
