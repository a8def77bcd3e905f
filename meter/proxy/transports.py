"""What a closed connection leaves behind."""

from __future__ import annotations

import asyncio


def untie(transport: asyncio.Transport) -> None:
    """Undo the cycle that every socket transport of asyncio is, once its connection is lost.

    It holds a method of itself, so that only the collector could free it, half a kilobyte each with its
    sockets and addresses; and those that lived while a storm stood are found by none but a walk over
    everything. It reads no more by then. An event loop that keeps no such method has nothing to undo.
    """
    if hasattr(transport, "_read_ready_cb"):
        transport._read_ready_cb = None
