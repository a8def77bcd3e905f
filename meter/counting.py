"""The counts themselves: plain integers that one thread writes and any thread may read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

DEFAULT_BUCKETS_S = (
    0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0
)  # fmt: skip
"""Upper bounds of the duration histogram: 1 ms to 120 s, about two a factor of five."""


class AttemptCounts:
    """An ``AttemptObserver`` that counts: attempts by first and retry, outcomes, durations, refusals.

    Counted at the start of each attempt, so a server that hangs does not hide what is sent to it.
    Raises ValueError unless ``buckets_s`` ascend strictly.
    """

    def __init__(self, buckets_s: Sequence[float] = DEFAULT_BUCKETS_S) -> None:
        bounds = tuple(float(bound) for bound in buckets_s)
        if not bounds or not all(low < high for low, high in pairwise(bounds)):
            raise ValueError(f"histogram buckets must ascend strictly (got {bounds})")
        self.bounds_s = bounds
        self.first = 0
        self.retries = 0
        self.finished = 0
        self.outcomes: dict[str, int] = {}
        self.refusals: dict[str, int] = {}
        self.duration_sum_s = 0.0
        self._buckets = [0] * (len(bounds) + 1)

    def started(self, attempt: int) -> None:
        """Attempt number ``attempt`` (1-based) begins."""
        if attempt > 1:
            self.retries += 1
        else:
            self.first += 1

    def ended(self, attempt: int, outcome: str, duration_s: float) -> None:  # noqa: ARG002
        """It ended with ``outcome`` after ``duration_s`` seconds."""
        self.finished += 1
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        self.duration_sum_s += duration_s
        self._buckets[bisect_left(self.bounds_s, duration_s)] += 1

    def refused(self, reason: str) -> None:
        """An attempt was wanted and not sent."""
        self.refusals[reason] = self.refusals.get(reason, 0) + 1

    @property
    def ingress(self) -> int:
        """Attempts begun: first ones and retries."""
        return self.first + self.retries

    @property
    def inflight(self) -> int:
        """Attempts begun and not ended."""
        return self.first + self.retries - self.finished

    def cumulative_durations(self) -> list[tuple[float, int]]:
        """(upper bound, attempts at most that long) for every bound, and last for infinity: all of them."""
        counts = self._buckets.copy()
        total = 0
        rows = []
        for bound, count in zip((*self.bounds_s, float("inf")), counts, strict=True):
            total += count
            rows.append((bound, total))
        return rows
