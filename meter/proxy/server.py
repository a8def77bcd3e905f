"""Runs a proxy and its pages until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable
from typing import Any

from meter.edge import EdgeCounter
from meter.edge_pages import edge_registry, edge_state, serve_pages
from meter.proxy.client import ClientConnection
from meter.proxy.listening import (
    ACCEPTS_PER_TURN,
    bind,
    count_accept_faults,
    dropped_connections,
    raise_descriptor_limit,
)
from meter.proxy.proxy import Proxy
from meter.proxy.resolving import Resolver
from meter.proxy.settings import LISTEN_BACKLOG, ProxySettings

Ready = Callable[[str, int, int], None]
"""Told the host, the proxy's port and the pages' port."""


async def serve(
    settings: ProxySettings,
    edge: EdgeCounter,
    *,
    stop: asyncio.Event,
    version: str,
    ready: Ready = lambda _host, _port, _admin: None,
    admin_host: str = "127.0.0.1",
    admin_port: int = 8082,
    descriptors: int | None = None,
) -> None:
    """Serve until ``stop`` is set; ``ready`` is called once both ports answer.

    What is outstanding at the end is cut off. Raises ConfigurationError if an address cannot be bound.
    """
    loop = asyncio.get_running_loop()
    proxy = Proxy(settings, edge, descriptors or raise_descriptor_limit())
    listener = bind(settings.host, settings.port)

    def fault() -> None:
        proxy.refused_sockets += 1

    def state() -> dict[str, Any]:
        return {**proxy.state(), **edge_state(edge), "listen_drops": dropped_connections(listener)}

    count_accept_faults(loop, fault)
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(listener.close)
        registry = edge_registry(edge, version, state)
        runner, admin = await serve_pages(admin_host, admin_port, registry, state, proxy.not_ready)
        stack.push_async_callback(runner.cleanup)
        resolver = Resolver(proxy.endpoints, settings)
        stack.callback(resolver.stop)
        await resolver.first_answers()
        server = await loop.create_server(
            lambda: ClientConnection(proxy), sock=listener, backlog=ACCEPTS_PER_TURN
        )
        listener.listen(LISTEN_BACKLOG)
        stack.callback(proxy.close)
        stack.callback(server.close)
        stack.callback(loop.create_task(proxy.tick_for_ever()).cancel)
        ready(settings.host, int(listener.getsockname()[1]), admin)
        await stop.wait()


def run_proxy(settings: ProxySettings, edge: EdgeCounter, **options: Any) -> None:
    """``serve`` until SIGTERM or SIGINT, in a process of its own."""

    async def main() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        # Tens of thousands of exchanges are a million objects that live long: without this the collector
        # would walk them over and over, and the pauses would look like a slow service. It walks the newest
        # 5,000 only, which takes milliseconds; what outlives them leaves no cycles (see `transports`).
        gc.freeze()
        gc.set_threshold(5_000, 100_000, 100)
        await serve(settings, edge, stop=stop, **options)
        gc.freeze()  # the process ends: nothing is gained by collecting what is dropped

    asyncio.run(main())
