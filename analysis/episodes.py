"""Episodes of failure: when did the service begin to fail, and when did it stop?

An *episode* is a stretch in which fewer than half of the jobs are answered in time, for at least one
timeout. It begins with the first failing attempt from which on at least half of the attempts of the next
timeout fail. It ends, *recovered*, with the last failing attempt after which failing stays below 5%
for max(5T, 10% of what is left of the window), or up to the window's end if that is at least 2T away.
A few scattered timeouts are no episode. A job whose first attempt the client itself refused counts as one
that failed at that moment: its user had no answer either. A copy that another copy's answer ended counts
for nothing: it has neither failed nor answered. Attempts are placed by when they were sent, jobs by when
they were due; an attempt sent less than T before the trace ends is not judged, because its timeout could
not have been seen. All times here are seconds of the wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.result import Floats
from analysis.trace import OUTCOMES, Attempts, Mask
from domain.attempts import Outcome

FAILING_JOBS = 0.5
"""Share of jobs answered in time below which the service is failing."""
QUIET_FAILING = 0.05
"""Share of failing attempts below which the service is well."""
HOLD_TIMEOUTS = 5.0
HOLD_SHARE = 0.1
LEAST_HOLD_TIMEOUTS = 2.0
BUCKET_JOBS = 10
"""Jobs a bucket should hold on average, so that a ratio means something."""
_CANCELLED = OUTCOMES.index(Outcome.CANCELLED.value)


@dataclass(frozen=True, slots=True)
class Episode:
    """From the first to the last failing attempt; ``recovered`` says whether the service is well after it.

    Without recovery ``end_s`` is the end of what could be judged.
    """

    start_s: float
    end_s: float
    recovered: bool


@dataclass(frozen=True, slots=True)
class Window:
    """The stretch of the trace that is judged, and the timeout that scales every criterion."""

    start_s: float
    end_s: float
    timeout_s: float

    @classmethod
    def judged(cls, attempts: Attempts, start_s: float, end_s: float, timeout_s: float) -> Window:
        """As much of the stretch as the trace can tell: attempts sent T before its end are known."""
        return cls(start_s, max(start_s, min(end_s, attempts.end_s - timeout_s)), timeout_s)


@dataclass(frozen=True, slots=True)
class _Sends:
    """Attempts sent in the window, and jobs refused, by that time, with running counts of failures."""

    sent_s: Floats
    failing: Mask
    failures: Floats

    @classmethod
    def of(cls, attempts: Attempts, window: Window) -> _Sends:
        counted = (attempts.sent | attempts.first) & (attempts.outcome != _CANCELLED)
        inside = counted & (attempts.sent_s >= window.start_s) & (attempts.sent_s <= window.end_s)
        order = np.argsort(attempts.sent_s[inside], kind="stable")
        # An attempt still open at the end of the trace, a timeout after it was sent, has failed.
        failing = ~attempts.ok[inside][order]
        return cls(
            attempts.sent_s[inside][order],
            failing,
            np.concatenate([[0.0], np.cumsum(failing, dtype=np.float64)]),
        )

    def after(self, begin_s: Floats, end_s: Floats | float) -> tuple[Floats, Floats]:
        """Attempts and failures sent in (begin, end], for each begin."""
        first = np.searchsorted(self.sent_s, begin_s, side="right")
        last = np.maximum(first, np.searchsorted(self.sent_s, end_s, side="right"))
        return (last - first).astype(np.float64), self.failures[last] - self.failures[first]


def find_episodes(attempts: Attempts, window: Window) -> list[Episode]:
    """Every episode of failure in the window, in order; only the last can lack its recovery."""
    sends = _Sends.of(attempts, window)
    failed_at = sends.sent_s[sends.failing]
    quiet_from = failed_at[_is_quiet(sends, failed_at, window)]
    count, failed = sends.after(failed_at, failed_at + window.timeout_s)
    onsets = failed_at[(count > 0) & (failed >= FAILING_JOBS * count)]
    episodes: list[Episode] = []
    for start, end in _failing_stretches(attempts, window):
        if episodes and start <= episodes[-1].end_s:
            continue
        onset = onsets[(onsets >= start - window.timeout_s) & (onsets <= end)]
        begin = float(onset[0]) if onset.size else start
        after = quiet_from[quiet_from >= max(begin, end - window.timeout_s)]
        episodes.append(
            Episode(begin, float(after[0]), True) if after.size else Episode(begin, window.end_s, False)
        )
        if not after.size:
            break
    return episodes


def last_failure_s(attempts: Attempts, window: Window) -> float | None:
    """The failing attempt of the window after which it stays well to the end; None if it does not.

    For a window that begins in the middle of an episode. Its own start if nothing in it fails.
    """
    sends = _Sends.of(attempts, window)
    candidates = np.concatenate([[window.start_s], sends.sent_s[sends.failing]])
    quiet = candidates[_is_quiet(sends, candidates, window)]
    if not quiet.size:
        return None
    first = float(quiet[0])
    # Quiet holds for some timeouts only: full demand that comes back later may tip it over again.
    relapses = find_episodes(attempts, Window(first, window.end_s, window.timeout_s))
    if not relapses:
        return first
    return relapses[-1].end_s if relapses[-1].recovered else None


def _is_quiet(sends: _Sends, moments: Floats, window: Window) -> Mask:
    """Whether failing stays below 5% after each moment, for as long as recovery demands."""
    left = window.end_s - moments
    hold = np.minimum(np.maximum(HOLD_TIMEOUTS * window.timeout_s, HOLD_SHARE * left), left)
    held, held_failed = sends.after(moments, moments + hold)
    soon, soon_failed = sends.after(moments, moments + window.timeout_s)
    # The next timeout is looked at alone, or a long hold would hide the end of the episode in its 5%.
    return np.asarray(
        (left >= LEAST_HOLD_TIMEOUTS * window.timeout_s)
        & (soon > 0)
        & (soon_failed <= np.maximum(1.0, QUIET_FAILING * soon))
        & (held_failed < QUIET_FAILING * held)
    )


def _failing_stretches(attempts: Attempts, window: Window) -> list[tuple[float, float]]:
    """Stretches of at least a timeout in which fewer than half of the jobs are answered in time."""
    due = attempts.job_planned_s
    inside = (due >= window.start_s) & (due <= window.end_s)
    length = window.end_s - window.start_s
    if length <= 0 or not inside.any():
        return []
    width = max(window.timeout_s / 2.0, BUCKET_JOBS * length / float(inside.sum()))
    buckets = max(1, round(length / width))
    edges = np.linspace(window.start_s, window.end_s, buckets + 1)
    jobs, _ = np.histogram(due[inside], edges)
    answered, _ = np.histogram(due[inside & attempts.job_answered], edges)
    bad = (jobs > 0) & (answered < FAILING_JOBS * jobs)
    changes = np.flatnonzero(np.diff(np.concatenate([[False], bad, [False]]).astype(np.int8)))
    stretches = [(float(edges[a]), float(edges[b])) for a, b in zip(changes[::2], changes[1::2], strict=True)]
    return [(a, b) for a, b in stretches if b - a >= window.timeout_s * (1 - 1e-9)]
