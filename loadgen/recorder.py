"""Attempts to disk in Parquet parts: what a killed process loses is at most the last part.

The hot path appends tuples to a list. Every few seconds a flush swaps the list and writes it, in a
native thread, under a temporary name that is then renamed, so a part that exists is whole. Attempts
still open at a flush are written once as open, so that a trace cut short still shows them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from domain.attempts import Outcome
from domain.trace import REFUSAL_REASONS, WRITTEN_SCHEMA

OUTCOMES = tuple(Outcome)
_CODE = {outcome: code for code, outcome in enumerate(OUTCOMES)}
_REFUSED = _CODE[Outcome.REFUSED]
_DICTIONARY = pa.array([outcome.value for outcome in OUTCOMES])
_REASON_CODE = {reason: code for code, reason in enumerate(REFUSAL_REASONS)}
_REASONS = pa.array(REFUSAL_REASONS)
_NAN = float("nan")
MAX_PENDING_ROWS = 400_000
"""About 100 MB: more rows than this waiting for the disk is a recorder fault, and the load stops."""

OpenAttempt = tuple[int, int, float, float]
"""job_id, attempt, planned_s, sent_s"""
Rows = list[tuple[Any, ...]]
"""job_id, attempt, planned_s, sent_s, done_s, outcome code or None, status"""
Refusals = list[tuple[Any, ...]]
"""The same of attempts that were refused, and who said no (a code) and whether that ended the job."""


class Recorder:
    """Collects attempts of one worker and writes them as ``part-WW-NNNNN.parquet``.

    ``in_thread(function, *args)`` runs a blocking call without stopping the event loop.
    """

    def __init__(
        self, directory: Path | None, worker: int, in_thread: Callable[..., Any] = lambda call, *a: call(*a)
    ) -> None:
        self._directory = directory
        self._worker = worker
        self._in_thread = in_thread
        self._rows: Rows = []
        self._refusals: Refusals = []
        self._unwritten: tuple[Rows, Refusals] = [], []
        self._part = 0
        self._open_since = 0.0
        self.open: dict[int, OpenAttempt] = {}
        self.fault: str | None = None
        self.written = 0

    def started(self, key: int, job_id: int, attempt: int, planned_s: float, sent_s: float) -> None:
        """An attempt goes out; ``key`` names it until it ends."""
        self.open[key] = (job_id, attempt, planned_s, sent_s)

    def ended(self, key: int, done_s: float, outcome: Outcome, status: int) -> None:
        """An attempt that ``started`` is over."""
        self._rows.append((*self.open.pop(key), done_s, _CODE[outcome], status))

    def refused(
        self, job_id: int, attempt: int, planned_s: float, now_s: float, reason: str, terminal: bool
    ) -> None:
        """An attempt was wanted and not sent; ``reason`` is one of ``domain.trace.REFUSAL_REASONS``."""
        row = (job_id, attempt, planned_s, now_s, now_s, _REFUSED, 0)
        self._refusals.append((*row, _REASON_CODE[reason], terminal))

    def abort_open(self, now_s: float) -> list[OpenAttempt]:
        """The run is over: what is still open ends as aborted, and is returned."""
        aborted = list(self.open.values())
        for key in list(self.open):
            self.ended(key, now_s, Outcome.ABORTED, 0)
        return aborted

    @property
    def pending(self) -> int:
        """Rows not yet on disk."""
        return len(self._rows) + len(self._refusals) + sum(map(len, self._unwritten))

    def flush(self, now_s: float, final: bool = False) -> None:
        """Write what has come since the last flush as one part. A fault is kept, never raised.

        Rows that could not be written are kept and tried again, so a disk that has room again by the
        end of the run loses nothing.
        """
        rows, self._rows = self._rows, []
        refusals, self._refusals = self._refusals, []
        since, self._open_since = self._open_since, now_s
        if not final:
            rows.extend(
                (*attempt, _NAN, None, 0) for attempt in list(self.open.values()) if attempt[3] >= since
            )
        rows, refusals = self._unwritten[0] + rows, self._unwritten[1] + refusals
        self._unwritten = [], []
        if not (rows or refusals) or self._directory is None:
            return
        path = self._directory / f"part-{self._worker:02d}-{self._part:05d}.parquet"
        try:
            self._in_thread(write_part, rows, refusals, self._worker, path)
        except (OSError, pa.ArrowException) as error:
            self._unwritten = rows, refusals
            self.fault = f"the trace could not be written to {path.name}: {error}"
            return
        self._part += 1
        self.written += len(rows) + len(refusals)
        if self.pending > MAX_PENDING_ROWS:
            self.fault = f"the disk is too slow: {self.pending} attempts wait to be written"


def write_part(rows: Rows, refusals: Refusals, worker: int, path: Path) -> None:
    """Write one part: the attempts that were sent, then those that were refused."""
    everything = rows + [refusal[:7] for refusal in refusals]
    job_id, attempt, planned, sent, done, outcome, status = zip(*everything, strict=True)
    nothing = [None] * len(rows)
    reason = [*nothing, *(refusal[7] for refusal in refusals)]
    terminal = [*nothing, *(refusal[8] for refusal in refusals)]
    table = pa.table(
        [
            pa.array(job_id, pa.int64()),
            pa.array(attempt, pa.int32()),
            pa.array(planned, pa.float64()),
            pa.array(sent, pa.float64()),
            pa.array(done, pa.float64()),
            pa.DictionaryArray.from_arrays(pa.array(outcome, pa.int8()), _DICTIONARY),
            pa.array(status, pa.int16()),
            pa.array([worker] * len(everything), pa.int16()),
            pa.DictionaryArray.from_arrays(pa.array(reason, pa.int8()), _REASONS),
            pa.array(terminal, pa.bool_()),
        ],
        schema=WRITTEN_SCHEMA,
    )
    temporary = path.with_suffix(".partial")
    try:
        pq.write_table(table, temporary, compression="zstd")
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
