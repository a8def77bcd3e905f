"""The proxy's cost, side by side with no proxy: ``python -m tests.bench.meter``.

The proxy has a core of its own, load and upstream share the other. Requests per second of the proxy's CPU
time are what a core carries; they hardly depend on what else the machine does. Latency is open-loop: each
request has its moment, and is measured from it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\nok"
REQUEST = (
    b"GET /work HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: bench\r\nAccept: */*\r\n"
    b"X-Request-Id: 01a2b3c4\r\nX-Attempt: 1\r\n\r\n"
)
CONNECTIONS = 32
REQUESTS = 10_000
NEW_CONNECTIONS = 4_000
PACED_PER_S, PACED_S = 500, 6


class Upstream(asyncio.Protocol):
    """Answers every head at once."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.transport.write(ANSWER * data.count(b"\r\n\r\n"))


class Client(asyncio.Protocol):
    """Sends the next request when the last is answered."""

    def __init__(self) -> None:
        self.answered: asyncio.Future[None] | None = None
        self.held = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.held += data
        if self.held.endswith(b"ok") and self.answered is not None:
            self.held = b""
            self.answered.set_result(None)

    async def ask(self) -> None:
        self.answered = asyncio.get_running_loop().create_future()
        self.transport.write(REQUEST)
        await self.answered


async def connected(port: int) -> Client:
    _, client = await asyncio.get_running_loop().create_connection(Client, "127.0.0.1", port)
    return client


async def closed_loop(port: int) -> None:
    """All requests over a few connections that are kept."""

    async def one() -> None:
        client = await connected(port)
        for _ in range(REQUESTS // CONNECTIONS):
            await client.ask()
        client.transport.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))


async def fresh(port: int) -> None:
    """Every request on a connection of its own."""

    async def one() -> None:
        for _ in range(NEW_CONNECTIONS // CONNECTIONS):
            client = await connected(port)
            await client.ask()
            client.transport.close()

    await asyncio.gather(*(one() for _ in range(CONNECTIONS)))


async def given_up(port: int) -> None:
    """Every request on a connection of its own that is closed as soon as it is sent: a storm."""
    for _ in range(NEW_CONNECTIONS // CONNECTIONS):
        clients = await asyncio.gather(*(connected(port) for _ in range(CONNECTIONS)))
        for client in clients:
            client.transport.write(REQUEST)
        await asyncio.sleep(0.005)
        for client in clients:
            client.transport.abort()
    await asyncio.sleep(0.5)


async def paced(port: int) -> dict[str, float]:
    """Milliseconds from a request's moment to its answer."""
    clients = [await connected(port) for _ in range(CONNECTIONS)]
    start, waits = time.perf_counter() + 0.05, []

    async def one(number: int) -> None:
        for turn in range(number, PACED_PER_S * PACED_S, CONNECTIONS):
            due = start + turn / PACED_PER_S
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            sent = time.perf_counter()
            await clients[number].ask()
            waits.append(time.perf_counter() - sent)

    await asyncio.gather(*(one(number) for number in range(CONNECTIONS)))
    for client in clients:
        client.transport.close()
    waits.sort()
    return {f"p{q}_ms": round(1000 * waits[len(waits) * q // 100], 2) for q in (50, 99)}


def serve_upstream() -> None:
    async def main() -> None:
        server = await asyncio.get_running_loop().create_server(Upstream, "127.0.0.1", 0, backlog=1024)
        print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
        await server.serve_forever()

    asyncio.run(main())


def serve_aiohttp(upstream: str) -> None:
    """The simplest streaming proxy of aiohttp's server and client: what the own protocols are compared to."""
    from aiohttp import ClientSession, ClientTimeout, TCPConnector, web

    logging.disable()  # clients that give up are no news

    async def main() -> None:
        session = ClientSession(connector=TCPConnector(limit=0), timeout=ClientTimeout())

        async def handle(request: web.Request) -> web.StreamResponse:
            async with session.request(
                request.method, upstream + request.path_qs, headers=request.headers,
                data=request.content if request.can_read_body else None,
            ) as got:  # fmt: skip
                response = web.StreamResponse(status=got.status, headers=got.headers)
                await response.prepare(request)
                async for piece in got.content.iter_any():
                    await response.write(piece)
                return response

        app = web.Application()
        app.router.add_route("*", "/{path:.*}", handle)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
        await site.start()
        print(json.dumps({"url": f"http://127.0.0.1:{runner.addresses[0][1]}"}), flush=True)
        await asyncio.Event().wait()

    asyncio.run(main())


@contextmanager
def started(*arguments: str, core: int) -> Iterator[tuple[str, psutil.Process]]:
    """A process on a core that says where it listens."""
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            os.sched_setaffinity(process.pid, {core})
            assert process.stdout is not None
            url = json.loads(process.stdout.readline())["url"]
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


def port_of(url: str) -> int:
    return int(url.rsplit(":", 1)[1])


def rates(port: int, proxy: psutil.Process) -> dict[str, float]:
    """Requests per second of the proxy's CPU time."""
    found = {}
    for name, load, count in (
        ("kept", closed_loop, REQUESTS),
        ("new", fresh, NEW_CONNECTIONS),
        ("given_up", given_up, NEW_CONNECTIONS),
    ):
        before, since = sum(proxy.cpu_times()[:2]), time.perf_counter()
        asyncio.run(load(port))
        cpu_s = sum(proxy.cpu_times()[:2]) - before
        found[f"{name}_per_cpu_s"] = round(count / cpu_s)
        found[f"{name}_per_s"] = round(count / (time.perf_counter() - since))
    return found


def main() -> None:
    cores = sorted(os.sched_getaffinity(0))
    own, other = cores[0], cores[-1]
    os.sched_setaffinity(0, {other})
    with started("-m", "tests.bench.meter", "upstream", core=other) as (upstream, _):
        for name, arguments in (
            ("tipover", (str(Path(sys.executable).with_name("tipover")), "serve", "meter", "--upstream",
                         upstream, "--announce", "--port", "0", "--admin-port", "0")),
            ("aiohttp", ("-m", "tests.bench.meter", "aiohttp", upstream)),
        ):  # fmt: skip
            with started(*arguments, core=own) as (url, process):
                port = port_of(url)
                asyncio.run(closed_loop(port))
                row = {
                    "direct": asyncio.run(paced(port_of(upstream))),
                    "through": asyncio.run(paced(port)),
                    **rates(port, process),
                }
                print(json.dumps({name: row}), flush=True)


if __name__ == "__main__":
    if len(sys.argv) == 1:
        main()
    elif sys.argv[1] == "upstream":
        serve_upstream()
    else:
        serve_aiohttp(sys.argv[2])
