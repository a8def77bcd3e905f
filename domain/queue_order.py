"""Which of those that wait is served next.

Source: Facebook, "Fail at Scale", ACM Queue 13(8), 2015 (adaptive LIFO).
"""

from __future__ import annotations

from typing import Literal

Discipline = Literal["fifo", "lifo", "adaptive-lifo"]
FIFO, LIFO, ADAPTIVE_LIFO = range(3)
CODES: dict[Discipline, int] = {"fifo": FIFO, "lifo": LIFO, "adaptive-lifo": ADAPTIVE_LIFO}


def takes_newest(order: int, waiting: int, standing: int) -> bool:
    """Whether the newest is next, with ``waiting`` attempts in the queue.

    ``standing``: an adaptive queue of more than this many is a standing queue, newest first.
    """
    return order == LIFO or (order == ADAPTIVE_LIFO and waiting > standing)
