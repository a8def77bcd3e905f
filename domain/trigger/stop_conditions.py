"""When a trigger test stops itself: pure rules over samples; time is an argument, in seconds of one clock.

Collapse of the target is the finding and is no stop condition. What is watched here stands beside it: a
bystander's health, a Prometheus query, and the error ratio before the spike. A rule that has nothing to go by
has failed: no sample, no value and no number never pass.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

HEALTH_TIMEOUT_S = 1.0
SILENCE_S = 3.0
"""No sample for so long is a failure, however short the condition's own window is. A sample bears the time at
which the look began, so the next is known at most two timeouts after it (1 s each; the polling period is
shorter); the rest is room for a busy machine."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One look at a condition at ``t_s``: whether it was well, and what was seen, in words."""

    t_s: float
    condition: str
    well: bool
    seen: str


class ForWindow:
    """A condition that has failed without interruption for ``for_s`` means stop.

    ``condition`` and ``limit`` are words for the sentence. Silence fails too: with no sample in the last
    ``for_s`` (but at least ``SILENCE_S``) the condition has failed for all that time. ``start_s`` is when the
    watching began.
    """

    def __init__(self, condition: str, limit: str, for_s: float, start_s: float = 0.0) -> None:
        self.condition = condition
        self.limit = limit
        self.for_s = for_s
        self._heard_s = start_s
        self._failing_since_s: float | None = None
        self._seen = "nothing yet"

    def take(self, sample: Sample) -> None:
        """Note a sample; they come in the order of their times."""
        self._heard_s = max(self._heard_s, sample.t_s)
        self._seen = sample.seen
        if sample.well:
            self._failing_since_s = None
        elif self._failing_since_s is None:
            self._failing_since_s = sample.t_s

    def tripped(self, now_s: float) -> str | None:
        """The sentence that says why to stop; None while there is no reason to."""
        since_s = self._failing_since_s
        if since_s is not None and now_s - since_s >= self.for_s:
            return self._sentence(self._seen, now_s, since_s)
        if now_s - self._heard_s >= max(self.for_s, SILENCE_S):
            return self._sentence("no sample", now_s, self._heard_s)
        return None

    def _sentence(self, seen: str, now_s: float, since_s: float) -> str:
        return (
            f"{self.condition}: {seen} (limit: {self.limit}), failing for {now_s - since_s:.1f} s, "
            f"since {since_s:.1f} s, of {self.for_s:g} s that it may"
        )


def judge_health(t_s: float, condition: str, status: int | None, error: str = "") -> Sample:
    """A bystander is well if it answers 2xx in time; ``status`` None: it did not answer, for ``error``.

    A redirect is no answer: it is not followed, and where it leads nobody has judged."""
    if status is None:
        return Sample(t_s, condition, False, error or "no answer")
    return Sample(t_s, condition, 200 <= status <= 299, f"status {status}")


def judge_query(t_s: float, condition: str, value: float | None, error: str = "") -> Sample:
    """A query says stop if it is above 0. No value (``None``, for ``error``), NaN and infinities say so
    too."""
    if value is None:
        return Sample(t_s, condition, False, error or "no value")
    return Sample(t_s, condition, math.isfinite(value) and value <= 0, f"value {value:g}")
