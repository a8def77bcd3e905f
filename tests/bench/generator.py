"""What the generator costs, beside plain Locust, geventhttpclient and bare gevent sockets.

``python -m tests.bench.generator [--quick] [--out FILE.json] [--from FILE.json] [--write-docs]``: about
eleven minutes, or two with ``--quick``; loads 127.0.0.1 only. Everything that is measured runs in a process
of its own, one variant after the other, in rounds whose order changes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.bench import machine
from tests.bench.cases import CASES, FULL, QUICK, Settings
from tests.bench.document import GENERATOR, write_document
from tests.bench.processes import ROOT, run_case, run_memory
from tests.bench.steady_run import steady_run
from tests.bench.tables import result_tables

PACKAGES = ("locust", "gevent", "greenlet", "geventhttpclient", "httptools", "pyarrow")
DEFAULT_OUT = ROOT / "runs" / "bench.json"
_WIDTH = 150


def main() -> None:
    options = _options()
    console = Console(width=max(Console().width, _WIDTH))
    if options.read:
        report = json.loads(options.read.read_text())
    else:
        report = measure_all(QUICK if options.quick else FULL)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1))
    tables = result_tables(report)
    for table in tables:
        table.show(console)
    if options.write_docs:
        settings = report["settings"]
        window_s = settings["window_s"]
        note = (
            f"{settings['rounds']} rounds in changing order, a window of {window_s:g} s each after a "
            "warm-up; medians, ratios taken within a round."
        )
        write_document(GENERATOR, report, note, tables)


def measure_all(settings: Settings) -> dict[str, Any]:
    """Every round, the memory, the steady run."""
    begun_s = time.monotonic()
    report: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.describe(PACKAGES),
        "settings": asdict(settings),
        "rounds": _rounds(settings),
    }
    _say("memory, healthy")
    report["memory"] = run_memory(settings.memory_attempts, settings.memory_rate_per_s, "answer")
    _say("memory, storm")
    report["memory_storm"] = run_memory(
        settings.memory_storm_attempts, settings.memory_storm_rate_per_s, "silent"
    )
    _say("the steady run")
    report["steady"] = steady_run(settings.steady_s)
    report["elapsed_s"] = time.monotonic() - begun_s
    _say(f"measured in {report['elapsed_s']:.0f} s")
    return report


def _rounds(settings: Settings) -> list[dict[str, Any]]:
    found = []
    for number in range(settings.rounds):
        # Forwards and backwards in turn: a machine that gets slower must not favour whoever comes first.
        for case in CASES if number % 2 == 0 else reversed(CASES):
            measured = run_case(case, settings)
            found.append({"round": number, "condition": case.condition, "variant": case.variant, **measured})
            cpu_ms = measured["cpu_s"] / measured["attempts"] * 1e3
            _say(f"round {number + 1}  {case.condition:8} {case.variant:24} {cpu_ms:.3f} ms CPU an attempt")
    return found


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.generator", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under two minutes, one round")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where the raw rounds go")
    parser.add_argument("--from", dest="read", type=Path, help="show an earlier run's file, measure nothing")
    parser.add_argument("--write-docs", action="store_true", help="renew the tables of docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
