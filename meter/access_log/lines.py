"""Whole lines out of whatever pieces a file or a pipe gives."""

from __future__ import annotations

LONGEST_LINE = 65_536
"""Bytes; a gateway's line is a few hundred. What is longer is cut there, and then no line of ours."""


class LineBuffer:
    """Keeps the piece after the last line's end until the rest has come; its memory is bounded."""

    def __init__(self) -> None:
        self._piece = b""
        self._in_unwanted = False

    def fed(self, data: bytes) -> list[bytes]:
        """The lines that ``data`` completes, without their ends; of an overlong one its head."""
        *whole, rest = (self._piece + data).split(b"\n")
        if whole and self._in_unwanted:
            del whole[0]  # the tail of a line whose head has been given already
            self._in_unwanted = False
        self._piece = b"" if self._in_unwanted else rest
        if len(self._piece) > LONGEST_LINE:
            whole.append(self._piece)
            self._piece, self._in_unwanted = b"", True
        return [line[:LONGEST_LINE].removesuffix(b"\r") for line in whole]

    def forget(self, *, within_a_line: bool = False) -> None:
        """Drop the piece: what it belonged to is gone. ``within_a_line``: what comes next is the tail of a
        line that nobody wants."""
        self._piece, self._in_unwanted = b"", within_a_line
