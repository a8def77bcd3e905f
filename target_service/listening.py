"""The listening socket, and what the machine must offer for it to take a burst."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import struct
from pathlib import Path
from typing import Any

from aiohttp import web

from domain.errors import ConfigurationError, Fault

log = logging.getLogger("tipover.target")

_ACCEPTS_PER_TURN = 64
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("9I")
_MEMINFO_DROPS = 8
_SOMAXCONN = Path("/proc/sys/net/core/somaxconn")


async def listen(runner: web.AppRunner, host: str, port: int, backlog: int) -> socket.socket:
    """Serve ``runner`` on an address; returns the listening socket. ConfigurationError if it is taken."""
    _warn_of_somaxconn(backlog)
    sock = _bind(host, port)
    # asyncio accepts as many connections in one turn of the loop as the backlog it is told, and nothing
    # else is served meanwhile. So it is told a small one, and the kernel the real one.
    await web.SockSite(runner, sock, backlog=_ACCEPTS_PER_TURN).start()
    sock.listen(backlog)
    return sock


def dropped_connections(listener: socket.socket) -> int | None:
    """How many connections the kernel dropped because this socket's accept queue was full.

    None where the kernel does not say (SO_MEMINFO is Linux's). The counters in /proc/net/netstat are those
    of every program in the network namespace; these are this socket's own.
    """
    try:
        values = listener.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
        return int(_MEMINFO.unpack(values)[_MEMINFO_DROPS])
    except (OSError, struct.error):
        return None


def raise_descriptor_limit() -> None:
    """Allow this process as many descriptors as the hard limit does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class AcceptFaults:
    """Counts the times the process had no descriptor for a connection, instead of logging each.

    asyncio then stops accepting for a second: latency that the service under test has not caused.
    """

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """An exception handler for the loop; what is not about descriptors goes to the default one."""
        cause = context.get("exception")
        if not isinstance(cause, OSError) or cause.errno not in (errno.EMFILE, errno.ENFILE):
            loop.default_exception_handler(context)
            return
        self.count += 1
        if self.count == 1:
            log.warning(
                "no descriptor left for a connection (%s); counted in refused_sockets", cause.strerror
            )


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        reason = "the port is in use" if error.errno == errno.EADDRINUSE else error.strerror or str(error)
        raise ConfigurationError(
            f"the target cannot listen on {host}:{port}: {reason}", [Fault("port", reason, port)]
        ) from error


def _warn_of_somaxconn(backlog: int) -> None:
    try:
        limit = int(_SOMAXCONN.read_text())
    except (OSError, ValueError):
        return
    if limit < backlog:
        log.warning("the listen backlog of %d is cut to %d by net.core.somaxconn", backlog, limit)
