"""Which pods there are and from when each serves."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from domain.autoscaler import Pods

_ROUNDING_S = 1e-9


@dataclass(slots=True)
class Roster:
    """Groups of pods in the order in which they were ordered: (ready from, how many)."""

    groups: list[tuple[float, int]] = field(default_factory=list)

    @classmethod
    def of(cls, pods: int) -> Roster:
        """Pods that have been ready for ever."""
        return cls([(-math.inf, pods)])

    @property
    def total(self) -> int:
        """All pods, ready or not: the replica count."""
        return sum(count for _, count in self.groups)

    def ready(self, at_s: float) -> int:
        """Pods that serve at this time, as far as is ordered now."""
        return sum(count for since, count in self.groups if since <= at_s + _ROUNDING_S)

    def ready_between(self, start_s: float, end_s: float) -> list[float]:
        """The times after ``start_s`` and before ``end_s`` at which pods become ready, ascending."""
        return sorted({since for since, _ in self.groups if start_s + _ROUNDING_S < since < end_s})

    def starting(self, at_s: float) -> list[tuple[float, int]]:
        """The groups that do not serve yet at this time: (ready from, how many), as ordered."""
        return [(since, count) for since, count in self.groups if since > at_s + _ROUNDING_S]

    def seen(self, by_s: float) -> Pods:
        """As an autoscaler sees them that counts a pod's metric only if it was ready ``by_s``."""
        ready = self.ready(by_s)
        return Pods(ready, unready=self.total - ready)

    def set(self, replicas: int, ready_s: float) -> None:
        """Order more, to be ready then, or give up the newest."""
        missing = replicas - self.total
        if missing > 0:
            self.groups.append((ready_s, missing))
        while missing < 0:
            since, count = self.groups.pop()
            if count + missing > 0:
                self.groups.append((since, count + missing))
            missing += count

    def serve(self, pods: int, at_s: float) -> None:
        """So many pods serve from now, ``at_s``, and there are no others: those that start are given up."""
        self.groups = [(since, count) for since, count in self.groups if since <= at_s + _ROUNDING_S]
        self.set(pods, at_s)
