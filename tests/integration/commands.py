"""Running ``tipover`` and ``locust`` as their users do, in processes that a test can stop."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

FAST = """
title = "a small trap"
[service]
pods = 4
rate_per_pod = 100.0
[client]
timeout_s = 10.0
max_attempts = 3
[demand]
utilization = 0.45
phases = [
  { name = "baseline", duration_s = 20 },
  { name = "spike", duration_s = 20, factor = 4.0 },
  { name = "watch", duration_s = 60 },
]
[run]
speedup = 10.0
[expect]
outcome = "trapped"
"""
"""θ·pods = 400/s × 1 s = 400; Aρ = 1.35; (kρ−1)Δ = 16 s against T = 10 s. Ten seconds of wall clock."""


def scenario_file(directory: Path, text: str = FAST, **replacements: str) -> Path:
    """A scenario on disk, with parts of its text replaced."""
    for old, new in replacements.items():
        text = text.replace(old, new)
    path = directory / "scenario.toml"
    path.write_text(text)
    return path


def tipover(*arguments: str | Path, file_limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``tipover`` to its end; with ``file_limit`` no file can grow beyond so many bytes."""
    command = [sys.executable, "-m", "tipover", *map(str, arguments)]
    if file_limit is not None:
        command = ["prlimit", f"--fsize={file_limit}", *command]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def valid_run(scenario: Path, out: Path, *options: str) -> tuple[int, dict[str, Any]]:
    """Exit code and summary of a run that its own report calls valid.

    A machine too busy for a run says so in the run's validity; such a run says nothing of the service,
    so it is made again, twice at most. Any other reason is a defect and fails the test.
    """
    for _ in range(3):
        done = tipover("run", scenario, "--out", out, "--replace", "--json", *options)
        assert done.stdout, done.stderr
        summary = json.loads(done.stdout)
        if summary["valid"]:
            return done.returncode, summary
        assert done.returncode == 3
        print(f"made again: {summary['invalid_reasons']}")
        assert all("lag" in reason or " late" in reason for reason in summary["invalid_reasons"])
    raise AssertionError(f"the machine is too busy for this test: {summary['invalid_reasons']}")


@contextmanager
def started(
    *command: str | Path, within: Sequence[str] = (), **options: Any
) -> Iterator[subprocess.Popen[str]]:
    """A Python program in a session of its own; whatever is left of it at the end is killed. ``within`` is
    what starts it, if it is to run somewhere else."""
    process = subprocess.Popen(
        [*within, sys.executable, *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_until(condition: Callable[[], Any], what: str, timeout_s: float = 30) -> Any:
    """The first true value of ``condition``; fails the test when there is none in time."""
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"not within {timeout_s} s: {what}")


def run_started(out: Path) -> bool:
    """Whether the load of the run in ``out`` has begun."""
    return run_facts(out).get("start_monotonic_s") is not None


def run_facts(out: Path) -> dict[str, Any]:
    """``run.json``, or nothing while there is none."""
    try:
        found: dict[str, Any] = json.loads((out / "run.json").read_text())
    except FileNotFoundError:
        return {}
    return found


def processes_of(out: Path) -> list[psutil.Process]:
    """Every process whose command line names this run directory, and the target of the run."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if str(out) in words:
            found.append(process)
            with contextlib.suppress(psutil.NoSuchProcess):
                found += process.children(recursive=True)
    return found


def none_left(processes: list[psutil.Process]) -> bool:
    """Whether all of these are gone."""
    return not any(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in processes)
