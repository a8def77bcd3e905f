"""The other end: ``python -m tests.bench.server answer|silent`` prints its port and serves until killed.

As little as HTTP allows, so that the server is never what is measured: one asyncio protocol that looks
for the ends of requests and answers each at once, or reads them and never says anything.
"""

from __future__ import annotations

import asyncio
import resource
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Type: text/plain\r\n\r\nok"
BACKLOG = 4096


class Answering(asyncio.Protocol):
    """Answers every request; a request without a body ends with its headers."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.rest = b""

    def data_received(self, data: bytes) -> None:
        if self.rest or not data.endswith(b"\r\n\r\n"):
            data = self.rest + data
            self.rest = data.rpartition(b"\r\n\r\n")[2]
        requests = data.count(b"\r\n\r\n")
        if requests:
            self.transport.write(ANSWER * requests)  # type: ignore[attr-defined]


class Silent(asyncio.Protocol):
    """Reads, never answers; closes when the client has closed, as asyncio does by itself."""


async def serve(kind: type[asyncio.Protocol]) -> None:
    server = await asyncio.get_running_loop().create_server(kind, "127.0.0.1", 0, backlog=BACKLOG)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    asyncio.run(serve({"answer": Answering, "silent": Silent}[sys.argv[1]]))


if __name__ == "__main__":
    main()
