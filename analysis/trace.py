"""Reading the attempts of a run, and the arrays that every estimator works on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from analysis.result import Floats
from domain.attempts import Outcome
from domain.trace import ATTEMPTS_DIRECTORY, REFUSAL_SCHEMA, TRACE_SCHEMA

Mask = NDArray[np.bool_]
OUTCOMES = [outcome.value for outcome in Outcome]
FAILING = (Outcome.LATE, Outcome.TIMEOUT, Outcome.REJECTED, Outcome.ERROR)
"""Outcomes of an attempt that was sent, ended, and did not answer its job in time. A copy that is cancelled
because another was answered has neither failed nor answered."""
_PART_NAME = re.compile(r"part-(\d+)-(\d+)\.parquet")
_KEY = ["worker", "job_id", "attempt"]


@dataclass(frozen=True)
class TraceFile:
    """The attempts, with a sentence for every part that could not be read or is not there."""

    attempts: pd.DataFrame
    faults: tuple[str, ...] = ()

    @cached_property
    def arrays(self) -> Attempts:
        """The attempts as arrays, made once: on millions of rows that takes a while."""
        return attempts_of(self.attempts)


def read_trace(directory: Path | str) -> TraceFile:
    """The attempts of a run directory as a frame with the columns of ``WRITTEN_SCHEMA``, by planned start.

    Times are seconds of the wall clock from the run's start. An attempt that was open when its part was
    closed and that no later row completes is ``aborted``, with NaN ``done_s``. A part that cannot be
    read is left out and reported, as is a gap in a worker's part numbers; no parts at all give an empty
    frame. Parts of earlier versions say nothing of refusals: ``reason`` and ``terminal`` are null there.
    """
    parts = sorted((Path(directory) / ATTEMPTS_DIRECTORY).glob("part-*.parquet"))
    tables, faults = [], [*_gaps(part.name for part in parts)]
    for part in parts:
        try:
            table = pq.read_table(part, partitioning=None)
            tables.append(_as_read(table))
        except (pa.ArrowException, OSError, KeyError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            faults.append(f"Part {part.name} of the trace is damaged and was left out: {reason}")
    whole = pa.concat_tables(tables) if tables else _read_schema().empty_table()
    frame = whole.unify_dictionaries().to_pandas(types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    return TraceFile(resolve(frame), tuple(faults))


def _gaps(names: Iterable[str]) -> Iterator[str]:
    """Parts that must have been there, since later ones of the same worker are: numbers count from 0."""
    numbers: dict[str, set[int]] = {}
    for name in names:
        if match := _PART_NAME.fullmatch(name):
            numbers.setdefault(match[1], set()).add(int(match[2]))
    for worker, found in sorted(numbers.items()):
        missing = sorted(set(range(max(found))) - found)
        if missing:
            first = f"part-{worker}-{missing[0]:05d}.parquet"
            more = f" and {len(missing) - 1:,} more are" if len(missing) > 1 else " is"
            yield f"{first} of the trace{more} missing, although later parts of the same worker are there."


def _as_read(part: pa.Table) -> pa.Table:
    """A part with all columns, cast to ``_read_schema``. Raises ``KeyError`` if it is no part."""
    table = part.select(TRACE_SCHEMA.names)
    for field in REFUSAL_SCHEMA:
        known = field.name in part.column_names
        table = table.append_column(
            field, part.column(field.name) if known else pa.nulls(part.num_rows, field.type)
        )
    return table.cast(_read_schema())


def _read_schema() -> pa.Schema:
    plain = [(f.name, pa.string() if f.name == "outcome" else f.type) for f in TRACE_SCHEMA]
    return pa.schema([*plain, *REFUSAL_SCHEMA])


def resolve(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per attempt: an open row (null outcome) gives way to the row that completes it."""
    ended = rows["outcome"].notna()
    ordered = pd.concat([rows[ended], rows[~ended]], ignore_index=True)
    single = ordered.drop_duplicates(_KEY, keep="first")
    outcome = pd.Categorical(single["outcome"].fillna(Outcome.ABORTED.value), categories=OUTCOMES)
    return single.assign(outcome=outcome).sort_values(["planned_s", *_KEY], kind="stable", ignore_index=True)


@dataclass(frozen=True)
class Attempts:
    """The attempts as arrays of shape (n,), sorted by planned start, and the jobs they belong to.

    ``job`` numbers the jobs from 0 in the order of their first attempt; arrays named ``job_*`` have one
    entry per job: ``job_planned_s`` is when it was due, ``job_answered`` whether an attempt of it was
    answered in time, ``job_sent`` and ``job_failed`` how many attempts were sent and how many of them
    failed. A job whose every attempt was refused has sent none.
    """

    planned_s: Floats
    sent_s: Floats
    done_s: Floats
    ok: Mask
    failing: Mask
    sent: Mask
    """Attempts that reached the wire: all but those the client's own budget or breaker refused."""
    first: Mask
    job: NDArray[np.int64]
    job_planned_s: Floats
    job_answered: Mask
    job_sent: NDArray[np.int64]
    job_failed: NDArray[np.int64]
    outcome: NDArray[np.int8]
    """Index into ``OUTCOMES`` of how each attempt ended."""
    status: NDArray[np.int64]
    """HTTP status of each attempt, 0 without one."""

    @property
    def end_s(self) -> float:
        """The last moment the trace knows of; 0 when it is empty."""
        if self.planned_s.size == 0:
            return 0.0
        return float(max(np.nanmax(self.sent_s), np.nanmax(np.append(self.done_s, 0.0))))


def attempts_of(frame: pd.DataFrame) -> Attempts:
    """Arrays from a frame that ``read_trace`` made."""
    codes = frame["outcome"].cat.codes.to_numpy()
    job, planned_first = _jobs(frame)
    jobs = planned_first.size
    ok = codes == OUTCOMES.index(Outcome.OK.value)
    failing = np.isin(codes, [OUTCOMES.index(outcome.value) for outcome in FAILING])
    sent = codes != OUTCOMES.index(Outcome.REFUSED.value)
    return Attempts(
        planned_s=frame["planned_s"].to_numpy(dtype=np.float64),
        sent_s=frame["sent_s"].to_numpy(dtype=np.float64),
        done_s=frame["done_s"].to_numpy(dtype=np.float64),
        ok=ok,
        failing=failing,
        sent=sent,
        first=frame["attempt"].to_numpy() == 1,
        job=job,
        job_planned_s=planned_first,
        job_answered=np.bincount(job[ok], minlength=jobs) > 0,
        job_sent=np.bincount(job[sent], minlength=jobs),
        job_failed=np.bincount(job[failing], minlength=jobs),
        outcome=np.asarray(codes, dtype=np.int8),
        status=frame["status"].to_numpy(dtype=np.int64),
    )


def _jobs(frame: pd.DataFrame) -> tuple[NDArray[np.int64], Floats]:
    """The number of each row's job, and when each job was due (its earliest planned start)."""
    if frame.empty:
        return np.empty(0, dtype=np.int64), np.empty(0)
    # Job ids need only be unique within their worker.
    number = np.asarray(frame.groupby(["worker", "job_id"], sort=False).ngroup().to_numpy(), dtype=np.int64)
    planned = np.full(int(number.max()) + 1, np.inf, dtype=np.float64)
    np.minimum.at(planned, number, frame["planned_s"].to_numpy(dtype=np.float64))
    return number, planned
