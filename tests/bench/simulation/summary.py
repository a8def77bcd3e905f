"""From raw rounds to medians, ratios within a round and whether the aims are met."""

from __future__ import annotations

from statistics import median
from typing import Any

from tests.bench.simulation import agreement
from tests.bench.simulation.cases import (
    CALM,
    CIW,
    HEAP,
    JITTER,
    ORACLE,
    PEER_CASES,
    RETRYING,
    SIMPY,
    TIPOVER,
)
from tests.bench.simulation.commands import HELP, PREDICT, WATCH_S
from tests.bench.summary import Aim, Report

MILLION = 1e6
AGREES_WITHIN = 4.0
"""Standard errors; the largest of three quantities, in seven comparisons."""


def rates(report: Report, part: str, load: str, variant: str) -> list[float]:
    """Attempts per CPU second, round by round; ``part`` is ``engine`` or ``peers``."""
    return [r["attempts"] / r["cpu_s"] for r in _of(report, part, load, variant)]


def ratio(report: Report, part: str, load: str, other: str) -> float:
    """Attempts per CPU second, ours over theirs: the median of the ratios within each round."""
    ours, theirs = rates(report, part, load, TIPOVER), rates(report, part, load, other)
    return median(a / b for a, b in zip(ours, theirs, strict=True))


def seconds(report: Report, command: str) -> float:
    """Median seconds of the clock of a command."""
    return median(r[command] for r in report["commands"])


def seeds_per_s(report: Report, length: str, cores: int) -> float:
    """Median seeds per second of the clock; NaN where there are not so many cores."""
    found = [r for r in report["seeds"] if (r["length"], r["cores"]) == (length, cores)]
    return median(r["seeds"] / r["wall_s"] for r in found) if found else float("nan")


def averages(report: Report, load: str, peer: str) -> agreement.Measured:
    """What a tool said, averaged over the rounds."""
    found = _readings(report, load, peer)
    return {name: sum(one[name] for one in found) / len(found) for name in agreement.QUANTITIES}


def deviation(report: Report, load: str, peer: str) -> float:
    """How far a tool is off the simulator's mean, in standard errors."""
    return agreement.deviation(_readings(report, load, peer), report["spreads"][load][peer])


def aims(report: Report) -> list[Aim]:
    """The plan's aims, each judged, and comparisons that nothing was promised about."""
    storm = median(rates(report, "engine", JITTER, TIPOVER)) / MILLION
    most = max(deviation(report, load, peer) for load, peer in PEER_CASES)
    found = [
        Aim("attempts per CPU second, full jitter", "≥ 10 million", f"{storm:.1f} million", storm >= 10),
        _at_least("over SimPy's, no retries", 300, report, CALM, SIMPY),
        _at_least("over SimPy's, with retries", 300, report, RETRYING, SIMPY),
        _at_least("over Ciw's, no retries", 300, report, CALM, CIW),
        Aim(
            "all tools answer alike: the largest difference",
            f"< {AGREES_WITHIN:g} standard errors",
            f"{most:.1f}",
            most < AGREES_WITHIN,
        ),
        _within(f"`tipover predict`, a watch of {WATCH_S:,.0f} s", 1.0, seconds(report, PREDICT)),
        _within("`tipover --help`", 0.3, seconds(report, HELP)),
    ]
    if report["validation_s"] is not None:
        found.append(_within("`tipover validate collapse-law`, compiled", 180.0, report["validation_s"]))
    for what, part, load, other in (
        ("over the plain heap's, full jitter", "engine", JITTER, HEAP),
        ("over plain Python's, no retries", "peers", CALM, ORACLE),
        ("over plain Python's, with retries", "peers", RETRYING, ORACLE),
    ):
        found.append(Aim(what, "–", f"{ratio(report, part, load, other):,.2f} ×", None))
    return found


def _at_least(what: str, wanted: float, report: Report, load: str, other: str) -> Aim:
    found = ratio(report, "peers", load, other)
    return Aim(what, f"≥ {wanted:g} ×", f"{found:,.0f} ×", found >= wanted)


def _within(what: str, limit_s: float, measured_s: float) -> Aim:
    return Aim(what, f"< {limit_s:g} s", f"{measured_s:.2f} s", measured_s < limit_s)


def _readings(report: Report, load: str, peer: str) -> list[agreement.Measured]:
    return [
        agreement.readings(r["jobs"], r["attempts"], r["late"], r["sojourn_s"])
        for r in _of(report, "peers", load, peer)
    ]


def _of(report: Report, part: str, load: str, variant: str) -> list[dict[str, Any]]:
    return [r for r in report[part] if (r["load"], r["variant"]) == (load, variant)]
