"""Running the generator on a small experiment and reading back its trace."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from domain.backoff import Backoff, NoBackoff
from domain.experiment import Client, Demand, Experiment, Phase
from domain.experiment_json import to_json


def small_experiment(
    *,
    rate_per_s: float = 50,
    duration_s: float = 1.0,
    timeout_s: float = 0.3,
    max_attempts: float = 2,
    backoff: Backoff | None = None,
) -> Experiment:
    """A second or so of steady load."""
    return Experiment(
        "small",
        "a small load",
        Client(timeout_s, max_attempts, backoff or NoBackoff()),
        Demand(rate_per_s, (Phase("steady", duration_s),)),
    )


@dataclass(frozen=True)
class Generated:
    """A finished generation: rows of its trace with an outcome, all rows, health, the meter's counts."""

    trace: pd.DataFrame
    rows: pd.DataFrame
    health: dict[str, Any]
    counts: dict[str, Any]


def generate(
    experiment: Experiment, port: int, out: Path, method: str = "GET", stall_s: float = 0.0
) -> Generated:
    """Run the generator against a port of 127.0.0.1; raises if it fails. See ``generate.main``."""
    out.mkdir(exist_ok=True)
    path = out / "experiment.json"
    path.write_text(json.dumps(to_json(experiment)))
    arguments = [str(path), f"http://127.0.0.1:{port}", str(out), method, str(stall_s)]
    subprocess.run([sys.executable, "-m", "tests.loadgen.generate", *arguments], check=True, timeout=120)
    return read_generated(out)


def read_generated(out: Path) -> Generated:
    """The trace and the health in a run directory."""
    parts = sorted((out / "attempts").glob("*.parquet"))
    rows = pd.concat([pq.read_table(part).to_pandas() for part in parts], ignore_index=True)
    rows["outcome"] = rows["outcome"].astype(object)
    health = json.loads((out / "generator" / "worker-00.json").read_text())
    counts = json.loads((out / "counts.json").read_text())
    return Generated(rows[rows["outcome"].notna()], rows, health, counts)
