"""What a trigger test has seen so far: the generator's lines, kept and counted; live, or read back."""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from domain.trigger.messages import (
    Line,
    Obeyed,
    ProbeLine,
    Received,
    Started,
    StopAsked,
    Stopped,
    Tick,
    Troubles,
    line_from_json,
)

LINES_FILE = "trigger-lines.jsonl"
"""The generator's lines in the run directory, as they came, and what the harness heard meanwhile."""

Floats = NDArray[np.float64]


class Observations:
    """All lines of one test, in the order they came."""

    def __init__(self) -> None:
        self.started: Started | None = None
        self.stopped: Stopped | None = None
        self.ticks: list[Tick] = []
        self.probes: list[ProbeLine] = []
        """Those that ended, in the order they ended."""
        self.obeyed: list[Obeyed] = []
        self.received: list[tuple[float, float]] = []
        """When, and what a query had counted by then."""
        self.troubles: list[Troubles] = []
        """Why attempts ended as errors; each has all reasons up to its time."""
        self.stop_asked: StopAsked | None = None
        """The first one, if the harness was told to stop."""
        self._times: list[float] = []

    def take(self, line: Line) -> None:
        """Note one more line."""
        if isinstance(line, Tick):
            self.ticks.append(line)
            self._times.append(line.t_s)
        elif isinstance(line, ProbeLine):
            self.probes.append(line)
        elif isinstance(line, Obeyed):
            self.obeyed.append(line)
        elif isinstance(line, Received):
            self.received.append((line.t_s, line.value))
        elif isinstance(line, Troubles):
            self.troubles.append(line)
        elif isinstance(line, StopAsked):
            self.stop_asked = self.stop_asked or line
        elif isinstance(line, Started):
            self.started = line
        else:
            self.stopped = line

    @property
    def error_reasons(self) -> dict[str, int]:
        """Why attempts of any kind ended as errors up to now, and how many did."""
        return dict(self.troubles[-1].reasons) if self.troubles else {}

    @property
    def now_s(self) -> float:
        """The time of the last tick; 0 before the first."""
        return self._times[-1] if self._times else 0.0

    def at(self, t_s: float) -> Tick | None:
        """The last tick at or before ``t_s``; None before the first."""
        found = bisect_right(self._times, t_s) - 1
        return self.ticks[found] if found >= 0 else None

    def counted(self, name: str, start_s: float, end_s: float) -> int:
        """How far a counter of ``Tick`` moved between the last ticks at or before the two times."""
        first, last = self.at(start_s), self.at(end_s)
        before = getattr(first, name) if first is not None else 0
        return int(getattr(last, name) - before) if last is not None else 0

    def rate(self, name: str, start_s: float, end_s: float) -> float | None:
        """The same per second of the time between those ticks; None if that is none."""
        first, last = self.at(start_s), self.at(end_s)
        if first is None or last is None or last.t_s <= first.t_s:
            return None
        moved: float = getattr(last, name) - getattr(first, name)
        return moved / (last.t_s - first.t_s)

    def column(self, name: str, start_s: float = -np.inf, end_s: float = np.inf) -> Floats:
        """A field of the ticks from ``start_s`` up to and with ``end_s``."""
        low, high = bisect_left(self._times, start_s), bisect_right(self._times, end_s)
        return np.array([getattr(tick, name) for tick in self.ticks[low:high]], dtype=np.float64)

    def probes_sent(self, start_s: float, end_s: float = np.inf) -> list[ProbeLine]:
        """Ended probes that were sent in this time, by when they were sent."""
        found = [probe for probe in self.probes if start_s <= probe.sent_s < end_s]
        return sorted(found, key=lambda probe: probe.sent_s)


def read_observations(directory: Path) -> Observations:
    """The observations of a recorded test; a last line cut short by a kill is left out."""
    seen = Observations()
    for line in recorded_lines(directory):
        seen.take(line)
    return seen


def recorded_lines(directory: Path) -> Iterator[Line]:
    """The lines of a recorded test, in their order; a last one cut short by a kill is left out."""
    with (directory / LINES_FILE).open() as stream:
        for data in _whole(stream):
            yield line_from_json(data)


def _whole(lines: Iterable[str]) -> Iterable[dict[str, Any]]:
    for line in lines:
        if line.endswith("\n"):
            yield json.loads(line)
