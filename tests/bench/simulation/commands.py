"""Whole processes on the clock: what someone waits for at the command line, and the first compilation."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bench.processes import ROOT

HELP, PREDICT, SIMULATE = "help", "predict", "simulate"
COLD_PREDICT, COLD_SIMULATE = "predict, cold", "simulate, cold"
WATCH_S = 100_000.0

_SCENARIO = f"""
title = "A spike that heals, watched for a day"
[service]
pods = 4
rate_per_pod = 40.0
[client]
timeout_s = 10.0
max_attempts = 3
backoff = {{ kind = "none" }}
[demand]
utilization = 0.3
phases = [
    {{ name = "baseline", duration_s = 100 }},
    {{ name = "spike", duration_s = 300, factor = 5.0 }},
    {{ name = "watch", duration_s = {WATCH_S:g} }},
]
[run]
speedup = 10.0
"""
_SIMULATE = """
from analysis.simulation import simulate
from domain.backoff import FullJitterBackoff
from domain.experiment import Client, Demand, Experiment, Phase, Service
client = Client(5.0, 6, FullJitterBackoff(5.0, 40.0))
simulate(Experiment("bench", "Bench", client, Demand(0.9, (Phase("steady", 690.0),)), Service(1, 1.0)))
"""


def time_commands() -> dict[str, float]:
    """Seconds of the clock of each command: first with nothing compiled, then with everything."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "watch.toml"
        scenario.write_text(_SCENARIO)
        predict = ["-m", "tipover", "predict", str(scenario), "--json"]
        environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}

        def seconds(arguments: list[str], cache: str) -> float:
            return _seconds(arguments, environment | {"XDG_CACHE_HOME": str(Path(folder) / cache)})

        return {
            COLD_PREDICT: seconds(predict, "for predict"),
            PREDICT: seconds(predict, "for predict"),
            COLD_SIMULATE: seconds(["-c", _SIMULATE], "for simulate"),
            SIMULATE: seconds(["-c", _SIMULATE], "for simulate"),
            HELP: seconds(["-m", "tipover", "--help"], "for predict"),
        }


def time_validation() -> float:
    """Seconds of the clock of all of `tipover validate collapse-law`, everything compiled."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["-m", "tipover", "validate", "collapse-law", "--out", folder]
        _seconds([*arguments, "--effort", "0.01"], dict(os.environ), (0, 1))
        # It exits 1 where a claim of the source is refuted, which is not what is measured here.
        return _seconds(arguments, dict(os.environ), (0, 1))


def _seconds(arguments: list[str], environment: dict[str, str], fine: tuple[int, ...] = (0,)) -> float:
    begun_s = time.monotonic()
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    elapsed_s = time.monotonic() - begun_s
    if done.returncode not in fine:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return elapsed_s
