"""Lines about what is going on, to whoever started the load: one JSON object a line, into a pipe."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from typing import Any


class ProgressPipe:
    """The writing end of a pipe; a reader that is slow misses lines, since the load must not wait for it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        os.set_blocking(descriptor, False)

    def __call__(self, line: Mapping[str, Any]) -> None:
        """Write a line; raises ``OSError`` when nobody reads it any more."""
        with contextlib.suppress(BlockingIOError):
            # One short write is atomic on a pipe.
            os.write(self._descriptor, (json.dumps(line) + "\n").encode())
