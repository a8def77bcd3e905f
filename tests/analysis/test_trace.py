from __future__ import annotations

import json
import math
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.run_directory import read_run_directory
from analysis.trace import attempts_of, read_trace, resolve
from domain.errors import TipoverError
from domain.trace import TRACE_SCHEMA, WRITTEN_SCHEMA
from tests.analysis.fifo import demo, simulate
from tests.analysis.run_files import run_json, write_part, write_run


def rows(*values: tuple[object, ...]) -> pd.DataFrame:
    return pd.DataFrame(values, columns=TRACE_SCHEMA.names)


OPEN = (1, 1, 0.1, 0.1, math.nan, None, 0, 0)
DONE = (1, 1, 0.1, 0.1, 0.6, "timeout", 0, 0)


def test_open_row_gives_way_to_the_row_that_completes_it(tmp_path: Path) -> None:
    """Whatever part either is in, and however often it was open."""
    write_part(tmp_path, rows(OPEN), 0)
    write_part(tmp_path, rows(OPEN), 1)
    write_part(tmp_path, rows(DONE), 2)
    attempts = read_trace(tmp_path).attempts
    assert attempts["outcome"].tolist() == ["timeout"]
    assert attempts["done_s"].tolist() == [0.6]


def test_open_row_without_an_end_is_aborted_and_told_apart_by_worker(tmp_path: Path) -> None:
    """Job 1 of another worker is another job; rows come sorted by planned start."""
    other = (1, 1, 0.05, 0.05, math.nan, None, 0, 1)
    write_part(tmp_path, rows(DONE, other))
    attempts = read_trace(tmp_path).attempts
    assert attempts["outcome"].tolist() == ["aborted", "timeout"]
    assert attempts_of(attempts).job_planned_s.size == 2


def test_no_parts_give_an_empty_trace(tmp_path: Path) -> None:
    """Nothing was written: nothing is there, and nothing breaks."""
    trace = read_trace(tmp_path)
    assert trace.attempts.empty
    assert list(trace.attempts.columns) == WRITTEN_SCHEMA.names
    assert attempts_of(trace.attempts).end_s == 0.0


def test_damaged_part_is_reported_and_the_rest_is_read(tmp_path: Path) -> None:
    """Damage costs one part and is one fault; a stray temporary file is none."""
    write_part(tmp_path, rows(DONE), 0)
    part = write_part(tmp_path, rows(DONE), 1)
    part.write_bytes(part.read_bytes()[:40])
    (part.parent / "part-00-00002.parquet.tmp").write_bytes(b"half")
    (part.parent / "part-00-00002.parquet").write_bytes(b"")
    trace = read_trace(tmp_path)
    assert len(trace.attempts) == 1
    assert [fault.split()[1] for fault in trace.faults] == [
        "part-00-00001.parquet",
        "part-00-00002.parquet",
    ]


def test_part_without_a_column_is_damaged(tmp_path: Path) -> None:
    """A Parquet file of something else is no part of the trace."""
    write_part(tmp_path, rows(DONE), 0)
    pd.DataFrame({"job_id": [1]}).to_parquet(tmp_path / "attempts" / "part-00-00001.parquet")
    assert len(read_trace(tmp_path).faults) == 1


def test_gap_in_the_numbers_of_a_worker_is_a_fault(tmp_path: Path) -> None:
    """Part numbers count from 0 without gaps, for each worker; a missing last one cannot be seen here."""
    for number in (0, 1, 4):
        write_part(tmp_path, rows(DONE), number)
    other = tmp_path / "attempts" / "part-01-00001.parquet"
    other.write_bytes((tmp_path / "attempts" / "part-00-00000.parquet").read_bytes())
    faults = read_trace(tmp_path).faults
    assert [fault.split(" missing")[0] for fault in faults] == [
        "part-00-00002.parquet of the trace and 1 more are",
        "part-01-00000.parquet of the trace is",
    ]


def test_jobs_count_their_attempts() -> None:
    """Sent, failed and answered per job; what the budget refused was never sent."""
    frame = resolve(
        rows(
            DONE,
            (1, 2, 0.6, 0.6, 0.7, "ok", 200, 0),
            (2, 1, 0.2, 0.2, 0.7, "rejected", 503, 0),
            (2, 2, 0.7, 0.7, 0.7, "refused", 0, 0),
        )
    )
    attempts = attempts_of(frame)
    assert attempts.job_sent.tolist() == [2, 1]
    assert attempts.job_failed.tolist() == [1, 1]
    assert attempts.job_answered.tolist() == [True, False]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "is not a run directory"),
        ("{", "cannot be read"),
        ("[]", "not a JSON object"),
        ('{"schema_version": 9}', "schema_version must be 1"),
        ('{"schema_version": 1}', "scenario cannot be read"),
    ],
)
def test_what_is_no_run_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    """Each with its own words."""
    if text is not None:
        (tmp_path / "run.json").write_text(text, encoding="utf-8")
    with pytest.raises(TipoverError, match=message):
        read_run_directory(tmp_path)


def test_line_cut_short_by_a_kill_is_tolerated(tmp_path: Path) -> None:
    """The last line may be half; one in the middle is reported."""
    write_run(tmp_path, demo(), simulate(demo(), until_s=5.0))
    state = tmp_path / "server.jsonl"
    whole = state.read_text(encoding="utf-8")
    state.write_text(whole + '{"t_s": 99, "back', encoding="utf-8")
    files = read_run_directory(tmp_path)
    assert not files.warnings
    assert files.server["t_s"].max() < 6
    state.write_text("junk\n" + whole, encoding="utf-8")
    assert read_run_directory(tmp_path).warnings == (
        "Line 1 of server.jsonl cannot be read and was skipped.",
    )


def test_run_without_server_and_with_a_broken_worker_report(tmp_path: Path) -> None:
    """Somebody else's service leaves no state; a half-written report is a warning."""
    (tmp_path / "run.json").write_text(json.dumps(run_json(demo())), encoding="utf-8")
    (tmp_path / "generator").mkdir()
    (tmp_path / "generator" / "worker-00.json").write_text("{", encoding="utf-8")
    (tmp_path / "generator" / "worker-01.json").write_text("[]", encoding="utf-8")
    files = read_run_directory(tmp_path)
    assert files.server.empty
    assert len(files.warnings) == 2
    assert files.experiment == demo()


BREAKER = (2, 1, 0.2, 0.21, 0.21, "refused", 0, 0, "breaker", True)
BUDGET = (3, 2, 0.9, 0.9, 0.9, "refused", 0, 0, "budget", False)


def write_new_part(directory: Path, number: int, *values: tuple[object, ...]) -> None:
    """A part with every column there is today."""
    columns = [
        pa.array(column, pa.string()).dictionary_encode().cast(field.type)
        if pa.types.is_dictionary(field.type)
        else pa.array(column, field.type)
        for column, field in zip(zip(*values, strict=True), WRITTEN_SCHEMA, strict=True)
    ]
    path = directory / "attempts" / f"part-00-{number:05d}.parquet"
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_arrays(columns, schema=WRITTEN_SCHEMA), path)


def test_refusals_say_why_and_whether_the_job_ended(tmp_path: Path) -> None:
    """Parts of earlier versions, which do not know, are read beside newer ones."""
    write_part(tmp_path, rows(OPEN, (9, 2, 0.8, 0.8, 0.8, "refused", 0, 0)), 0)
    write_new_part(tmp_path, 1, (*DONE, None, None), BREAKER)
    write_new_part(tmp_path, 2, BUDGET)
    trace = read_trace(tmp_path)
    assert not trace.faults
    assert list(trace.attempts.columns) == WRITTEN_SCHEMA.names
    by_job = trace.attempts.set_index("job_id")
    assert by_job["outcome"].astype(str).to_dict() == {1: "timeout", 2: "refused", 3: "refused", 9: "refused"}
    assert by_job["reason"].dropna().to_dict() == {2: "breaker", 3: "budget"}
    assert by_job["terminal"].dropna().to_dict() == {2: True, 3: False}


def test_a_job_that_was_only_refused_has_sent_nothing(tmp_path: Path) -> None:
    """It is a job all the same, due when it was planned; a cancelled copy was sent and has not failed."""
    cancelled = (4, 1, 0.3, 0.3, 0.5, "cancelled", 0, 0, None, None)
    answered = (4, 2, 0.4, 0.4, 0.5, "ok", 200, 0, None, None)
    write_new_part(tmp_path, 0, BREAKER, cancelled, answered)
    attempts = read_trace(tmp_path).arrays
    assert attempts.job_planned_s.tolist() == [0.2, 0.3]
    assert attempts.job_sent.tolist() == [0, 2]
    assert attempts.job_failed.tolist() == [0, 0]
    assert attempts.job_answered.tolist() == [False, True]
    assert attempts.first.sum() == 2
