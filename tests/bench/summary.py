"""From raw rounds to medians, ratios and whether the aims are met."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import Any

from tests.bench.cases import BARE, CASES, CLIENT, CLOSED, FLOOD, HEALTHY, LOCUST, STORM, TIPOVER, UNRECORDED

Report = dict[str, Any]
MEGABYTE = 1e6


@dataclass(frozen=True)
class Line:
    """Medians over the rounds of one variant under one condition."""

    condition: str
    variant: str
    per_core_s: float
    cpu_ms: float
    cpu_ms_range: tuple[float, float]
    achieved_per_s: float
    lag_p50_s: float | None
    lag_p99_s: float | None
    core_share: float
    server_share: float
    unexpected: int


@dataclass(frozen=True)
class Aim:
    """Something that was promised, or that is shown beside it: then ``met`` is None."""

    what: str
    wanted: str
    measured: str
    met: bool | None


def lines(report: Report) -> list[Line]:
    """One line a case, in the order of the cases."""
    return [_line(case.condition, case.variant, _of(report, case.condition, case.variant)) for case in CASES]


def ratio(report: Report, condition: str, variant: str, other_condition: str, other: str) -> float:
    """Attempts per CPU second, ours over theirs: the median of the ratios within each round."""
    ours = {r["round"]: r["attempts"] / r["cpu_s"] for r in _of(report, condition, variant)}
    theirs = {r["round"]: r["attempts"] / r["cpu_s"] for r in _of(report, other_condition, other)}
    return median(ours[number] / theirs[number] for number in ours)


def recorder_share(report: Report, condition: str) -> float:
    """The share of the CPU per attempt that recording costs."""
    return 1 - ratio(report, condition, TIPOVER, condition, UNRECORDED)


def others_cores(report: Report) -> float:
    """Cores that other processes of the machine used meanwhile, median over all measurements."""
    return median(r["others_cpu_s"] / r["wall_s"] for r in report["rounds"])


def growth_bytes(memory: Report) -> float:
    """Resident bytes per attempt between the second and the last of the ten points."""
    first, last = memory["points"][1], memory["points"][-1]
    return float((last["rss_bytes"] - first["rss_bytes"]) / (last["attempts"] - first["attempts"]))


def aims(report: Report) -> list[Aim]:
    """The plan's aims, each judged, and comparisons that nothing was promised about."""
    storm_ms = next(x.cpu_ms for x in lines(report) if (x.condition, x.variant) == (STORM, TIPOVER))
    lag_s = report["steady"]["lag_p99_s"]
    found = [
        _at_least("attempts per CPU second over FastHttpUser's, 1,000/s healthy", 2, report, HEALTHY, LOCUST),
        _at_least("the same, each at its ceiling", 2, report, FLOOD, LOCUST, CLOSED),
        _at_least("the same, 1,000/s storm", 2, report, STORM, LOCUST),
        _at_least("attempts per CPU second over bare sockets', 1,000/s healthy", 0.8, report, HEALTHY, BARE),
        _at_least("the same, open loop at the ceiling", 0.8, report, FLOOD, BARE),
        _at_least("the same, 1,000/s storm", 0.8, report, STORM, BARE),
        Aim("CPU per attempt in the storm, recording on", "< 0.4 ms", f"{storm_ms:.3f} ms", storm_ms < 0.4),
        Aim(
            f"lag p99 of {report['steady']['duration_s']:.0f} s of `tipover run` at 1,000 jobs/s",
            "< 10 ms",
            f"{lag_s * 1e3:.1f} ms",
            lag_s < 0.01 and report["steady"]["valid"],
        ),
    ]
    beside = ratio(report, FLOOD, TIPOVER, CLOSED, BARE)
    found.append(
        Aim("our open loop over bare sockets in a closed loop, at the ceiling", "–", f"{beside:.2f} ×", None)
    )
    for condition, name in ((HEALTHY, "1,000/s healthy"), (FLOOD, "the ceiling"), (STORM, "1,000/s storm")):
        share = ratio(report, condition, TIPOVER, condition, CLIENT)
        found.append(Aim(f"over geventhttpclient's, open loop, {name}", "–", f"{share:.2f} ×", None))
    return found


def _at_least(
    what: str, wanted: float, report: Report, condition: str, other: str, other_condition: str | None = None
) -> Aim:
    found = ratio(report, condition, TIPOVER, other_condition or condition, other)
    return Aim(what, f"≥ {wanted:g} ×", f"{found:.2f} ×", found >= wanted)


def _of(report: Report, condition: str, variant: str) -> list[dict[str, Any]]:
    return [r for r in report["rounds"] if r["condition"] == condition and r["variant"] == variant]


def _line(condition: str, variant: str, rounds: list[dict[str, Any]]) -> Line:
    cpu_ms = [r["cpu_s"] / r["attempts"] * 1e3 for r in rounds]
    paced = rounds[0]["lag_p99_s"] is not None
    return Line(
        condition,
        variant,
        per_core_s=median(r["attempts"] / r["cpu_s"] for r in rounds),
        cpu_ms=median(cpu_ms),
        cpu_ms_range=(min(cpu_ms), max(cpu_ms)),
        achieved_per_s=median(r["attempts"] / r["wall_s"] for r in rounds),
        lag_p50_s=median(r["lag_p50_s"] for r in rounds) if paced else None,
        lag_p99_s=median(r["lag_p99_s"] for r in rounds) if paced else None,
        core_share=median(r["cpu_s"] / r["wall_s"] for r in rounds),
        server_share=median(r["server_cpu_s"] / r["wall_s"] for r in rounds),
        unexpected=sum(r["unexpected"] for r in rounds),
    )
