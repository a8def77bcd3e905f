"""Writing a run directory as the harness and the generator do, from a simulation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from domain.experiment import Experiment
from domain.experiment_json import to_json
from domain.trace import ATTEMPTS_DIRECTORY, TRACE_SCHEMA
from tests.analysis.fifo import Simulated


def run_json(experiment: Experiment, **changes: Any) -> dict[str, Any]:
    """A healthy ``run.json``."""
    return {
        "schema_version": 1,
        "name": experiment.name,
        "state": "finished",
        "scenario": to_json(experiment),
        "workers": 1,
        "target": {"url": "http://127.0.0.1:1", "own": True},
        "started_at": "2026-01-01T00:00:00Z",
        "ended_at": "2026-01-01T00:10:00Z",
        "start_monotonic_s": 0.0,
        "versions": {},
        "machine": {},
        "command": [],
        "kernel": {"listen_overflows": 0, "listen_drops": 0},
        "harness_faults": [],
        "final_server_state": None,
        **changes,
    }


def worker_json(**changes: Any) -> dict[str, Any]:
    """The report of a generator worker that did well."""
    return {
        "worker": 0,
        "workers": 1,
        "pid": 1,
        "finished": True,
        "planned": 1000,
        "sent": 1000,
        "attempts": 1500,
        "lag_p50_s": 0.0005,
        "lag_p99_s": 0.002,
        "lag_max_s": 0.004,
        "cpu_ratio": 0.3,
        "cpu_ratio_peak": 0.5,
        "refused_sockets": 0,
        "recorder_fault": None,
        "stopped_by": None,
        "elapsed_s": 100.0,
        **changes,
    }


def counts(simulated: Simulated) -> dict[str, int]:
    """What the one worker of a simulation counted: jobs planned and sent, attempts sent."""
    sent = simulated.attempts.query("outcome != 'refused'")
    first = int((sent["attempt"] == 1).sum())
    return {"planned": first, "sent": first, "attempts": len(sent)}


def write_part(directory: Path, rows: pd.DataFrame, number: int = 0) -> Path:
    """One part of the trace."""
    path = directory / ATTEMPTS_DIRECTORY / f"part-00-{number:05d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = pa.Table.from_pandas(
        rows.assign(outcome=rows["outcome"].astype(object).where(rows["outcome"].notna(), None)),
        schema=pa.schema([(f.name, pa.string() if f.name == "outcome" else f.type) for f in TRACE_SCHEMA]),
        preserve_index=False,
    )
    columns = [
        plain.column("outcome").dictionary_encode().cast(f.type)
        if f.name == "outcome"
        else plain.column(f.name)
        for f in TRACE_SCHEMA
    ]
    pq.write_table(pa.Table.from_arrays(columns, schema=TRACE_SCHEMA), path)
    return path


def write_run(
    directory: Path,
    experiment: Experiment,
    simulated: Simulated,
    *,
    run: dict[str, Any] | None = None,
    worker: dict[str, Any] | None = None,
) -> Path:
    """A whole run directory: two parts, one worker, the server's scrapes."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "run.json").write_text(json.dumps(run_json(experiment, **(run or {}))), encoding="utf-8")
    generator = directory / "generator"
    generator.mkdir(exist_ok=True)
    health = worker_json(**{**counts(simulated), **(worker or {})})
    (generator / "worker-00.json").write_text(json.dumps(health), encoding="utf-8")
    half = len(simulated.rows) // 2
    write_part(directory, simulated.rows.iloc[:half], 0)
    write_part(directory, simulated.rows.iloc[half:], 1)
    lines = [
        json.dumps({k: (None if np.isnan(v) else v) for k, v in row.items()})
        for row in simulated.server.to_dict("records")
    ]
    (directory / "server.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return directory
