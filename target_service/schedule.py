"""What is to come of a fleet's capacity: changes by ``PUT /control``, and pods that start after a dead time.

One place says how many pods serve when; whoever serves (a queue on its own clock, pods of their own queues,
threads) takes the changes from it in the order in which they fall due.
"""

from __future__ import annotations

import math
from bisect import insort

from domain.roster import Roster
from target_service.settings import CapacityChange


class Schedule:
    """Times are seconds on one monotonic clock.

    ``next_s`` is when the next change falls due, inf if none does; ``roster`` is the fleet as ordered;
    ``serving`` is how many pods serve by the changes that were taken. Pods ordered at t serve from exactly
    t + ``dead_time_s``; what is given up goes at once, newest first, so those that start before those that
    serve. A change by ``PUT /control`` knows no dead time: so many pods serve from then on, and
    those that start at that time are given up.
    """

    __slots__ = (
        "_changes",
        "_from_s",
        "_placed",
        "_pod_s",
        "_start_s",
        "dead_time_s",
        "next_s",
        "roster",
        "serving",
    )

    def __init__(self, pods: int, start_s: float = 0.0, dead_time_s: float = 0.0) -> None:
        self.dead_time_s = dead_time_s
        self.roster = Roster.of(pods)
        self.serving = pods
        self.next_s = math.inf
        self._changes: list[tuple[float, int, CapacityChange]] = []
        self._placed = 0
        # When the roster next says another number than `serving`.
        self._start_s = math.inf
        self._pod_s, self._from_s = 0.0, start_s

    @property
    def pending(self) -> int:
        """How many changes by ``place`` are still to come."""
        return len(self._changes)

    @property
    def replicas(self) -> int:
        """All pods ordered, serving or not."""
        return self.roster.total

    def starting(self) -> list[tuple[float, int]]:
        """The pods ordered that do not serve by the changes taken: (ready from, how many), soonest first."""
        return [(since, count) for since, count in self.roster.groups if since >= self._start_s]

    def pod_seconds(self, now_s: float) -> float:
        """∫ serving pods dt from the start to ``now_s``, once all that is due by then was taken.

        A change that is told late corrects it, as it corrects the work done.
        """
        return self._pod_s + self.serving * max(0.0, now_s - self._from_s)

    def place(self, at_s: float, change: CapacityChange) -> None:
        """A change falls due at ``at_s``, which may be past."""
        self._placed += 1
        insort(self._changes, (at_s, self._placed, change))
        self._plan()

    def cancel(self) -> None:
        """Forget every change by ``place`` that was not taken. Pods that start go on doing so."""
        self._changes.clear()
        self._plan()

    def scale(self, now_s: float, replicas: int) -> None:
        """Order so many pods in all, once everything that is due by ``now_s`` was taken."""
        now_s = max(now_s, self._from_s)
        self.roster.set(replicas, now_s + self.dead_time_s)
        self._start_s = now_s if self.roster.ready(now_s) != self.serving else self._next_start_s(now_s)
        self._plan()

    def take(self, not_before_s: float) -> tuple[float, CapacityChange]:
        """The change that falls due next and its time, or ``not_before_s`` if that is later."""
        if self._start_s == self.next_s:
            at_s, change = self._start_s, CapacityChange(pods=self.roster.ready(self._start_s))
            self._start_s = self._next_start_s(at_s)
            at_s = max(at_s, not_before_s)
        else:
            at_s, _, change = self._changes.pop(0)
            at_s = max(at_s, not_before_s)
            if change.pods is not None:
                self.roster.serve(change.pods, at_s)
                self._start_s = math.inf
        if change.pods is not None:
            self._serve(at_s, change.pods)
        self._plan()
        return at_s, change

    def _serve(self, at_s: float, pods: int) -> None:
        self._pod_s += self.serving * (at_s - self._from_s)
        self._from_s = at_s
        self.serving = pods

    def _next_start_s(self, after_s: float) -> float:
        return min((since for since, _ in self.roster.starting(after_s)), default=math.inf)

    def _plan(self) -> None:
        change_s = self._changes[0][0] if self._changes else math.inf
        self.next_s = min(change_s, self._start_s)
