"""Reading a run directory: what the harness, the generator and the target wrote, all but the trace."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from domain.errors import ConfigurationError
from domain.experiment import Experiment
from domain.experiment_json import from_json

SCHEMA_VERSION = 1
SERVER_COLUMNS = (
    "t_s",
    "pods",
    "rate_per_pod",
    "capacity_factor",
    "capacity_per_s",
    "queue_depth",
    "in_service",
    "backlog_s",
    "arrived",
    "completed",
    "busy_s",
    "abandoned",
    "abandoned_s",
    "saturated_s",
    "saturated_completed",
    "clock_lag_p99_s",
    "clock_lag_max_s",
    "refused_sockets",
    "listen_drops",
    "replicas",
    "starting",
)


@dataclass(frozen=True)
class RunFiles:
    """What a run directory holds besides the attempts.

    ``server`` has ``SERVER_COLUMNS`` (NaN where a line lacks one), times in seconds of the wall clock,
    and no rows for a foreign service. ``warnings`` are sentences about what could not be read.
    """

    directory: Path
    experiment: Experiment
    run: dict[str, Any]
    workers: tuple[dict[str, Any], ...]
    server: pd.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def owns_target(self) -> bool:
        """Whether the harness started the target itself; a foreign one tells no state."""
        target = self.run.get("target")
        return bool(target.get("own")) if isinstance(target, dict) else False


def read_run_directory(directory: Path | str) -> RunFiles:
    """Read ``run.json``, ``generator/worker-*.json`` and ``server.jsonl``.

    Raises ``ConfigurationError`` when the directory is no run or its ``run.json`` cannot be understood.
    """
    path = Path(directory)
    run = _read_run_json(path)
    try:
        experiment = from_json(run["scenario"])
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"{path / 'run.json'}: its scenario cannot be read ({error!r})") from error
    warnings: list[str] = []
    workers = _read_workers(path / "generator", warnings)
    server = _read_server(path / "server.jsonl", warnings)
    return RunFiles(path, experiment, run, workers, server, tuple(warnings))


def _read_run_json(path: Path) -> dict[str, Any]:
    file = path / "run.json"
    if not file.is_file():
        raise ConfigurationError(f"{path} is not a run directory: it has no run.json")
    try:
        run = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        raise ConfigurationError(f"{file} cannot be read: {error}") from error
    if not isinstance(run, dict):
        raise ConfigurationError(f"{file} is not a JSON object")
    version = run.get("schema_version")
    if version != SCHEMA_VERSION:
        raise ConfigurationError(f"{file}: schema_version must be {SCHEMA_VERSION} (got {version!r})")
    return run


def _read_workers(path: Path, warnings: list[str]) -> tuple[dict[str, Any], ...]:
    workers = []
    for file in sorted(path.glob("worker-*.json")):
        try:
            worker = json.loads(file.read_text(encoding="utf-8"))
        except (ValueError, OSError, RecursionError) as error:
            warnings.append(f"{file.name} of the generator cannot be read: {error}.")
            continue
        if isinstance(worker, dict):
            workers.append(worker)
        else:
            warnings.append(f"{file.name} of the generator is not a JSON object.")
    return tuple(workers)


def _read_server(file: Path, warnings: list[str]) -> pd.DataFrame:
    lines = file.read_text(encoding="utf-8", errors="replace").splitlines() if file.is_file() else []
    rows: list[dict[str, float]] = []
    for number, line in enumerate(lines, start=1):
        row = _server_row(line)
        if row is not None:
            rows.append(row)
        elif line.strip() and number < len(lines):  # a kill may cut the last line short
            warnings.append(f"Line {number} of server.jsonl cannot be read and was skipped.")
    frame = pd.DataFrame(rows, columns=list(SERVER_COLUMNS), dtype="float64")
    return frame.sort_values("t_s", kind="stable", ignore_index=True)


def _server_row(line: str) -> dict[str, float] | None:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("t_s"), int | float):
        return None
    return {
        name: float(value) if isinstance(value := data.get(name), int | float) else math.nan
        for name in SERVER_COLUMNS
    }
