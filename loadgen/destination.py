"""Where attempts go. Imports no gevent, so that whoever starts a generator can check the place first."""

from __future__ import annotations

import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.guard import fault_in_target


class Destination:
    """Where attempts go: resolved once, judged by its address, and connected to by that address."""

    def __init__(self, url: str, allowed_hosts: Collection[str] = ()) -> None:
        """Raise ``ConfigurationError`` if the URL is not usable or its address is not allowed."""
        parts = urlsplit(url if "//" in url else f"//{url}", scheme="http")
        faults = []
        if parts.scheme != "http":
            faults.append(Fault("target", "must be an http:// URL", url))
        if not parts.hostname:
            faults.append(Fault("target", "names no host", url))
        if parts.path not in {"", "/"} or parts.query:
            faults.append(Fault("target", "must be a base URL; the path belongs to the request", url))
        try:
            port = parts.port or 80
        except ValueError:
            faults.append(Fault("target", "has a port that is not a number from 1 to 65535", url))
        if faults:
            raise ConfigurationError("the target cannot be used; nothing was sent", faults)
        host = parts.hostname or ""
        self.host_header = parts.netloc.rpartition("@")[2]
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise ConfigurationError(f"the target's name does not resolve: {host}: {error}") from error
        family, _, _, _, address = found[0]
        self.family: int = family
        self.address: tuple[object, ...] = tuple(address)
        self.ip = str(address[0])
        fault = fault_in_target(host, self.ip, allowed_hosts)
        if fault:
            raise ConfigurationError("the target is not allowed; nothing was sent", [fault])
