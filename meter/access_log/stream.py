"""Standard input, or any other descriptor that gives lines until it ends."""

from __future__ import annotations

import os
import select

from meter.access_log.followed import PIECE_BYTES, PIECES_AT_ONCE
from meter.access_log.lines import LineBuffer


class FollowedStream:
    """Lines out of ``descriptor``, without waiting for any."""

    def __init__(self, descriptor: int = 0) -> None:
        self._descriptor = descriptor
        self._lines = LineBuffer()
        self.is_open = True

    def read(self, now_s: float) -> list[bytes]:  # noqa: ARG002 - as a file is read
        """The lines that have come since the last call; at the end also one without its newline."""
        found: list[bytes] = []
        for _ in range(PIECES_AT_ONCE):
            if not self.is_open or not select.select([self._descriptor], [], [], 0.0)[0]:
                break
            data = os.read(self._descriptor, PIECE_BYTES)
            self.is_open = bool(data)
            found += self._lines.fed(data or b"\n")
        return [line for line in found if line]

    def close(self) -> None:
        """Nothing: the descriptor is not ours."""
