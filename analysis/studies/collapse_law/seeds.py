"""Which seeds a cell of the study uses, and how many."""

from __future__ import annotations

from zlib import crc32

FEWEST = 4


def seeds_of(cell: str, count: float) -> list[int]:
    """``count`` seeds (at least 4) that no other cell uses; the same for the same name of the cell."""
    first = crc32(cell.encode()) * 100_000
    return [first + i for i in range(max(FEWEST, round(count)))]
