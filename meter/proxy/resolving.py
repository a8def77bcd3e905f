"""Looks up the upstreams' names again and again: a scaled service has an address for each of its pods."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

from meter.proxy.endpoints import Endpoints
from meter.proxy.settings import Origin, ProxySettings

_FIRST_ANSWERS_S = 2.0


class Resolver:
    """A daemon thread, since a look-up blocks for as long as the name server pleases, and a thread of the
    loop's own would hold up the end of the process.

    A name that cannot be looked up keeps the addresses it had.
    """

    def __init__(self, endpoints: Endpoints, settings: ProxySettings) -> None:
        self._endpoints = endpoints
        self._every_s = settings.resolve_every_s
        self._names = [origin for origin in settings.upstreams if not origin.is_address]
        self._loop = asyncio.get_running_loop()
        self._stopping = threading.Event()
        self._once = asyncio.Event()
        if self._names:
            threading.Thread(target=self._run, name="resolver", daemon=True).start()
        else:
            self._once.set()

    async def first_answers(self) -> None:
        """Wait until every name was looked up once, but not for long: the service may come up later."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._once.wait(), _FIRST_ANSWERS_S)

    def stop(self) -> None:
        """Look up no more."""
        self._stopping.set()

    def _run(self) -> None:
        while not self._stopping.is_set():
            for origin in self._names:
                self._tell(origin, _addresses(origin))
            self._tell(None, [])
            self._stopping.wait(self._every_s)

    def _tell(self, origin: Origin | None, addresses: list[str]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._take, origin, addresses)

    def _take(self, origin: Origin | None, addresses: list[str]) -> None:
        if origin is None:
            self._once.set()
        elif addresses and not self._stopping.is_set():
            self._endpoints.resolved(origin, addresses)


def _addresses(origin: Origin) -> list[str]:
    try:
        found = socket.getaddrinfo(origin.host, origin.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for _, _, _, _, address in found]
