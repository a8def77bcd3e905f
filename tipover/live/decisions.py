"""What an autoscaler wrote down of its decisions, and whether they came when they were due.

The models decide on every whole sync period. A harness whose autoscaler is slow measures itself, not the
service, so a decision that is late, missing or made without readings makes the run invalid.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from domain.experiment import Experiment

LATE_SHARE = 0.2
"""A decision may be late by so much of the sync period."""


def read_decisions(path: Path) -> list[dict[str, Any]]:
    """The lines of a decision log, in order; none if there is no log. A last line cut short is left out."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
    decisions = []
    for line in lines:
        try:
            decision = json.loads(line)
        except ValueError:
            continue
        if isinstance(decision, dict) and isinstance(decision.get("t_s"), int | float):
            decisions.append(decision)
    return decisions


def faults_in_decisions(
    decisions: Sequence[dict[str, Any]], live: Experiment, stopped_s: float
) -> Iterator[str]:
    """What the autoscaler did too late, not at all, or blindly, up to the end of the phases.

    ``live`` is in seconds of the wall clock; ``stopped_s`` is when the autoscaler was told to stop. Before
    the first trigger it may still be starting.
    """
    fleet = live.fleet
    assert fleet is not None
    sync_s = fleet.sync_period_s
    needed_s = live.trigger[0] if live.trigger else sync_s
    end_s = min(live.duration_s, stopped_s - LATE_SHARE * sync_s)
    late_s = {round(d["t_s"] / sync_s): _late_s(d, sync_s) for d in decisions}
    first_s = min(needed_s, min(late_s, default=math.inf) * sync_s)
    due = [k for k in range(1, int(end_s / sync_s) + 1) if k * sync_s >= first_s]
    missing = [k for k in due if k not in late_s]
    late = [k for k in due if late_s.get(k, 0.0) > LATE_SHARE * sync_s]
    if missing:
        yield (
            f"the autoscaler was too late to decide at all at {missing[0] * sync_s:.2f} s, and at "
            f"{len(missing)} of {len(due)} times; see autoscaler.log"
        )
    if late:
        yield (
            f"the autoscaler was late for {len(late)} of {len(due)} decisions, by up to "
            f"{max(late_s[k] for k in late):.2f} s (limit {LATE_SHARE:.0%} of the {sync_s:g} s between them)"
        )
    failed = [d for d in decisions if _trouble(d) and needed_s <= d["t_s"] <= end_s]
    if failed:
        yield (
            f"the autoscaler could not see or act in {len(failed)} of {len(due)} decisions; at "
            f"{failed[0]['t_s']:.2f} s: {_trouble(failed[0])}"
        )


def _late_s(decision: dict[str, Any], sync_s: float) -> float:
    """How much later than due it was made: as it says itself, or by its time."""
    late_s = decision.get("late_s")
    on_grid_s = round(decision["t_s"] / sync_s) * sync_s
    return float(late_s) if isinstance(late_s, int | float) else float(decision["t_s"]) - on_grid_s


def _trouble(decision: dict[str, Any]) -> str:
    """Why it was not made as the models make it: in error, or without a signal that could not be read."""
    if decision.get("error"):
        return str(decision["error"])
    readings = decision.get("readings")
    blind = [s for s, value in readings.items() if value is None] if isinstance(readings, dict) else []
    return f"{' and '.join(blind)} had no reading" if blind else ""
