"""The addresses behind the upstreams: which is next, which is left out, which connections stand idle."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TYPE_CHECKING

from domain.routing import Routing, chosen_pod
from meter.proxy.settings import Origin

if TYPE_CHECKING:
    from meter.proxy.upstream import UpstreamConnection

LEFT_OUT_S = 1.0
"""How long an address that refused a connection is asked nothing, if there is another."""
IDLE_S = 1.0
"""How long a connection to an upstream is kept without work: less than any usual server keeps its side, so
that hardly ever a request meets a connection that is being closed. Such a request cannot be sent again,
since the upstream may have taken it."""


class Endpoint:
    """One address of an upstream."""

    def __init__(self, address: str, origin: Origin) -> None:
        self.address = address
        self.origin = origin
        self.outstanding = 0
        self.left_out_until_s = 0.0
        self.idle: list[UpstreamConnection] = []
        self.gone = False
        """No longer among the addresses: what runs there ends, nothing new goes there."""

    @property
    def name(self) -> str:
        """``address:port``."""
        return Origin(self.address, self.origin.port).authority

    def refused(self, now_s: float) -> None:
        """A connection was refused."""
        self.left_out_until_s = now_s + LEFT_OUT_S

    def close_idle(self, before_s: float) -> None:
        """Close the connections that have stood idle since before a moment."""
        stale = [connection for connection in self.idle if connection.idle_since_s < before_s]
        for connection in stale:
            connection.close()


class Endpoints:
    """All addresses of all upstreams, and whose turn it is."""

    def __init__(self, origins: Iterable[Origin], routing: Routing, seed: int) -> None:
        self._routing = routing
        self._routed = 0
        self._random = random.Random(seed)
        self._of: dict[Origin, list[Endpoint]] = {
            origin: [Endpoint(origin.host, origin)] if origin.is_address else [] for origin in origins
        }
        self.all: list[Endpoint] = [endpoint for some in self._of.values() for endpoint in some]

    def resolved(self, origin: Origin, addresses: Iterable[str]) -> None:
        """``origin`` has these addresses now; those it had already keep their connections and counts."""
        known = {endpoint.address: endpoint for endpoint in self._of[origin]}
        wanted = sorted(set(addresses))
        if wanted == sorted(known):
            return
        self._of[origin] = [
            known.pop(address) if address in known else Endpoint(address, origin) for address in wanted
        ]
        for left in known.values():
            left.gone = True
            left.close_idle(float("inf"))
        self.all = [endpoint for some in self._of.values() for endpoint in some]

    def next(self, now_s: float) -> Endpoint | None:
        """Where the next request goes; None while no name has an address.

        Addresses that refused a connection lately are passed over, unless all did.
        """
        candidates = [endpoint for endpoint in self.all if endpoint.left_out_until_s <= now_s] or self.all
        if not candidates:
            return None
        if len(candidates) == 1:
            return candidates[0]
        in_system = [endpoint.outstanding for endpoint in candidates]
        place = chosen_pod(self._routing, self._routed, in_system, self._random.random())
        self._routed += 1
        return candidates[place]

    def close_idle(self, now_s: float) -> None:
        """Close what has stood idle too long."""
        for endpoint in self.all:
            endpoint.close_idle(now_s - IDLE_S)
