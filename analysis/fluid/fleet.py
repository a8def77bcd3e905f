"""The autoscaled fleet in the fluid model: from one decision to the next, and what is decided on."""

from __future__ import annotations

import numpy as np

from analysis.fluid.run import Run
from analysis.result import Floats
from domain.autoscaler import History
from domain.fleet import Fleet, Signal
from domain.roster import Roster


def advance_fleet(run: Run, fleet: Fleet, pods: int, rate_per_pod: float) -> None:
    """Run all steps, deciding every sync period (at the nearest grid point) by the fleet's rules."""
    roster, history = Roster.of(pods), History()
    start, decisions = 0, 0
    while start < run.steps:
        decisions += 1
        stop = min(run.steps, max(start + 1, round(decisions * fleet.sync_period_s / run.step_s)))
        run.advance(start, stop, _serving(roster, run.grid_s[start : stop + 1]))
        start, now_s = stop, float(run.grid_s[stop])
        readings = {signal: _reading(run, fleet, signal, stop) for signal in fleet.signals}
        seen = roster.seen(now_s - fleet.metric_lag_s - fleet.cpu_window_s)
        ordered, history = fleet.order(seen, readings, rate_per_pod, history, now_s)
        roster.set(ordered, now_s + fleet.dead_time_s)


def _serving(roster: Roster, grid_s: Floats) -> Floats:
    """Mean number of ready pods in each step of the grid."""
    step = grid_s[1] - grid_s[0]
    pods = np.zeros(grid_s.size - 1)
    for since_s, count in roster.groups:
        pods += count * np.clip((grid_s[1:] - since_s) / step, 0.0, 1.0)
    return pods


def _reading(run: Run, fleet: Fleet, signal: Signal, now: int) -> float | None:
    """The signal's mean over its window; None before there is one."""
    stop = now - round(fleet.metric_lag_s / run.step_s)
    start = max(0, stop - max(1, round(fleet.window_s(signal) / run.step_s)))
    if stop <= start:
        return None
    if signal == "cpu":
        return float(run.busy(start, stop).mean())
    counts = run.demand if signal == "first" else run.ingress
    return float(counts[start:stop].mean()) / run.step_s
