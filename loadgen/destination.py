"""Where attempts go. Imports no gevent, so that whoever starts a generator can check the place first."""

from __future__ import annotations

import re
import socket
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.guard import fault_in_target


class Destination:
    """Where attempts go: resolved once, judged by its address, and connected to by that address."""

    def __init__(self, url: str, allowed_hosts: Collection[str] = ()) -> None:
        """Raise ``ConfigurationError`` if the URL is not usable or its address is not allowed."""
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        shown = without_credentials(url)
        faults = []
        if parts.scheme != "http":
            faults.append(Fault("target", "must be an http:// URL", shown))
        if parts.username is not None or parts.password is not None:
            faults.append(
                Fault("target", "must not carry a name or password, which would be recorded", "…@…")
            )
        if not parts.hostname:
            faults.append(Fault("target", "names no host", shown))
        if parts.path not in {"", "/"} or parts.query:
            faults.append(
                Fault(
                    "target",
                    "must be a base URL; the path is the request's (GET /work, or a locustfile's)",
                    shown,
                )
            )
        try:
            port = parts.port or 80
        except ValueError:
            faults.append(Fault("target", "has a port that is not a number from 1 to 65535", shown))
        if faults:
            raise ConfigurationError("the target cannot be used; nothing was sent", faults)
        host = parts.hostname or ""
        self.host_header = parts.netloc
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ConfigurationError(f"the target's name does not resolve: {host}: {error}") from error
        refused = [fault_in_target(host, str(entry[4][0]), allowed_hosts) for entry in found]
        faults = [fault for fault in refused if fault is not None]
        if faults:
            raise ConfigurationError("the target is not allowed; nothing was sent", faults)
        family, _, _, _, address = _first_that_answers(found)
        self.family: int = family
        self.address: tuple[object, ...] = tuple(address)
        self.ip = str(address[0])
        self.port = int(address[1])


def without_credentials(text: str) -> str:
    """The text with whatever stands between // and @ in a URL taken out."""
    return re.sub(r"//[^/@\s]*@", "//…@", text)


def _first_that_answers(found: list[Any]) -> Any:
    """Of several addresses (``localhost`` may be ::1 and 127.0.0.1), the first that takes a connection."""
    if len(found) > 1:
        for entry in found:
            with socket.socket(entry[0], socket.SOCK_STREAM) as probe:
                probe.settimeout(1.0)
                if probe.connect_ex(entry[4]) == 0:
                    return entry
    return found[0]
