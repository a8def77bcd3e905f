"""When an autoscaler looks and when it decides: at absolute times, whatever a look took."""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.fleet import Fleet

FEWEST_LOOKS, MOST_LOOKS = 3, 12
"""Looks per sync period."""
SHORTEST_INTERVAL_S = 0.1


def looks_per_sync(fleet: Fleet) -> int:
    """The smallest number of looks per sync period, from three on, for which the edges of all windows fall
    on looks; three when none up to twelve does, values in between being interpolated."""
    most = min(MOST_LOOKS, math.floor(fleet.sync_period_s / SHORTEST_INTERVAL_S))
    edges = [fleet.metric_lag_s, *(fleet.metric_lag_s + fleet.window_s(signal) for signal in fleet.signals)]
    for looks in range(FEWEST_LOOKS, most + 1):
        interval_s = fleet.sync_period_s / looks
        if all(abs(edge / interval_s - round(edge / interval_s)) < 1e-6 for edge in edges):
            return looks
    return max(1, min(FEWEST_LOOKS, most))


@dataclass(frozen=True, slots=True)
class Due:
    """The decision to be made now: number ``number``, at ``at_s`` of the autoscaler's own time. It is made
    ``late_s`` late, and ``missed`` ones before it were never made. One that is not ``scheduled`` was asked
    for at ``at_s`` and cannot be late."""

    number: int
    at_s: float
    late_s: float
    missed: int
    scheduled: bool = True


@dataclass(frozen=True, slots=True)
class Agenda:
    """Decisions at ``epoch_s`` + k · ``every_s``, k = 1, 2, …; times are of one monotonic clock."""

    epoch_s: float
    every_s: float

    def before(self, now_s: float) -> int:
        """The number of the last decision that was due by now: 0 when none was."""
        return max(0, math.floor((now_s - self.epoch_s) / self.every_s + 1e-9))

    def at(self, number: int) -> float:
        """When a decision is due."""
        return self.epoch_s + number * self.every_s

    def due(self, now_s: float, last: int) -> Due | None:
        """What is to be decided now if ``last`` was the last decision made or passed over: the latest that
        is due, and only that one; None while there is none."""
        number = self.before(now_s)
        if number <= last:
            return None
        at_s = number * self.every_s
        return Due(number, at_s, max(0.0, now_s - self.epoch_s - at_s), number - last - 1)


def next_look(agenda: Agenda, looks: int, now_s: float) -> tuple[float, bool]:
    """The next time after ``now_s`` on the grid of looks, never before the epoch, and whether a decision
    falls on it (which looks itself)."""
    interval_s = agenda.every_s / looks
    tick = max(0, math.floor((now_s - agenda.epoch_s) / interval_s + 1e-9) + 1)
    return agenda.epoch_s + tick * interval_s, tick > 0 and tick % looks == 0
