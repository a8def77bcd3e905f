"""What the theory engine costs, beside SimPy, Ciw, a plain heap and a plain Python loop.

``python -m tests.bench.simulation [--quick] [--validate] [--out FILE.json] [--from FILE.json]
[--write-docs]``: a few minutes, or one with ``--quick``; ``--validate`` adds the whole collapse law. One
core does what is compared; everything is measured in rounds whose order changes.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console

from tests.bench import machine
from tests.bench.document import SIMULATION, write_document
from tests.bench.processes import ROOT
from tests.bench.simulation.agreement import spread
from tests.bench.simulation.cases import (
    ENGINE_CASES,
    FULL,
    PEER_CASES,
    PEER_LOADS,
    QUICK,
    SEED_LOADS,
    Settings,
    peer_experiment,
)
from tests.bench.simulation.commands import time_commands, time_validation
from tests.bench.simulation.engine import run_engine, run_seeds
from tests.bench.simulation.peers import run_peer
from tests.bench.simulation.tables import result_tables

DEFAULT_OUT = ROOT / "runs" / "bench-simulation.json"
PACKAGES = ("numba", "llvmlite", "numpy", "simpy", "Ciw")
_WIDTH = 150
_Case = TypeVar("_Case")


def main() -> None:
    options = _options()
    console = Console(width=max(Console().width, _WIDTH))
    if options.read:
        report = json.loads(options.read.read_text())
    else:
        report = measure_all(QUICK if options.quick else FULL, validate=options.validate)
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(report, indent=1))
    tables = result_tables(report)
    for table in tables:
        table.show(console)
    if options.write_docs:
        note = (
            f"{report['settings']['rounds']} rounds in changing order; medians, ratios taken within a round."
        )
        write_document(SIMULATION, report, note, tables)


def measure_all(settings: Settings, *, validate: bool) -> dict[str, Any]:
    """Every round of everything, on one core what is compared by CPU time."""
    begun_s = time.monotonic()
    report: dict[str, Any] = {
        "date": time.strftime("%Y-%m-%d"),
        "machine": machine.describe(PACKAGES),
        "settings": asdict(settings),
    }
    with one_core():
        report["engine"] = _engine(settings)
        report["peers"] = _peers(settings)
    report["spreads"] = {
        load: {peer: spread(load, peer, settings) for case, peer in PEER_CASES if case == load}
        for load in PEER_LOADS
    }
    report["seeds"] = _seeds(settings)
    report["commands"] = []
    for number in range(settings.rounds):
        report["commands"].append(time_commands())
        _say(number, ", ".join(f"{name} {took_s:.2f} s" for name, took_s in report["commands"][-1].items()))
    report["validation_s"] = time_validation() if validate else None
    report["elapsed_s"] = time.monotonic() - begun_s
    return report


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this process on one core meanwhile."""
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _engine(settings: Settings) -> list[dict[str, Any]]:
    for load, variant in ENGINE_CASES:
        run_engine(load, variant, QUICK, seed=1)  # compiles it
    found = []
    for number, (load, variant) in _in_rounds(ENGINE_CASES, settings.rounds):
        measured = run_engine(load, variant, settings, seed=1 + number)
        found.append({"round": number, "load": load, "variant": variant, **measured})
        per_s = measured["attempts"] / measured["cpu_s"]
        _say(number, f"{load:10} {variant:24} {per_s / 1e6:.2f} million attempts per CPU second")
    return found


def _peers(settings: Settings) -> list[dict[str, Any]]:
    found = []
    for number, (load, peer) in _in_rounds(PEER_CASES, settings.rounds):
        experiment = peer_experiment(load, peer, settings.scale).with_run(seed=1 + number)
        answer = asdict(run_peer(peer, experiment))
        found.append({"round": number, "load": load, "variant": peer, **answer})
        _say(
            number, f"{load:10} {peer:24} {answer['attempts'] / answer['cpu_s']:,.0f} attempts per CPU second"
        )
    return found


def _seeds(settings: Settings) -> list[dict[str, Any]]:
    cases = [(length, cores) for length in SEED_LOADS for cores in (1, 2) if cores <= _cores()]
    found = []
    for number, (length, cores) in _in_rounds(cases, settings.rounds):
        measured = run_seeds(length, cores, settings)
        found.append({"round": number, "length": length, "cores": cores, **measured})
        per_s = measured["seeds"] / measured["wall_s"]
        _say(number, f"{length} runs on {cores} cores: {per_s:,.0f} seeds per second")
    return found


def _in_rounds(cases: Sequence[_Case], rounds: int) -> Iterator[tuple[int, _Case]]:
    for number in range(rounds):
        # Forwards and backwards in turn: a machine that gets slower must not favour whoever comes first.
        for case in cases if number % 2 == 0 else reversed(cases):
            yield number, case


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _say(number: int, text: str) -> None:
    print(f"round {number + 1}  {text}", file=sys.stderr, flush=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.simulation", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="about a minute, one short round")
    parser.add_argument("--validate", action="store_true", help="time all of `tipover validate collapse-law`")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT, help="where the raw rounds go")
    parser.add_argument("--from", dest="read", type=Path, help="show an earlier run's file, measure nothing")
    parser.add_argument("--write-docs", action="store_true", help="renew the tables of docs/performance.md")
    return parser.parse_args()


if __name__ == "__main__":
    main()
