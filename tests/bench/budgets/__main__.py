"""What each retry budget and breaker costs the generator, beside a client that has none.

``python -m tests.bench.budgets [--quick] [--out FILE.json] [--from FILE.json] [--write-docs]``: about twelve
minutes, or two with ``--quick``; loads 127.0.0.1 only.
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
from tests.bench.budgets.cases import FULL, QUICK, RULES, Settings, blocks, load_options
from tests.bench.budgets.tables import result_tables
from tests.bench.cases import STORM
from tests.bench.document import BUDGETS, write_document
from tests.bench.processes import ROOT, run_variant

PACKAGES = ("gevent", "greenlet", "httptools", "pyarrow")
DEFAULT_OUT = ROOT / "runs" / "bench-budgets.json"
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
        note = (
            f"{settings['rounds']} rounds in changing order, a window of {settings['window_s']:g} s each "
            "after a warm-up; medians. Ratios are over a client without any rule, measured in the same half "
            "minute."
        )
        write_document(BUDGETS, report, note, tables)


def measure_all(settings: Settings) -> dict[str, Any]:
    """Every round under both conditions."""
    begun_s = time.monotonic()
    report: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.describe(PACKAGES),
        "settings": asdict(settings),
        "blocks": [],
    }
    for number in range(settings.rounds):
        for condition in RULES:
            for block in blocks(condition, number):
                measured = {rule: _measure(condition, rule, settings) for rule in block}
                report["blocks"].append({"round": number, "condition": condition, "measured": measured})
    report["elapsed_s"] = time.monotonic() - begun_s
    return report


def _measure(condition: str, rule: str, settings: Settings) -> dict[str, Any]:
    server = "silent" if condition == STORM else "answer"
    found = run_variant(
        "tipover_session", server, load_options(condition, rule, settings), limit_s=60 + settings.window_s
    )
    cpu_ms = found["cpu_s"] / found["attempts"] * 1e3
    print(f"{condition:8} {rule:18} {cpu_ms:.4f} ms CPU an attempt", file=sys.stderr, flush=True)
    return found


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.budgets", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under two minutes, one round")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where the raw rounds go")
    parser.add_argument("--from", dest="read", type=Path, help="show an earlier run's file, measure nothing")
    parser.add_argument("--write-docs", action="store_true", help="renew the tables of docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
