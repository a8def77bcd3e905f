"""Where attempts go. Imports no gevent, so that whoever starts a generator can check the place first."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection
from ipaddress import ip_address
from typing import Any
from urllib.parse import SplitResult, urlsplit

from domain.errors import ConfigurationError, Fault
from domain.guard import fault_in_target

_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_UNUSABLE = "the target cannot be used; nothing was sent"


class Destination:
    """Where attempts go: resolved once, judged by its address, and connected to by that address.

    ``address`` is an IP address that the host was resolved to before: then no name is resolved here, the
    address is judged all the same, and the URL's host only stands in the request and, with https, in the
    certificate that is asked for. ``tls`` says whether it is https, ``hostname`` is the host without its
    port, ``url`` the base URL.
    """

    def __init__(self, url: str, allowed_hosts: Collection[str] = (), *, address: str | None = None) -> None:
        """Raise ``ConfigurationError`` if the URL is not usable or its address is not allowed."""
        parts = _parts(url)
        self.tls = parts.scheme == "https"
        self.hostname = _ascii_host(parts.hostname or "")
        port = parts.port or _PORTS[parts.scheme]
        self.host_header = _host_header(self.hostname, parts.port)
        self.url = f"{parts.scheme}://{self.host_header}"
        found = _resolved(self.hostname, port) if address is None else _as_given(address, port)
        refused = [fault_in_target(self.hostname, str(entry[4][0]), allowed_hosts) for entry in found]
        faults = [fault for fault in refused if fault is not None]
        if faults:
            raise ConfigurationError("the target is not allowed; nothing was sent", faults)
        family, _, _, _, place = _first_that_answers(found)
        self.family: int = family
        self.address: tuple[object, ...] = tuple(place)
        self.ip = str(place[0])
        self.port = int(place[1])


def without_credentials(text: str) -> str:
    """The text with whatever stands between // and @ in a URL taken out."""
    return re.sub(r"//[^/@\s]*@", "//…@", text)


def _parts(url: str) -> SplitResult:
    """The pieces of a base URL; raises ``ConfigurationError`` with all that is wrong with it."""
    shown = without_credentials(url)
    try:
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
    except ValueError as error:  # brackets
        raise ConfigurationError(_UNUSABLE, [Fault("target", f"is not a URL: {error}", shown)]) from error
    faults = []
    if parts.scheme not in _PORTS:
        faults.append(Fault("target", "must be an http:// or https:// URL", shown))
    if parts.username is not None or parts.password is not None:
        faults.append(Fault("target", "must not carry a name or password, which would be recorded", "…@…"))
    if not parts.hostname:
        faults.append(Fault("target", "names no host", shown))
    elif _ascii_host(parts.hostname) == "":
        faults.append(Fault("target", "names a host that is not a host name", shown))
    if parts.path not in {"", "/"} or parts.query:
        rule = "must be a base URL; the path is the request's (GET /work, or a locustfile's)"
        faults.append(Fault("target", rule, shown))
    try:
        _ = parts.port
    except ValueError:
        faults.append(Fault("target", "has a port that is not a number from 1 to 65535", shown))
    if faults:
        raise ConfigurationError(_UNUSABLE, faults)
    return parts


def _ascii_host(host: str) -> str:
    """The host as it stands on the wire (IDNA); empty if it cannot."""
    try:
        encoded = host if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return ""
    return encoded if _HOST.fullmatch(encoded) else ""


def _host_header(hostname: str, port: int | None) -> str:
    host = f"[{hostname}]" if ":" in hostname else hostname
    return host if port is None else f"{host}:{port}"


def _resolved(host: str, port: int) -> list[Any]:
    try:
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigurationError(f"the target's name does not resolve: {host}: {error}") from error


def _as_given(address: str, port: int) -> list[Any]:
    """An address that was resolved before, in the form that ``getaddrinfo`` gives; no name is looked up."""
    try:
        ip_address(address)
        return socket.getaddrinfo(address, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (ValueError, OSError) as error:
        rule = "must be the IP address that the target's name was resolved to"
        raise ConfigurationError(_UNUSABLE, [Fault("address", rule, address)]) from error


def _first_that_answers(found: list[Any]) -> Any:
    """Of several addresses (``localhost`` may be ::1 and 127.0.0.1), the first that takes a connection."""
    if len(found) > 1:
        for entry in found:
            with socket.socket(entry[0], socket.SOCK_STREAM) as probe:
                probe.settimeout(1.0)
                if probe.connect_ex(entry[4]) == 0:
                    return entry
    return found[0]
