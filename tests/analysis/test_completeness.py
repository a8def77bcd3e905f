"""A trace with a hole in it is found by its part numbers, its counts and its retries."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from analysis.summary import analyse
from tests.analysis.fifo import EMPTY_SERVER, Simulated, kit, simulate
from tests.analysis.run_files import counts, write_part, write_run

EXPERIMENT = kit(0.4, watch_s=600)
SIMULATED = simulate(EXPERIMENT)


def reasons(directory: Path) -> tuple[str, ...]:
    return analyse(directory).invalid_reasons


def write(directory: Path, rows: pd.DataFrame) -> Path:
    """A run whose worker counted what these rows say."""
    return write_run(directory, EXPERIMENT, Simulated(rows, SIMULATED.server))


def test_whole_trace_gives_no_reason(tmp_path: Path) -> None:
    """Open rows that are completed later, and refused attempts, are not counted as sent."""
    write(tmp_path, SIMULATED.rows)
    again = SIMULATED.rows.iloc[:100].assign(outcome=None, done_s=float("nan"))
    refused = SIMULATED.rows.iloc[-3:].assign(attempt=9, outcome="refused")
    write_part(tmp_path, pd.concat([again, refused]), 2)
    assert reasons(tmp_path) == ()


def test_lost_last_part_is_seen_by_the_counts(tmp_path: Path) -> None:
    """The numbers have no gap, but the worker finished and had sent more."""
    write(tmp_path, SIMULATED.rows)
    (tmp_path / "attempts" / "part-00-00001.parquet").unlink()
    sent, held = counts(SIMULATED), len(SIMULATED.rows) // 2
    found = reasons(tmp_path)
    assert len(found) == 2
    assert f"holds {held:,} attempts of generator worker 0, which sent {sent['attempts']:,}" in found[0]
    assert "first attempts of generator worker 0" in found[1]


def test_lost_first_part_is_seen_by_the_numbers_too(tmp_path: Path) -> None:
    """The gap is the first reason."""
    write(tmp_path, SIMULATED.rows)
    (tmp_path / "attempts" / "part-00-00000.parquet").unlink()
    assert reasons(tmp_path)[0].startswith("part-00-00000.parquet of the trace is missing")


@pytest.mark.parametrize(
    "worker", [{"finished": False}, {"recorder_fault": "disk full"}], ids=["killed", "full disk"]
)
def test_worker_that_could_not_finish_has_one_reason(tmp_path: Path, worker: dict[str, object]) -> None:
    """What it lost at its end is that reason, not another."""
    whole = {**counts(SIMULATED), **worker}
    write_run(tmp_path, EXPERIMENT, SIMULATED, worker=whole)
    (tmp_path / "attempts" / "part-00-00001.parquet").unlink()
    assert len(reasons(tmp_path)) == 1


def test_jobs_without_all_their_attempts_are_a_fault_of_the_harness(tmp_path: Path) -> None:
    """A generator that forgets retries measures another client than the scenario's."""
    rows = SIMULATED.rows
    forgotten = (rows["attempt"] == 3) & (rows["job_id"] % 10 == 0)
    write(tmp_path, rows[~forgotten])
    (reason,) = reasons(tmp_path)
    assert "did not make exactly 3 attempts" in reason


def test_budget_that_refuses_is_no_fault(tmp_path: Path) -> None:
    """A refused retry explains the missing attempt."""
    rows = SIMULATED.rows.copy()
    rows.loc[rows["attempt"] == 3, "outcome"] = "refused"
    write(tmp_path, rows)
    assert reasons(tmp_path) == ()


def test_foreign_worker_numbers_are_told_apart(tmp_path: Path) -> None:
    """Attempts of another worker do not fill the hole of this one."""
    write(tmp_path, SIMULATED.rows)
    write_part(tmp_path, SIMULATED.rows.iloc[:50].assign(worker=1, job_id=10**6), 2)
    assert reasons(tmp_path) == ()
    half = Simulated(SIMULATED.rows.iloc[:-1], EMPTY_SERVER)
    assert counts(half)["attempts"] == counts(SIMULATED)["attempts"] - 1
