"""What a proxy is told before it starts, checked."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from typing import Literal, get_args
from urllib.parse import urlsplit

from domain.errors import ConfigurationError, Fault
from domain.routing import Routing

Balance = Literal["round-robin", "least-outstanding", "random"]
Forwarded = Literal["none", "x-forwarded-for", "forwarded"]

ROUTINGS: dict[str, Routing] = {
    "round-robin": "round-robin",
    "least-outstanding": "shortest-queue",
    "random": "random",
}
LISTEN_BACKLOG = 4096
_HOST = re.compile(r"[0-9A-Za-z._-]+")


@dataclass(frozen=True, slots=True)
class Origin:
    """A host and a port to send to; ``host`` may be a name with several addresses."""

    host: str
    port: int

    @property
    def authority(self) -> str:
        """``host:port`` as a URL has it."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def is_address(self) -> bool:
        """Whether the host is an address, with nothing to look up."""
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return True


@dataclass(frozen=True, slots=True)
class ProxySettings:
    """All of it. Raises ConfigurationError with every fault.

    ``upstream_timeout_s``: longest silence of an upstream (None: for ever). ``client_timeout_s``: longest
    a client may be idle, take over a head, or leave a response unread. ``count`` and ``ignore`` are
    prefixes of paths. ``max_outstanding``: exchanges with upstreams at once (None: by the descriptors).
    """

    upstreams: tuple[Origin, ...]
    host: str = "127.0.0.1"
    port: int = 8081
    balance: Balance = "round-robin"
    rewrite_host: bool = False
    via: bool = True
    forwarded: Forwarded = "none"
    upstream_timeout_s: float | None = None
    client_timeout_s: float = 60.0
    cancel_upstream: bool = False
    max_outstanding: int | None = None
    resolve_every_s: float = 1.0
    count: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    seed: int = 1

    def __post_init__(self) -> None:
        faults = []
        if not self.upstreams:
            faults.append(Fault("--upstream", "give at least one, or --tail FILE for an access log", None))
        if len(set(self.upstreams)) < len(self.upstreams):
            faults.append(Fault("--upstream", "must not be given twice", None))
        for option, value, choices in (
            ("--balance", self.balance, get_args(Balance)),
            ("--forwarded", self.forwarded, get_args(Forwarded)),
        ):
            if value not in choices:
                faults.append(Fault(option, f"must be one of {', '.join(choices)}", value))
        for option, number in (
            ("--upstream-timeout", self.upstream_timeout_s),
            ("--client-timeout", self.client_timeout_s),
            ("--max-outstanding", self.max_outstanding),
            ("--resolve-every", self.resolve_every_s),
        ):
            if number is not None and not 0 < number < float("inf"):
                faults.append(Fault(option, "must be above 0", number))
        if not 0 <= self.port <= 65535:
            faults.append(Fault("--port", "must be from 0 to 65535", self.port))
        for option, prefixes in (("--count", self.count), ("--ignore", self.ignore)):
            faults += [Fault(option, "must begin with /", p) for p in prefixes if not p.startswith("/")]
        if faults:
            raise ConfigurationError("the meter cannot be started", faults)

    def counts(self, target: str) -> bool:
        """Whether a request for ``target`` is one that is counted."""
        if self.ignore and target.startswith(self.ignore):
            return False
        return not self.count or target.startswith(self.count)


def parse_origin(text: str) -> Origin:
    """``http://host[:port]`` and nothing more. Raises ConfigurationError."""
    try:
        url = urlsplit(text)
        host, port = url.hostname, url.port
    except ValueError:
        url, host, port = urlsplit(""), None, None
    plain = url.scheme == "http" and url.path in ("", "/") and not (url.query or url.fragment or url.username)
    known = host is not None and (_HOST.fullmatch(host) is not None or Origin(host, 0).is_address)
    if not (plain and known) or port == 0 or host is None:
        fault = Fault("--upstream", "must be http://HOST[:PORT], without a path", text)
        raise ConfigurationError("the meter cannot be started", [fault])
    return Origin(host, 80 if port is None else port)
