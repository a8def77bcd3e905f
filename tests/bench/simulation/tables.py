"""The tables of the simulation's report."""

from __future__ import annotations

from statistics import median

from tests.bench.simulation.cases import ENGINE_CASES, ENGINE_LOADS, PEER_CASES, PEER_LOADS, SEED_LOADS
from tests.bench.simulation.commands import COLD_PREDICT, COLD_SIMULATE, HELP, PREDICT, SIMULATE, WATCH_S
from tests.bench.simulation.summary import (
    MILLION,
    aims,
    averages,
    deviation,
    rates,
    ratio,
    seconds,
    seeds_per_s,
)
from tests.bench.summary import Report
from tests.bench.tables import Table, aims_table


def result_tables(report: Report) -> list[Table]:
    """Everything measured, the aims first."""
    return [
        aims_table(aims(report)),
        engine_table(report),
        *(peers_table(report, load) for load in PEER_LOADS),
        seeds_table(report),
        commands_table(report),
    ]


def engine_table(report: Report) -> Table:
    """The simulator and the plain heap, load by load."""
    rows = []
    for load, variant in ENGINE_CASES:
        found = rates(report, "engine", load, variant)
        runs = [r for r in report["engine"] if (r["load"], r["variant"]) == (load, variant)]
        late = sum(r["late"] for r in runs) / sum(r["attempts"] for r in runs)
        rows.append(
            (
                ENGINE_LOADS[load](1.0).title,
                variant,
                f"{median(found) / MILLION:.1f} ({min(found) / MILLION:.1f}–{max(found) / MILLION:.1f})",
                f"{1e9 / median(found):.0f}",
                f"{median(r['attempts'] for r in runs):,.0f}",
                f"{late:.1%}",
            )
        )
    columns = (
        "load",
        "simulator",
        "million attempts per CPU s (range)",
        "ns per attempt",
        "attempts",
        "late",
    )
    return Table("One core, one seed after another", columns, rows)


def peers_table(report: Report, load: str) -> Table:
    """One experiment in every tool that can express it."""
    rows = []
    for case, peer in PEER_CASES:
        if case != load:
            continue
        said = averages(report, load, peer)
        rows.append(
            (
                peer,
                f"{median(rates(report, 'peers', load, peer)):,.0f}",
                f"{ratio(report, 'peers', load, peer):,.1f} ×",
                f"{said['attempts_per_job']:.4f}",
                f"{said['late_share']:.4f}",
                f"{said['sojourn_s']:.3f}",
                f"{deviation(report, load, peer):.1f}",
            )
        )
    columns = ("tool", "attempts per CPU s", "Tipover over it", "attempts per job", "late", "mean sojourn s")
    return Table(PEER_LOADS[load][0], (*columns, "standard errors off"), rows)


def seeds_table(report: Report) -> Table:
    """Seeds per second on one core and on two."""
    rows = []
    for length, (experiment, _) in SEED_LOADS.items():
        one, two = (seeds_per_s(report, length, cores) for cores in (1, 2))
        rows.append(
            (
                f"the storm for {experiment.duration_s:,.0f} s",
                f"{one:,.0f}",
                f"{two:,.0f}",
                f"{two / one:.2f} ×",
            )
        )
    return Table("Seeds per second of the clock", ("runs", "one core", "two cores", "gain"), rows)


def commands_table(report: Report) -> Table:
    """Whole processes on the clock."""
    names = {
        HELP: "`tipover --help`",
        PREDICT: f"`tipover predict`, a watch of {WATCH_S:,.0f} s, speed-up 10",
        COLD_PREDICT: "the same, the first time: nothing compiled",
        SIMULATE: "a process that simulates a short storm",
        COLD_SIMULATE: "the same, the first time: nothing compiled",
    }
    rows = [(name, f"{seconds(report, key):.2f}") for key, name in names.items()]
    if report["validation_s"] is not None:
        rows.append(("`tipover validate collapse-law`, everything compiled", f"{report['validation_s']:.0f}"))
    return Table("Whole processes", ("what", "seconds of the clock"), rows)
