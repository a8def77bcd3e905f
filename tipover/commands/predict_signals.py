"""What a fleet could be scaled on, as a table and as JSON: Definition 9's region by the fluid model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from analysis.fleets.region import Region, frontier
from analysis.wording import number

if TYPE_CHECKING:
    from rich.console import Console

HEADINGS = ("outcome", "recovery", "most pods", "N/N*", "at the end", "lost", "pod-seconds")
NOTE = (
    "Over {watched} s after the step. N*: pods the demand needs at the target; lost: jobs not answered "
    "in time, in seconds of the demand (…: trapped, it goes on losing). ●: on the frontier, no other signal "
    "is better in both N/N* and lost."
)


def signals_json(region: Region | None) -> dict[str, Any] | None:
    """How long was watched, and one entry a signal or pair of signals; None where there is no region."""
    if region is None:
        return None
    best = frontier(region.points)
    points = [
        {
            "signals": point.name.split(" + "),
            "own": point.own,
            "outcome": point.outcome,
            "on_frontier": point in best,
            "values": dict(point.values),
        }
        for point in region.points
    ]
    return {"watched_s": region.watched_s, "points": points}


def print_signals(out: Console, region: Region | None) -> None:
    """The table; nothing without a region."""
    from rich.table import Table

    if region is None:
        return
    best = frontier(region.points)
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("scaled on", style="cyan", no_wrap=True)
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading == "outcome" else "right", no_wrap=True)
    for point in region.points:
        values = point.values
        recovery = values.get("recovery_s")
        table.add_row(
            f"{point.name}{' (this)' if point.own else ''}",
            point.outcome,
            "never" if point.is_trapped else number(recovery) + (" s" if recovery is not None else ""),
            number(values.get("peak_pods")),
            number(point.over_provisioning) + (" ●" if point in best else "  "),
            number(values.get("settled_pods")),
            f"{number(point.lost_s)} s" + ("…" if point.is_trapped else ""),
            number(values.get("pod_seconds")),
            style="bold" if point.own else None,
        )
    out.print()
    out.print(table)
    out.print(NOTE.format(watched=number(region.watched_s)), style="dim")
    out.print()
