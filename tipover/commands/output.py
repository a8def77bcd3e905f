"""How commands write to stdout: tables for people, JSON for programs."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

_PIPED_WIDTH = 120


def print_json(value: object) -> None:
    """Write a value as JSON: infinity as "inf", NaN as null, and what JSON has no word for as text."""
    # Flushed at once: a closed pipe is then noticed here, where it is handled, and not at exit.
    print(json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False, default=str), flush=True)


def _plain(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(entry) for entry in value]
    return value


def console() -> Console:
    """A console on stdout: no colour when NO_COLOR is set or a pipe reads, and wide enough for a pipe."""
    return _console(stderr=False)


def error_console() -> Console:
    """The same on stderr, for progress and remarks that must not mix with the answer."""
    return _console(stderr=True)


def _console(*, stderr: bool) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else _PIPED_WIDTH
    # No markup: titles and file names may contain square brackets.
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def span(seconds: float) -> str:
    """A duration in the two largest units that fit: "2 h 42 min", "1 min 1 s", "48 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.3g} s"
    minutes, rest_s = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest_s} s" if rest_s else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
