"""From a URL to the one address that is connected to: resolved once, judged, and pinned.

Every address that the name has now must be allowed, not only the one that is picked: a name that also points
somewhere else is not under the control that the allow-list assumes. The picked address is handed on and
nothing resolves the name again, so that it cannot point elsewhere the second time.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any
from urllib.parse import SplitResult, urlsplit

from domain.errors import ConfigurationError, Fault
from domain.guard import (
    AllowEntry,
    canonical_host,
    fault_in_address,
    fault_in_watched,
    never_loaded,
    plain_address,
)
from tipover.trigger.guards.allow_list import DEFAULT_FILE, AllowList

PORTS = {"http": 80, "https": 443}
Lookup = Callable[[str, int], Sequence[tuple[Any, ...]]]
"""What ``socket.getaddrinfo`` says of a host and a port."""
_CONNECT_S = 1.0
_MISLEADING = re.compile(r"[\x00-\x20\x7f-\x9f\\]")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A host, and the address that stands for it from now on. ``entry`` allowed it; None for loopback."""

    host: str
    address: str
    port: int
    entry: AllowEntry | None
    scheme: str = "http"

    @property
    def is_loopback(self) -> bool:
        """Whether the load stays on this machine."""
        return plain_address(self.address).is_loopback

    def most_rate_per_s(self, asked_per_s: float) -> float:
        """The ceiling of attempts/s: what was asked for, or less if the entry grants less."""
        return asked_per_s if self.entry is None else min(asked_per_s, self.entry.max_rate_per_s)


def resolve(
    url: str,
    allow_list: AllowList,
    *,
    today: date | None = None,
    lookup: Lookup | None = None,
    connect: bool = True,
) -> Resolved:
    """Resolve the target once and judge every address it has; the one returned is to be connected to.

    Of several loopback addresses the first that takes a connection is picked (``connect`` False: the first),
    of others the first. Raises ``ConfigurationError`` with all faults; nothing has been sent then.
    """
    host, parts, port = _place(url, "target")
    addresses = _addresses(host, parts, port, lookup, "target")
    day = date.today() if today is None else today
    entry = _entry(host, addresses, allow_list, day)
    faults = [fault_in_address(host, address, entry, day) for address in addresses]
    refused = [fault for fault in faults if fault is not None]
    if refused:
        by = "" if any(map(never_loaded, map(plain_address, addresses))) else _by_whom(allow_list)
        raise ConfigurationError(f"the target is not allowed{by}; nothing was sent", refused)
    picked = _picked(addresses, port, connect)
    local = plain_address(picked).is_loopback
    return Resolved(host, picked, port, None if local else entry, parts.scheme)


def _by_whom(allow_list: AllowList) -> str:
    """Which file was asked, and how another one is named."""
    if allow_list.file is None:
        return f": there is no {DEFAULT_FILE} here, and no --allow-file was given"
    return f" by {allow_list.file} (--allow-file names another)"


def resolve_watched(url: str, field: str, *, lookup: Lookup | None = None, connect: bool = True) -> Resolved:
    """The same for a place that is only asked how things are: it needs no entry, but no address that is never
    loaded is asked either. ``field`` names the URL in a fault."""
    host, parts, port = _place(url, field)
    addresses = _addresses(host, parts, port, lookup, field)
    refused = [fault for fault in (fault_in_watched(host, address) for address in addresses) if fault]
    if refused:
        faults = [Fault(field, fault.rule, fault.value) for fault in refused]
        raise ConfigurationError(f"{field} is not usable; nothing was sent", faults)
    return Resolved(host, _picked(addresses, port, connect), port, None, parts.scheme)


def _place(url: str, field: str) -> tuple[str, SplitResult, int]:
    """Host in canonical form, the URL's parts and its port; raises ``ConfigurationError`` with all faults."""
    summary = f"{field} is not usable; nothing was sent"
    if _MISLEADING.search(url):
        # urlsplit drops line ends, and browsers read a backslash as a slash: what is shown must be what is
        # meant.
        rule = "must not hold spaces, control characters or backslashes"
        raise ConfigurationError(summary, [Fault(field, rule, _shown(url))])
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise ConfigurationError(summary, [Fault(field, f"is not a URL: {error}", _shown(url))]) from None
    faults = []
    if parts.scheme not in PORTS:
        faults.append(Fault(field, "must be an http:// or https:// URL", _shown(url)))
    if "@" in parts.netloc:
        faults.append(Fault(field, "must not carry a name or password, which would be recorded", "…@…"))
    host, port = "", 0
    try:
        port = PORTS.get(parts.scheme, 80) if parts.port is None else parts.port
        if port == 0:
            raise ValueError
    except ValueError:
        faults.append(Fault(field, "has a port that is not a number from 1 to 65535", _shown(url)))
    try:
        host = canonical_host(parts.hostname) if parts.hostname else ""
        if not host:
            faults.append(Fault(field, "names no host", _shown(url)))
    except ValueError as error:
        faults.append(Fault(field, f"names a host that {error}", parts.hostname))
    if faults:
        raise ConfigurationError(summary, faults)
    return host, parts, port


def _shown(url: str) -> str:
    return re.sub(r"//[^/?#]*@", "//…@", url)


def _addresses(host: str, parts: SplitResult, port: int, lookup: Lookup | None, field: str) -> list[str]:
    """Every address of the host in plain form, each once, in the resolver's order."""
    with contextlib.suppress(ValueError):
        return [str(plain_address(host))]
    name = host + "." if (parts.hostname or "").endswith(".") else host
    try:
        found = _getaddrinfo(name, port) if lookup is None else lookup(name, port)
    except (OSError, UnicodeError) as error:
        raise ConfigurationError(f"{field}: the name does not resolve: {host}: {error}") from error
    # A scope behind % is kept by Python's addresses, and link-local ones are refused anyway.
    addresses = [str(plain_address(str(entry[4][0]))) for entry in found]
    if not addresses:
        raise ConfigurationError(f"{field}: the name does not resolve: {host}: no address")
    return list(dict.fromkeys(addresses))


def _getaddrinfo(name: str, port: int) -> Sequence[tuple[Any, ...]]:
    return socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)


def _entry(host: str, addresses: Sequence[str], allow_list: AllowList, day: date) -> AllowEntry | None:
    """The entry that allows all addresses; failing that, the first that names the host."""
    named = allow_list.entries_for(host)
    for entry in named:
        if all(fault_in_address(host, address, entry, day) is None for address in addresses):
            return entry
    return named[0] if named else None


def _picked(addresses: Sequence[str], port: int, connect: bool) -> str:
    """``localhost`` may be ::1 and 127.0.0.1 and only one of them be listened on."""
    local = [address for address in addresses if plain_address(address).is_loopback]
    if connect and len(addresses) > 1:
        for address in local:
            with contextlib.suppress(OSError), socket.create_connection((address, port), _CONNECT_S):
                return address
    return addresses[0]
