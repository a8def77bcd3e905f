"""Where a service stops coming back, between utilizations at which it did and did not."""

from __future__ import annotations

import math

from analysis.trigger.result import Interval, Word

NARROW, NARROW_SHARE = 0.05, 0.15
"""Wide enough to go on: more than this, or than this share of its middle, so that A = 1/ρ* is known to a few
percent where the threshold is low, too."""
MOST_SHOTS = 7
LOWEST, HIGHEST = 0.05, 0.95
BELOW, ABOVE = 0.9, 1.1
"""Where to look first, in units of 1/A, if A has been measured."""


def came_back(verdict: Word) -> bool | None:
    """Whether a service comes back at the utilization of a shot with this verdict; None: nobody knows."""
    return {"not vulnerable": True, "recovers": True, "trapped": False}.get(verdict)


class ThresholdSearch:
    """Which utilization to try next, from what came of those tried; the first was the asked one.

    Between ``low``, the highest at which the service came back, and ``high``, the lowest at which it did not.
    """

    def __init__(self) -> None:
        self.low: float | None = None
        self.high: float | None = None
        self.shots = 0
        self.over = False
        """Whether a shot was undecided: nothing more can be learnt then."""
        self._amplification: float | None = None

    def note(self, utilization: float, came_back: bool | None, amplification: float | None = None) -> None:
        """What came of a shot (None: undecided), and the A that it measured."""
        self.shots += 1
        self._amplification = amplification or self._amplification
        if came_back is None:
            self.over = True
        elif came_back:
            self.low = utilization if self.low is None else max(self.low, utilization)
        else:
            self.high = utilization if self.high is None else min(self.high, utilization)

    @property
    def next_utilization(self) -> float | None:
        """What to try next; None when the bracket is narrow, or no more shots are allowed."""
        floor = LOWEST if self.low is None else self.low
        top = HIGHEST if self.high is None else self.high
        # Half-way by their ratio, since A is one over it. A first shot beyond these ends leaves no room on
        # that side.
        if self.over or self.shots >= MOST_SHOTS or _narrow(floor, top):
            return None
        if self._amplification is not None:
            guess = (BELOW if self.low is None else ABOVE) / self._amplification
            if (self.low is None or self.high is None) and floor < guess < top:
                return guess
        return math.sqrt(floor * top)

    @property
    def threshold(self) -> Interval | None:
        """The middle of the bracket and its ends; None if it is open on a side."""
        if self.low is None or self.high is None or self.low >= self.high:
            return None
        return Interval((self.low + self.high) / 2.0, self.low, self.high)


def _narrow(low: float, high: float) -> bool:
    return high - low < min(NARROW, NARROW_SHARE * (low + high) / 2.0)
