"""Poisson arrivals whose rate is changed while they come."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

_CHUNK = 1024


class SteeredSchedule:
    """When jobs arrive, in seconds from the start, at a rate that ``change`` sets from a moment on.

    Arrivals are the points of a Poisson process of rate 1 seen through the cumulative rate Λ(t), the integral
    of the rate up to t. As that process has no memory, what is still to come depends on nothing that
    happened before, whatever the changes were decided by; and the same seed gives the same underlying draws.
    Source: Çinlar, "Introduction to Stochastic Processes" (1975), the time-change of a Poisson process.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._rate_per_s = 0.0
        self._from_s = 0.0
        self._from_mark = 0.0
        """Λ at ``_from_s``, when the rate was last changed."""
        self._last_mark = 0.0
        self._marks: NDArray[np.float64] = np.empty(0)
        """Points of the process of rate 1, on the axis of Λ, whose times are the end of ``_times``."""
        self._times: list[float] = []
        """First what is late from before the last change, then what comes at the rate of now."""
        self._late = 0
        self._position = 0
        self._before = 0

    @property
    def next_s(self) -> float | None:
        """When the next job is due; None while the rate is zero."""
        return self._times[self._position] if self._position < len(self._times) else None

    def take(self) -> float:
        """The next planned start, which is then behind us. There must be one."""
        planned_s = self._times[self._position]
        self._position += 1
        if self._position == len(self._times) and self._rate_per_s > 0:
            self._line_up([], self._draw())
        return planned_s

    def due_by(self, now_s: float) -> int:
        """How many jobs are due by now, taken or not; exact up to a chunk of a thousand not yet taken."""
        return self._before + max(self._position, bisect_right(self._times, now_s))

    def change(self, now_s: float, rate_per_s: float) -> None:
        """From now on ``rate_per_s``. Jobs that were due before and have not been taken stay due."""
        late, marks = self._split(now_s)
        self._from_mark = self._reached(now_s)
        self._from_s, self._rate_per_s = now_s, rate_per_s
        self._line_up(late, marks)

    def clear(self, now_s: float) -> None:
        """From now on none, and none of those that were due: they are not wanted any more."""
        _, marks = self._split(now_s)
        self._from_mark = self._reached(now_s)
        self._from_s, self._rate_per_s = now_s, 0.0
        self._line_up([], marks)

    def _split(self, now_s: float) -> tuple[list[float], NDArray[np.float64]]:
        """What is due by now and not taken, and the points that are still to come."""
        reached, marks, times = self._reached(now_s), self._marks, self._times
        while self._rate_per_s > 0 and self._last_mark <= reached:
            more = self._draw()
            marks, times = np.concatenate([marks, more]), times + self._times_of(more)
        taken = max(self._position - self._late, 0)
        due = max(int(np.searchsorted(marks, reached, side="right")), taken)
        return times[self._position : self._late + due], marks[due:]

    def _line_up(self, late: list[float], marks: NDArray[np.float64]) -> None:
        self._before += self._position
        self._position = 0
        self._late = len(late)
        if self._rate_per_s > 0 and not marks.size:
            marks = self._draw()
        self._marks = marks
        self._times = late + (self._times_of(marks) if self._rate_per_s > 0 else [])

    def _draw(self) -> NDArray[np.float64]:
        marks: NDArray[np.float64] = self._rng.exponential(1.0, _CHUNK).cumsum() + self._last_mark
        self._last_mark = float(marks[-1])
        return marks

    def _reached(self, now_s: float) -> float:
        return self._from_mark + self._rate_per_s * (now_s - self._from_s)

    def _times_of(self, marks: NDArray[np.float64]) -> list[float]:
        times: list[float] = (self._from_s + (marks - self._from_mark) / self._rate_per_s).tolist()
        return times
