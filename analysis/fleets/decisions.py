"""What the autoscaler of a run read, proposed and ordered: ``autoscaler.jsonl`` of the run directory."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pandas as pd

FILE_NAME = "autoscaler.jsonl"
NUMBERS = ("t_s", "replicas", "ready", "wanted", "ordered")


def read_decisions(directory: Path | str, speedup: float) -> tuple[pd.DataFrame | None, tuple[str, ...]]:
    """One row a decision, by time, and a sentence for what could not be read.

    Columns: ``NUMBERS`` with ``t_s`` in scenario time, ``error`` (empty without one), and for each signal
    ``reading:NAME`` (attempts/s, or of CPU the share of the pods' request) and ``proposal:NAME`` (pods); NaN
    where a line says nothing. None when there is no such file or nothing in it.
    """
    file = Path(directory) / FILE_NAME
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    except OSError as error:
        return None, (f"{FILE_NAME} cannot be read: {error}.",)
    rows, unread = [], []
    for number, line in enumerate(lines, start=1):
        row = _row(line, speedup)
        if row is not None:
            rows.append(row)
        elif line.strip() and number < len(lines):  # a kill may cut the last line short
            unread.append(number)
    warnings: tuple[str, ...] = ()
    if unread:
        which = (
            f"Line {unread[0]}"
            if len(unread) == 1
            else f"{len(unread)} lines, the first of them {unread[0]},"
        )
        warnings = (
            f"{which} of {FILE_NAME} cannot be read and {'was' if len(unread) == 1 else 'were'} skipped.",
        )
    if not rows:
        return None, warnings
    frame = pd.DataFrame(rows).sort_values("t_s", kind="stable", ignore_index=True)
    return frame, warnings


def signals_of(decisions: pd.DataFrame) -> tuple[str, ...]:
    """The signals there are readings of, in the order in which they were first named."""
    names = [str(name) for name in decisions.columns]
    return tuple(name.removeprefix("reading:") for name in names if name.startswith("reading:"))


def _row(line: str, speedup: float) -> dict[str, Any] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not math.isfinite(_number(data.get("t_s"))):
        return None
    row: dict[str, Any] = {name: _number(data.get(name)) for name in NUMBERS}
    row["t_s"] *= speedup
    error = data.get("error")
    row["error"] = "" if error is None else str(error)
    for kind in ("reading", "proposal"):
        values = data.get(f"{kind}s")
        for signal, value in values.items() if isinstance(values, dict) else ():
            row[f"{kind}:{signal}"] = _number(value)
    return row


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
