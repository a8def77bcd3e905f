"""Two counts over the last stretch of time, in a ring of bins: the sliding window of breakers.

Bins lie on a fixed grid of ``span_s``/``bins`` seconds, so what is counted is the bin that is filling and
the ``bins`` − 1 before it: the last (1 − 1/``bins``) to 1 times ``span_s``. A window takes ``size(bins)``
floats of the state, from ``at``: the number of the filling bin, the two totals, then the bins in pairs.
Counts are whole numbers, so adding and taking away leaves no rounding behind.
"""

from __future__ import annotations

import math

from domain.rule import Numbers, State

_BIN, _FIRST, _SECOND, _RING = range(4)


def size(bins: int) -> int:
    """Floats of state of a window."""
    return _RING + 2 * bins


def clear(s: State, at: int) -> None:
    """Nothing has been counted; the bins themselves are emptied by the next ``advance``."""
    s[at + _BIN] = -math.inf
    s[at + _FIRST] = 0.0
    s[at + _SECOND] = 0.0


def advance(s: State, at: int, bins: int, span_s: float, now_s: float) -> None:
    """Forget what is out of the window at ``now_s``; a time before the filling bin counts as in it."""
    number = float(math.floor(now_s * bins / span_s))
    steps = number - s[at + _BIN]
    if steps <= 0.0:
        return
    empty = min(steps, float(bins))
    while empty > 0.0:
        slot = at + _RING + 2 * (int(number - empty + 1.0) % bins)
        s[at + _FIRST] -= s[slot]
        s[at + _SECOND] -= s[slot + 1]
        s[slot] = 0.0
        s[slot + 1] = 0.0
        empty -= 1.0
    if steps == math.inf:  # the first since ``clear``: the bins held what the totals no longer had
        s[at + _FIRST] = 0.0
        s[at + _SECOND] = 0.0
    s[at + _BIN] = number


def add(s: State, at: int, bins: int, first: float, second: float) -> None:
    """Count in the filling bin; ``advance`` comes first."""
    slot = at + _RING + 2 * (int(s[at + _BIN]) % bins)
    s[slot] += first
    s[slot + 1] += second
    s[at + _FIRST] += first
    s[at + _SECOND] += second


def first(s: Numbers, at: int) -> float:
    """The first total."""
    return s[at + _FIRST]


def second(s: Numbers, at: int) -> float:
    """The second total."""
    return s[at + _SECOND]
