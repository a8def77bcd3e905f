"""The listening socket, and what the machine must offer for it to take a storm."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import resource
import socket
import struct
from collections.abc import Callable
from typing import Any

from domain.errors import ConfigurationError, Fault

log = logging.getLogger("tipover.meter")

ACCEPTS_PER_TURN = 64
"""asyncio accepts as many connections in one turn of the loop as the backlog it is told, and serves nothing
else meanwhile. So it is told a small one, and the kernel the real one."""
_SO_MEMINFO = 55
_MEMINFO = struct.Struct("9I")
_MEMINFO_DROPS = 8


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to an address. Raises ConfigurationError if it cannot be."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=1)
    except (OSError, OverflowError) as error:
        in_use = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "the port is in use" if in_use else getattr(error, "strerror", None) or str(error)
        raise ConfigurationError(
            f"the meter cannot listen on {host}:{port}: {reason}", [Fault("port", reason, port)]
        ) from error


def dropped_connections(listener: socket.socket) -> int | None:
    """How many connections the kernel dropped because this socket's accept queue was full.

    None where the kernel does not say (SO_MEMINFO is Linux's).
    """
    try:
        values = listener.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
        return int(_MEMINFO.unpack(values)[_MEMINFO_DROPS])
    except (OSError, struct.error):
        return None


def raise_descriptor_limit() -> int:
    """Allow this process as many descriptors as the hard limit does; returns how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1 << 20 if limit == resource.RLIM_INFINITY else min(limit, 1 << 20)


def count_accept_faults(loop: asyncio.AbstractEventLoop, counted: Callable[[], None]) -> None:
    """Count the times that the process had no descriptor for a connection, instead of logging each."""

    def handle(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        cause = context.get("exception")
        if isinstance(cause, OSError) and cause.errno in (errno.EMFILE, errno.ENFILE):
            counted()
        else:
            loop.default_exception_handler(context)

    loop.set_exception_handler(handle)
