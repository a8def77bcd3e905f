"""What the pictures show, in words: what can come out otherwise is worked out from the data they show."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from analysis.studies.collapse_law.caps import CHOICES, INSTANT, ROW, best_choice, goes_through
from analysis.studies.collapse_law.collapse_load_claims import backoff_gains, converged
from analysis.studies.collapse_law.pictures.hysteresis import RUNS
from analysis.studies.collapse_law.recovery import HOLD_S
from analysis.studies.collapse_law.rows import Row, pick, sample
from analysis.studies.counting import counted
from analysis.studies.sample import Sample
from analysis.wording import number, percent

Data = dict[str, Any]
BARS = "Bars are 95% intervals."


def curve(data: Data) -> str:
    """F1."""
    long = [abs(row["pooled"] - row["predicted"]) <= row["half_width_95"] for row in data["kernel"]["long"]]
    held = [_holds(sample(row), row["predicted"]) for row in data["curve"] if len(row["values"]) > 1]
    return (
        "Left: without retries, the share of late attempts beside the tail of an M/M/1 sojourn; of the long"
        f" runs {_of(long)} intervals hold the law. Right: with retries, the utilization of the runs that"
        f" have not tipped beside the curve; {_of(held)} intervals hold it. Percentages: runs that had"
        f" tipped, which are left out. {BARS}"
    )


def onset(data: Data) -> str:
    """F2."""
    rows = data["tipping"]["rows"]
    spans = "; ".join(
        f"at θ = {theta} from {_share(chosen[0])} at {chosen[0]['load']:g}μ to {_share(chosen[-1])} at"
        f" {chosen[-1]['load']:g}μ, ceiling {number(ceiling)}μ"
        for theta, ceiling in data["tipping"]["ceilings"].items()
        if (chosen := [row for row in rows if row["theta"] == float(theta)])
    )
    alone = {
        policy: _share(pick(data["burst"]["shares"], policy=policy, size=0)) for policy in ("none", "jitter")
    }
    return (
        f"Top left: the share of runs that collapse, {spans}. At θ = 2 and the lowest load a final window"
        " holds so few jobs that one bad answer is a collapse. Top right: mean collapse loads by policy"
        " beside the ceiling. Bottom left: mean collapse load by length of the run. Bottom right: runs that"
        " collapse after a burst of attempts sent together at half the ceiling; with no burst at all"
        f" {alone['none']} do if clients retry at once and {alone['jitter']} with jitter. {BARS}"
    )


def hysteresis(data: Data) -> str:
    """F3."""
    stays = [row["stays_cratered"] for row in data["ramp"]["policies"]]
    down, runs = sum(row["count"] for row in stays), sum(row["of"] for row in stays)
    bounded, endless = (pick(data["trap"], max_attempts=m) for m in (6.0, "inf"))
    return (
        "Top left: goodput up a ramp and, dashed, down again, with 95% intervals; of"
        f" {counted(runs, 'run')} {down:,} stay below 30% all the way down. Top right: the highest load at"
        f" which a collapsed queue runs empty within {number(HOLD_S)} mean services. The law has two lines:"
        " μ/m is for an endless watch; for a finite one it lies lower, as the drain takes ever longer towards"
        " μ/m. Bottom left: the queue after the same shedding; with m = 6 it runs empty in"
        f" {bounded['emptied']:,} of {counted(len(bounded['depths']), 'run')}, with m = ∞ it becomes"
        f" {number(sample(endless, 'growth').mean)} times as deep on average. Bottom right:"
        f" times of single drains, at most {RUNS} of each kind, beside D/(μ − λm)."
    )


def margins(data: Data) -> str:
    """F4."""
    gains, beats = backoff_gains(data["policies"])
    verdict = {
        True: "each above it with 95% confidence",
        False: "at least one below it with 95% confidence",
        None: "not each to be told from it with 95% confidence",
    }[beats]
    return (
        f"Left: mean collapse load over the ceiling. At θ = 2, against retries at once: {gains}; {verdict}."
        f" At θ = 20 the means are {converged(data['policies'])}. Right: the mean backoff that each policy"
        f" asked for in runs that had not tipped. {BARS}"
    )


def interventions(data: Data) -> str:
    """F5."""
    caps = data["caps"]
    best = best_choice(caps)
    at_capacity = ", ".join(
        f"{number(sample(row).mean, 2)} "
        + ("with no cap" if row["places"] is None else f"with L = {row['places']}")
        for row in caps["goodput"]
        if row["load"] == 1.0 and row["policy"] == "jitter" and row["choice"] in (best, "no cap")
    )
    through = [
        goes_through(caps, choice, policy)
        for choice, policy in (*((choice, "jitter") for choice in CHOICES), ("after-timeout", INSTANT.policy))
    ]
    return (
        f"Left: goodput over demand; at a demand of 1.0μ it is {at_capacity}. Middle: the same for L = 2, by"
        f" what a rejected attempt does next; {_of(through)} lines pass the source's points at all"
        f" {len(ROW)} loads within their intervals. Right: mean collapse loads by timeout beside the"
        f" ceiling. {BARS}"
    )


def scatter(data: Data) -> str:
    """F6."""
    rows = [row for row in (*data["curve"], *data["shift"]) if len(row["values"]) > 1]
    held = [_holds(sample(row), row["predicted"]) for row in rows]
    off = [abs(sample(row).mean / row["predicted"] - 1) for row in rows if row["theta"] == 5.0]
    few = [row for row in rows if row["tipped"] > row["seeds"] / 2]
    return (
        "Utilization of the runs that have not tipped, beside the good root of the curve, for the points of"
        f" the pictures f1 and f7: {_of(held)} intervals hold the root. At θ = 5 the means are up to"
        f" {percent(max(off))} off it. In {len(few)} of these cells more than half of the runs had tipped"
        f" and are left out, and those left over are a selection. {BARS}"
    )


def unified(data: Data) -> str:
    """F7."""
    over = [sample(row).mean / row["ceiling"] for row in data["attempts"] if row["theta"] == 2.0]
    follows = [row["folds"] == row["rule"] for row in data["ceilings"]["scan"]]
    return (
        "Left: the curve for several m at θ = 2, and the utilizations measured at one load. Middle: mean"
        f" collapse loads, {number(min(over), 2)} to {number(max(over), 2)} of the ceiling at this timeout."
        f" Right: where the curve has a fold, and the system two stable states; {_of(follows)} points follow"
        f" the rule (m − 1)θ > 2. {BARS}"
    )


CAPTIONS: dict[str, Callable[[Data], str]] = {
    "f1-kernel-and-curve": curve,
    "f2-onset": onset,
    "f3-hysteresis": hysteresis,
    "f4-margins": margins,
    "f5-interventions": interventions,
    "f6-prediction": scatter,
    "f7-unified-curve": unified,
}
"""By picture."""


def _holds(ours: Sample, law: float) -> bool:
    return abs(ours.mean - law) <= ours.half_width


def _of(held: Iterable[bool]) -> str:
    found = list(held)
    return f"{sum(found)} of {len(found)}"


def _share(row: Row) -> str:
    return percent(row["count"] / row["of"])
