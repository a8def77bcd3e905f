"""Servers and variants as processes of their own: this one never imports gevent."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.bench.cases import TIMEOUT_S, Case, Settings
from tests.bench.load import Load

ROOT = Path(__file__).parents[2]


@contextmanager
def announced(*arguments: str) -> Iterator[tuple[int, str]]:
    """A Python process that says one line when it is ready: its id and the line."""
    command = [sys.executable, "-m", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"{' '.join(arguments)} did not start")
            yield process.pid, line
        finally:
            process.terminate()


def run_variant(module: str, server: str, options: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """Run a variant against a fresh server and return what it measured."""
    with announced("tests.bench.server", server) as (server_pid, line):
        load = Load(port=int(line), server_pid=server_pid, **options)
        done = subprocess.run(
            [sys.executable, "-m", f"tests.bench.variants.{module}", load.as_argument()],
            capture_output=True,
            text=True,
            timeout=limit_s,
            check=False,
            cwd=ROOT,
        )
    if done.returncode != 0:
        raise RuntimeError(f"{module} failed:\n{done.stderr[-3000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def run_case(case: Case, settings: Settings) -> dict[str, Any]:
    """One measurement of one variant under one condition."""
    return run_variant(case.module, case.server, case.load_options(settings), limit_s=120)


def run_memory(attempts: int, rate_per_s: float, server: str) -> dict[str, Any]:
    """Memory at tenths of ``attempts``, all answered or, by a ``silent`` server, none."""
    options = {
        "rate_per_s": rate_per_s,
        "greenlets": 0,
        "timeout_s": TIMEOUT_S,
        "warmup_s": 0.0,
        "window_s": 0.0,
        "expected": "timeout" if server == "silent" else "ok",
        "attempts": attempts,
    }
    return run_variant("tipover_memory", server, options, limit_s=60 + 4 * attempts / rate_per_s)
