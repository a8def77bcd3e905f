"""One request that cannot surprise: pinned address, over by a deadline, at most 1 MiB, no redirect followed.

``http.client`` times each operation on the socket, so a server that drips would hold it for ever; here all
reading is under one deadline. It uses no proxy of the environment.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from tipover.trigger.guards.resolution import PORTS, Resolved

LARGEST_BODY = 1 << 20


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back: ``status`` None means that nothing usable did, for ``error``."""

    status: int | None
    body: bytes = b""
    error: str = ""


def get(
    url: str,
    place: Resolved,
    within_s: float,
    *,
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """GET ``url`` at ``place.address``, whatever the name resolves to now. Raises nothing for what a server
    does.

    TLS is verified against ``place.host`` (``tls``: whom to trust; the system's authorities if None)."""
    return ask("GET", url, place, within_s, headers=headers, tls=tls)


def ask(
    method: str,
    url: str,
    place: Resolved,
    within_s: float,
    *,
    body: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    tls: ssl.SSLContext | None = None,
) -> Answer:
    """The same with another method, and a body."""
    connection = _Pinned(place, within_s, tls)
    try:
        own = {"Host": _host_header(place), "Connection": "close"}
        connection.request(method, _path(url), body, headers={**own, **(headers or {})})
        with connection.getresponse() as response:
            return _read(response)
    except TimeoutError:
        return Answer(None, error=f"no answer within {within_s:g} s")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Answer(None, error=f"{type(error).__name__}: {_one_line(str(error))}")
    finally:
        connection.hang_up()


def default_tls(ca_file: str | None = None) -> ssl.SSLContext:
    """Certificates and names are verified; ``ca_file`` is a bundle to trust instead of the system's."""
    return ssl.create_default_context(cafile=ca_file)


def _read(response: http.client.HTTPResponse) -> Answer:
    body = response.read(LARGEST_BODY + 1)
    if len(body) > LARGEST_BODY:
        return Answer(None, error=f"an answer of more than {LARGEST_BODY} bytes")
    if response.length:
        # A bounded read says nothing of a body that ended early.
        return Answer(None, error=f"an answer that lacks its last {response.length} bytes")
    return Answer(response.status, body)


def _path(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _host_header(place: Resolved) -> str:
    host = f"[{place.host}]" if ":" in place.host else place.host
    return host if place.port == PORTS[place.scheme] else f"{host}:{place.port}"


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)[:200]


class _Pinned(http.client.HTTPConnection):
    """A connection to the address that was judged, under one deadline from now."""

    def __init__(self, place: Resolved, within_s: float, tls: ssl.SSLContext | None) -> None:
        super().__init__(place.host, place.port)
        self._place = place
        self._deadline_s = time.monotonic() + within_s
        self._tls = tls
        self._plain: socket.socket | None = None

    def connect(self) -> None:
        """Connect, and shake hands if it is https; each step has what time is left."""
        place = self._place
        address = (place.address, place.port)
        plain = self._plain = socket.create_connection(address, _left_s(self._deadline_s))
        if place.scheme == "https":
            plain.settimeout(_left_s(self._deadline_s))
            tls = self._tls or default_tls()
            plain = self._plain = tls.wrap_socket(plain, server_hostname=place.host)
        self.sock = cast(Any, _TimedSocket(plain, self._deadline_s))

    def hang_up(self) -> None:
        """Close the socket itself; ``close`` leaves it to the answer that is still to be read."""
        self.close()
        if self._plain is not None:
            self._plain.close()


class _TimedSocket:
    """As much of a socket as ``http.client`` uses; every operation ends by the deadline."""

    def __init__(self, plain: socket.socket, deadline_s: float) -> None:
        self._plain = plain
        self._deadline_s = deadline_s

    def sendall(self, data: bytes) -> None:
        self._plain.settimeout(_left_s(self._deadline_s))
        self._plain.sendall(data)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._plain, self._deadline_s))

    def close(self) -> None:
        """Nothing: ``http.client`` closes before the body of a last answer is read."""


class _TimedReader(io.RawIOBase):
    def __init__(self, plain: socket.socket, deadline_s: float) -> None:
        self._plain = plain
        self._deadline_s = deadline_s

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._plain.settimeout(_left_s(self._deadline_s))
        return self._plain.recv_into(buffer)


def _left_s(deadline_s: float) -> float:
    left = deadline_s - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
