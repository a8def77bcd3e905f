"""The stretch of a measurement that counts: CPU, completions and lag between two looks at the clock."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import psutil

from tests.bench.load import Load

Outcomes = dict[str, int]


def measure(
    load: Load,
    outcomes: Callable[[], Outcomes],
    sleep: Callable[[float], None],
    opened: Callable[[], None] = lambda: None,
) -> dict[str, Any]:
    """Let the warm-up pass, then measure this process for one window; the load runs in other greenlets.

    ``outcomes`` gives cumulative counts of finished attempts; CPU is that of all threads, kernel included.
    """
    server = psutil.Process(load.server_pid)
    sleep(load.warmup_s)
    opened()
    first, begun = outcomes().copy(), _clocks(server)
    sleep(load.window_s)
    last, ended = outcomes().copy(), _clocks(server)
    found = {name: count - first.get(name, 0) for name, count in last.items()}
    wall_s, cpu_s, server_cpu_s, machine_s = (
        after - before for before, after in zip(begun, ended, strict=True)
    )
    return {
        "attempts": sum(found.values()),
        "unexpected": sum(count for name, count in found.items() if name != load.expected),
        "outcomes": found,
        "wall_s": wall_s,
        "cpu_s": cpu_s,
        "server_cpu_s": server_cpu_s,
        "others_cpu_s": max(machine_s - cpu_s - server_cpu_s, 0.0),
        "rss_bytes": psutil.Process().memory_info().rss,
    }


def lag_quantiles(lags_s: list[float]) -> dict[str, float | None]:
    """p50 and p99 of lags, None when nothing was paced."""
    ordered = sorted(lags_s)
    if not ordered:
        return {"lag_p50_s": None, "lag_p99_s": None}
    return {f"lag_p{percent}_s": ordered[math.ceil(percent / 100 * len(ordered)) - 1] for percent in (50, 99)}


def _clocks(server: psutil.Process) -> tuple[float, float, float, float]:
    """Wall, CPU of this process, CPU of the server, CPU of everything on the machine."""
    of_server, machine = server.cpu_times(), psutil.cpu_times()
    busy_s = sum(machine[:3]) + machine.irq + machine.softirq
    return time.monotonic(), time.process_time(), of_server.user + of_server.system, busy_s
