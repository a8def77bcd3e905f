"""What was seen of things that are read now and then: counters that only grow, and pods that are ready.

Times are seconds on any one clock. Both histories hold no more than they can still be asked for.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from domain.autoscaler import Pods
from domain.roster import Roster

MOST_SAMPLES = 10_000
"""More than any sensible sampling leaves in a window; of more, the oldest go first."""


class Cumulative:
    """The history of one cumulative counter, for its mean rate over windows that ended up to some time ago.

    A value below the one before means that whoever counts began again at 0, as Prometheus takes it: what it
    shows then has been added since. Samples more than ``gap_s`` apart are not joined: nobody knows how what
    came between is spread, and the history begins again after them.
    """

    def __init__(self, keep_s: float, *, gap_s: float = math.inf) -> None:
        """``keep_s``: how long before the newest sample a window may begin."""
        self._keep_s = keep_s
        self._gap_s = gap_s
        self._samples: deque[tuple[float, float]] = deque(maxlen=MOST_SAMPLES)
        self._shown = 0.0

    def __len__(self) -> int:
        """How many samples it holds."""
        return len(self._samples)

    @property
    def newest_s(self) -> float | None:
        """When the last sample was taken; None before there is one."""
        return self._samples[-1][0] if self._samples else None

    def add(self, at_s: float, value: float) -> None:
        """The counter shows ``value`` at ``at_s``; a sample that is not newer than the last is left out.

        Raises ``ValueError`` for what no counter can show.
        """
        if not 0.0 <= value < math.inf:
            raise ValueError(f"value: must be finite and at least 0 (got {value!r})")
        if not self._samples:
            self._samples.append((at_s, 0.0))
        elif at_s <= self._samples[-1][0]:
            return
        elif at_s - self._samples[-1][0] > self._gap_s:
            self._samples.clear()
            self._samples.append((at_s, 0.0))
        else:
            grown = value - self._shown if value >= self._shown else value
            self._samples.append((at_s, self._samples[-1][1] + grown))
        self._shown = value
        while len(self._samples) > 1 and self._samples[1][0] <= at_s - self._keep_s:
            self._samples.popleft()

    def rate(self, start_s: float, stop_s: float, *, slack_s: float = 0.0) -> float | None:
        """Mean growth per second from ``start_s`` to ``stop_s``, values between samples interpolated.

        A window that begins before the history does is cut to it. One that ends after the newest sample
        ends there, if that is at most ``slack_s`` too early. None when nothing of the window is left.
        """
        newest_s = self.newest_s
        if newest_s is None or newest_s + slack_s < stop_s:
            return None
        start_s, stop_s = max(start_s, self._samples[0][0]), min(stop_s, newest_s)
        if stop_s <= start_s:
            return None
        return (self._at(stop_s) - self._at(start_s)) / (stop_s - start_s)

    def _at(self, at_s: float) -> float:
        for (before_s, low), (after_s, high) in pairwise(self._samples):
            if before_s <= at_s <= after_s:
                return low + (high - low) * ((at_s - before_s) / (after_s - before_s))
        return self._samples[-1][1]


class ReadySince:
    """How many pods have been ready since when, from looks at how many are.

    Pods that are fewer than at the last look are the newest, as in ``Roster``. Those of the first look
    count as ready for ever.
    """

    def __init__(self) -> None:
        self._roster = Roster()
        self._looked = False

    def look(self, at_s: float, ready: int, starting: Sequence[tuple[int, float]] = ()) -> None:
        """At ``at_s`` so many pods are ready; of ``starting`` (how many, ready from when) it is known when
        they will be."""
        expected = [group for group in self._roster.groups if group[0] <= at_s]
        serving = Roster(expected)
        serving.set(ready, at_s if self._looked else -math.inf)
        self._roster = Roster([*serving.groups, *sorted((since, pods) for pods, since in starting)])
        self._looked = True

    def seen(self, replicas: int, by_s: float) -> Pods:
        """Of ``replicas`` pods, those that were ready ``by_s`` and the rest, which have no say about CPU.

        Nobody may ask for an earlier time afterwards: what is older is remembered as one.
        """
        groups = self._roster.groups
        old = sum(count for since, count in groups if since <= by_s)
        newer = [group for group in groups if group[0] > by_s]
        self._roster = Roster([(-math.inf, old), *newer] if old else newer)
        ready = min(old, replicas)
        return Pods(ready, unready=replicas - ready)
