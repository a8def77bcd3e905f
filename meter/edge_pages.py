"""The meter's own pages, on a port of their own: ``/metrics``, ``/healthz``, ``/readyz``, ``/state``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aiohttp import web
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from meter import names
from meter.edge import EdgeCounter
from meter.exporter import AttemptCollector, BuildInfoCollector, exposition
from meter.proxy.listening import bind

State = Callable[[], Mapping[str, Any]]


class EdgeCollector(Collector):
    """How attempts were recognised, the memory of ids, and attempts by route if they are kept apart."""

    def __init__(self, edge: EdgeCounter) -> None:
        self._edge = edge

    def collect(self) -> Iterator[Metric]:
        """The families, as they stand now."""
        edge = self._edge
        told = CounterMetricFamily(names.RECOGNISED, names.HELP[names.RECOGNISED], labels=["convention"])
        for convention, count in dict(edge.recognised).items():  # a copy: another thread may be counting
            told.add_metric([convention], count)
        yield told
        yield GaugeMetricFamily(
            names.REMEMBERED_IDS, names.HELP[names.REMEMBERED_IDS], value=len(edge.sightings)
        )
        yield CounterMetricFamily(
            names.EVICTED_IDS, names.HELP[names.EVICTED_IDS], value=edge.sightings.evicted
        )
        if edge.by_route:
            labels = ["route", names.LABEL_ATTEMPT]
            routes = CounterMetricFamily(
                names.ROUTE_ATTEMPTS, names.HELP[names.ROUTE_ATTEMPTS], labels=labels
            )
            for route, (first, retries) in dict(edge.routes).items():
                routes.add_metric([route, names.FIRST], first)
                routes.add_metric([route, names.RETRY], retries)
            yield routes


class ProxyCollector(Collector):
    """What a proxy has open, out of its ``state``."""

    def __init__(self, state: State) -> None:
        self._state = state

    def collect(self) -> Iterator[Metric]:
        """The families, as they stand now; the kernel's drops only where it tells them."""
        state = self._state()
        for name, field in (
            (names.OUTSTANDING, "outstanding"),
            (names.MAX_OUTSTANDING, "max_outstanding"),
            (names.CLIENT_CONNECTIONS, "client_connections"),
            (names.UPSTREAM_CONNECTIONS, "upstream_connections"),
        ):
            yield GaugeMetricFamily(name, names.HELP[name], value=state[field])
        if state["listen_drops"] is not None:
            yield CounterMetricFamily(
                names.LISTEN_DROPS, names.HELP[names.LISTEN_DROPS], value=state["listen_drops"]
            )


def edge_registry(edge: EdgeCounter, version: str, proxy_state: State | None = None) -> CollectorRegistry:
    """A registry of its own with all there is to tell."""
    registry = CollectorRegistry()
    registry.register(BuildInfoCollector(version))
    registry.register(AttemptCollector(edge.counts))
    registry.register(EdgeCollector(edge))
    if proxy_state is not None:
        registry.register(ProxyCollector(proxy_state))
    return registry


def edge_state(edge: EdgeCounter) -> dict[str, Any]:
    """The counts, as ``/state`` shows them."""
    counts = edge.counts
    return {
        "first": counts.first,
        "retries": counts.retries,
        "inflight": counts.inflight,
        "outcomes": dict(counts.outcomes),
        "refusals": dict(counts.refusals),
        "recognised": dict(edge.recognised),
        "ids": {
            "remembered": len(edge.sightings),
            "capacity": edge.sightings.capacity,
            "expiry_s": edge.sightings.expiry_s,
            "evicted": edge.sightings.evicted,
        },
    }


async def serve_pages(
    host: str, port: int, registry: CollectorRegistry, state: State, not_ready: Callable[[], str | None]
) -> tuple[web.AppRunner, int]:
    """Serve the pages on the running loop; returns the runner, to be cleaned up at the end, and the port.

    Raises ConfigurationError if the address cannot be bound.
    """

    async def metrics(_request: web.Request) -> web.Response:
        content_type, body = exposition(registry)
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def healthz(_request: web.Request) -> web.Response:
        return web.Response(text="ok\n")

    async def readyz(_request: web.Request) -> web.Response:
        why = not_ready()
        return web.Response(text="ready\n") if why is None else web.Response(text=f"{why}\n", status=503)

    async def tell_state(_request: web.Request) -> web.Response:
        return web.json_response(dict(state()))

    app = web.Application()
    for path, page in (
        ("/metrics", metrics), ("/healthz", healthz), ("/readyz", readyz), ("/state", tell_state)
    ):  # fmt: skip
        app.router.add_get(path, page)
    sock = bind(host, port)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.SockSite(runner, sock).start()
    return runner, int(sock.getsockname()[1])
