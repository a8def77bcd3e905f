"""A minute of ``tipover run`` at 1,000 planned jobs/s against the real target, Locust process and all."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.bench.cases import RATE_PER_S
from tests.bench.processes import ROOT, announced

_SCENARIO = """
title = "A steady load, to see how late the generator is"
[service]
pods = 4
rate_per_pod = 1000.0
[client]
timeout_s = 1.0
max_attempts = 3
[demand]
arrival_rate_per_s = {rate_per_s}
phases = [ {{ name = "steady", duration_s = {duration_s} }} ]
"""


def steady_run(duration_s: float) -> dict[str, Any]:
    """The generator's own health file of the run, with the run's exit code and validity."""
    target = (
        "tipover",
        "serve",
        "target",
        "--pods",
        "4",
        "--rate-per-pod",
        "1000",
        "--port",
        "0",
        "--announce",
    )
    with tempfile.TemporaryDirectory() as folder, announced(*target) as (_, line):
        scenario, out = Path(folder) / "steady.toml", Path(folder) / "run"
        scenario.write_text(_SCENARIO.format(rate_per_s=RATE_PER_S, duration_s=duration_s))
        command = ["tipover", "run", str(scenario), "--target", json.loads(line)["url"], "--out", str(out)]
        done = subprocess.run(
            [sys.executable, "-m", *command, "--json"],
            capture_output=True,
            text=True,
            timeout=duration_s + 120,
            check=False,
            cwd=ROOT,
        )
        health = out / "generator" / "worker-00.json"
        if not health.exists():
            raise RuntimeError(f"the steady run failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
        summary = json.loads(done.stdout)
        found: dict[str, Any] = json.loads(health.read_text())
    found.pop("pid", None)
    return found | {
        "duration_s": duration_s,
        "exit_code": done.returncode,
        "valid": summary.get("valid"),
        "invalid_reasons": summary.get("invalid_reasons", []),
    }
