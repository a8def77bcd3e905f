"""Lines of access logs into the counts that the proxy would have made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from meter.access_log.entry import MalformedLineError
from meter.access_log.followed import FollowedFile
from meter.access_log.line import Reader
from meter.access_log.stream import FollowedStream
from meter.edge import EdgeCounter, route_of

COUNTED, IGNORED, MALFORMED = "counted", "ignored", "malformed"

COMPLAINTS = 5
"""So many lines that cannot be read are said; all are counted."""
SHOWN_CHARACTERS = 160


class Source(Protocol):
    """Where lines come from."""

    @property
    def is_open(self) -> bool:
        """Whether there is anything to read from."""

    def read(self, now_s: float) -> list[bytes]:
        """The lines that are new, without waiting."""

    def close(self) -> None:
        """Let go of it."""


def sources_of(paths: Sequence[Path], *, from_start: bool = False) -> list[Source]:
    """Each path followed, ``-`` being standard input. Raises ConfigurationError for what is no file."""
    return [
        FollowedStream() if str(path) == "-" else FollowedFile(path, from_start=from_start) for path in paths
    ]


class LogTail:
    """Counts what the sources say: attempts, outcomes and durations on ``counter``, lines on ``lines``.

    A line is written when its request ends, and is counted then: as begun and as ended at once, so that
    nothing is ever in flight. What ``covers`` (of the path) is not true of is passed over.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        reader: Reader,
        counter: EdgeCounter,
        covers: Callable[[str], bool] = lambda _path: True,
        complain: Callable[[str], None] = lambda _sentence: None,
    ) -> None:
        self.lines = {COUNTED: 0, IGNORED: 0, MALFORMED: 0}
        self._sources = tuple(sources)
        self._reader = reader
        self._counter = counter
        self._covers = covers
        self._complain = complain

    @property
    def ready(self) -> bool:
        """Whether every source is there to be read."""
        return all(source.is_open for source in self._sources)

    def poll(self, now_s: float) -> int:
        """Count every line that is new at ``now_s`` and return how many there were."""
        taken = 0
        for source in self._sources:
            for line in source.read(now_s):
                self._take(line, now_s)
                taken += 1
        return taken

    def close(self) -> None:
        """Let go of every source."""
        for source in self._sources:
            source.close()

    def _take(self, line: bytes, now_s: float) -> None:
        text = line.decode("utf-8", "replace")
        try:
            request = self._reader(text)
        except MalformedLineError as error:
            self._reject(text, error)
            return
        if request is None or not self._covers(request.path):
            self.lines[IGNORED] += 1
            return
        attempt = self._counter.started(request.headers, route_of(request.path), now_s)
        self._counter.ended(attempt, request.outcome, request.duration_s)
        self.lines[COUNTED] += 1

    def _reject(self, text: str, error: MalformedLineError) -> None:
        self.lines[MALFORMED] += 1
        if self.lines[MALFORMED] <= COMPLAINTS:
            shown = text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
            self._complain(f"a line cannot be read: {error}: {shown!r}")
        if self.lines[MALFORMED] == COMPLAINTS:
            self._complain("further ones are only counted")
