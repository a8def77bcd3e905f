"""The clock a queue keeps its work on: how much one pod would have done by now.

W(t) = ∫ r dt, with r the rate of one pod, so a piece of demand E that starts at W = w ends at W = w + E
whatever happens to the rate in between: a change of rate is a new slope of W and touches nothing in
service, and an outage is a slope of 0. A second clock, U, is the wall time during which r > 0.
"""

from __future__ import annotations

import math


class WorkClock:
    """W and U as functions of time, from the last turn on: where they stood then, and the rate since."""

    __slots__ = ("_from_s", "_from_u", "_from_w", "rate")

    def __init__(self, start_s: float, rate: float) -> None:
        self.rate = rate
        self._from_s, self._from_w, self._from_u = start_s, 0.0, 0.0

    @property
    def turned_s(self) -> float:
        """When the rate last changed; times before it count as it."""
        return self._from_s

    def w_at(self, time_s: float) -> float:
        """W at a time."""
        return self._from_w + self.rate * max(0.0, time_s - self._from_s)

    def u_at(self, time_s: float) -> float:
        """U at a time, seconds."""
        return self._from_u + (max(0.0, time_s - self._from_s) if self.rate > 0 else 0.0)

    def u_of(self, w: float) -> float:
        """U when W reaches ``w``, seconds."""
        return self._from_u + ((w - self._from_w) / self.rate if self.rate > 0 else 0.0)

    def time_of(self, w: float) -> float:
        """When W reaches ``w`` at this rate; inf if it never does."""
        if self.rate <= 0:
            return math.inf
        ahead = w - self._from_w
        return self._from_s + ahead / self.rate if ahead > 0 else self._from_s

    def turn(self, at_s: float, w: float, rate: float) -> None:
        """Go on at another rate from ``at_s``, where W is ``w``."""
        u = self.u_at(at_s)
        self._from_s, self._from_w, self._from_u = max(at_s, self._from_s), w, u
        self.rate = rate
