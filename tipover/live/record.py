"""The run directory as the conductor writes it: ``run.json`` at the start and at the end, server scrapes."""

from __future__ import annotations

import fcntl
import json
import os
import platform
import resource
import shutil
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from domain.errors import ConfigurationError, TipoverError
from domain.experiment import Experiment
from domain.experiment_json import to_json
from loadgen.destination import without_credentials

SCHEMA_VERSION = 1
_CONTENT = (
    "attempts", "generator", "plots", "run.json", "experiment.json", "server.jsonl", "series.parquet",
    "summary.json", "report.html", "junit.xml", "target.log", "generator.log",
    "plan.json", "trigger-lines.jsonl", "trigger.json", "trigger.html", "trigger.md", "audit.jsonl",
    "guards.jsonl", "autoscaler.jsonl", "autoscaler.log",
)  # fmt: skip
_REPORTED_PACKAGES = ("tipover", "locust", "gevent", "httptools", "aiohttp", "numpy", "pyarrow")


class DirectoryRecord:
    """Writes the ``run.json`` of one directory, which is ours for as long as this process lives."""

    def __init__(self, directory: Path, name: str, facts: Mapping[str, Any], *, replace: bool) -> None:
        """Make the directory ready; raises ``ConfigurationError`` if it is in use or cannot be written."""
        self.directory = directory
        self._lock = _make_ready(directory, replace)
        self.facts: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "name": name,
            "state": "running",
            **facts,
            "target": None,
            "started_at": _utc_now(),
            "ended_at": None,
            "start_monotonic_s": None,
            "versions": _versions(),
            "machine": _machine(),
            "kernel": None,
            "harness_faults": [],
        }
        self.write()

    def write(self) -> None:
        """Replace ``run.json`` in one step."""
        self.write_json(self.directory / "run.json", self.facts)

    def fault(self, sentence: str) -> None:
        """Note something that makes the run invalid."""
        if sentence not in self.facts["harness_faults"]:
            self.facts["harness_faults"].append(sentence)

    def finish(self, state: str) -> None:
        """Note how the run ended."""
        self.facts["state"] = state
        self.facts["ended_at"] = _utc_now()
        self.write()

    @staticmethod
    def write_json(path: Path, value: Any) -> None:
        """Replace a file in one step."""
        temporary = path.with_suffix(".partial")
        try:
            temporary.write_text(json.dumps(value, indent=1))
            temporary.replace(path)
        except OSError as error:
            raise TipoverError(f"{path} could not be written: {error}") from error


class RunRecord(DirectoryRecord):
    """Writes one run directory."""

    def __init__(self, directory: Path, experiment: Experiment, *, workers: int, replace: bool) -> None:
        """Make the directory ready; raises ``ConfigurationError`` if it is in use or cannot be written."""
        facts = {
            "scenario": to_json(experiment),
            "workers": workers,
            "command": [without_credentials(word) for word in sys.argv],
            "final_server_state": None,
        }
        super().__init__(directory, experiment.name, facts, replace=replace)
        self.experiment_path = directory / "experiment.json"
        self.write_json(self.experiment_path, self.facts["scenario"])

    def add_server_state(self, t_s: float, state: dict[str, Any]) -> None:
        """Append one scrape of the target."""
        with (self.directory / "server.jsonl").open("a") as stream:
            stream.write(json.dumps({"t_s": t_s, **state}) + "\n")


def default_directory(name: str) -> Path:
    """``runs/NAME-TIME`` below the current directory."""
    return Path("runs") / f"{name}-{datetime.now().strftime('%Y%m%d-%H%M%S')}"


def refuse_unless_free(directory: Path, *, replace: bool) -> None:
    """Raise ``ConfigurationError`` if a run could not be put there; nothing is made or changed."""
    try:
        _refuse_file(directory)
        if directory.is_dir():
            os.close(_lock(directory))
            _refuse_content(directory, replace)
        nearest = next(place for place in (directory, *directory.absolute().parents) if place.exists())
        if not nearest.is_dir() or not os.access(nearest, os.W_OK | os.X_OK):
            raise ConfigurationError(f"--out {directory}: cannot be used: {nearest} cannot be written")
    except OSError as error:
        raise ConfigurationError(f"--out {directory}: cannot be used: {error}") from error


def _refuse_file(directory: Path) -> None:
    if directory.exists() and not directory.is_dir():
        raise ConfigurationError(f"--out {directory}: is a file, not a directory")


def _refuse_content(directory: Path, replace: bool) -> None:
    holds_run = (directory / "run.json").exists()
    if any(directory.iterdir()) and not (holds_run and replace):
        what = "is not empty and holds no run (choose another directory, or empty it)"
        if holds_run:
            what = "holds a run already (--replace puts the new one in its place)"
        raise ConfigurationError(f"--out {directory}: {what}")


def _make_ready(directory: Path, replace: bool) -> int:
    """Make an empty run directory that is ours; returns the descriptor whose lock says so."""
    try:
        _refuse_file(directory)
        directory.mkdir(parents=True, exist_ok=True)
        lock = _lock(directory)
        _refuse_content(directory, replace)
        if (directory / "run.json").exists():
            _remove_run(directory)
        (directory / "attempts").mkdir(exist_ok=True)
        (directory / "generator").mkdir(exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"--out {directory}: cannot be used: {error}") from error
    return lock


def _lock(directory: Path) -> int:
    """Lock the directory for as long as this process lives."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(descriptor)
        raise ConfigurationError(f"--out {directory}: a run is going on there") from error
    return descriptor


def _remove_run(directory: Path) -> None:
    """Remove what a run leaves, and nothing that somebody else put there."""
    for name in _CONTENT:
        path = directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _REPORTED_PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _machine() -> dict[str, Any]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "load_before": os.getloadavg()[0],
        "descriptor_limit": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
    }
