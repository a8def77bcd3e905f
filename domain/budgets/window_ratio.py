"""A ratio of all requests in a sliding window: retries ≤ β · (first attempts + retries), so A = 1/(1 − β).

The window is a ring of ``BINS`` bins, each a ``BINS``-th of it wide and cut at whole multiples of its width:
it reaches from the present moment back over the 19 bins before the present one, so over 95% to 100% of
``window_s``. Counted are first attempts, when they are sent, and retries, when they are allowed: a yes adds
to both sides at once, so what is allowed can never be more than the ratio, however many are asked for before
the first is sent. Source: "Site Reliability Engineering" (O'Reilly, 2016), ch. 21, per-client retry budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from domain.budgets.codes import REFUSED, ROUNDING, WINDOW_RATIO
from domain.rule import Numbers, State, padded

BINS = 20
_RATIO, _BIN_S = 0, 1
_BIN, _ALL, _RETRIES, _ALL_BINS = 0, 1, 2, 3
_RETRY_BINS = _ALL_BINS + BINS
_SIZE = _RETRY_BINS + BINS
_ROUNDING = ROUNDING
_LONG_AGO = -1e18


@dataclass(frozen=True, slots=True)
class WindowRatioBudget:
    """Of all requests in the last ``window_s`` seconds at most ``ratio`` may be retries."""

    ratio: float = 0.1
    window_s: float = 10.0
    kind = "window-ratio"
    code = WINDOW_RATIO
    state_size = _SIZE

    def __post_init__(self) -> None:
        if not 0.0 <= self.ratio <= 1.0:
            raise ValueError(f"ratio: must lie in [0, 1] (got {self.ratio!r})")
        if not 0.0 < self.window_s < math.inf:
            raise ValueError(f"window_s: must be positive and finite (got {self.window_s!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """Ratio and width of a bin in seconds."""
        return padded(float(self.ratio), self.window_s / BINS)

    def scaled(self, factor: float) -> Self:
        """The same rule in another unit of time."""
        return replace(self, window_s=self.window_s * factor)


def begin(s: State) -> None:
    """Nothing has been sent."""
    at = 0
    while at < _SIZE:
        s[at] = 0.0
        at += 1
    s[_BIN] = _LONG_AGO


def price(p: Numbers, s: State, now_s: float) -> float:
    """1, which is counted at once, if the retries stay within the ratio with it."""
    _move_on(p, s, now_s)
    if s[_RETRIES] + 1.0 > p[_RATIO] * (s[_ALL] + 1.0) + _ROUNDING:
        return REFUSED
    at = int(s[_BIN]) % BINS
    _count(s, at, 1.0)
    s[_RETRIES] += 1.0
    s[_RETRY_BINS + at] += 1.0
    return 1.0


def note_sent(p: Numbers, s: State, now_s: float, attempt: int) -> None:
    """A first attempt counts as a request; a retry has been counted when it was allowed."""
    if attempt == 1:
        _move_on(p, s, now_s)
        _count(s, int(s[_BIN]) % BINS, 1.0)


def take_back(s: State) -> None:
    """The newest retry that is counted no longer is."""
    back = 0
    while back < BINS:
        at = (int(s[_BIN]) - back) % BINS
        if s[_RETRY_BINS + at] > 0.0:
            _count(s, at, -1.0)
            s[_RETRIES] -= 1.0
            s[_RETRY_BINS + at] -= 1.0
            return
        back += 1


def _count(s: State, at: int, change: float) -> None:
    s[_ALL] += change
    s[_ALL_BINS + at] += change


def _move_on(p: Numbers, s: State, now_s: float) -> None:
    """Forget the bins that have left the window. A clock that stands still or goes back changes nothing."""
    newest = math.floor(now_s / p[_BIN_S])
    back = 0
    while back < BINS and newest - back > s[_BIN]:
        at = (newest - back) % BINS
        s[_ALL] -= s[_ALL_BINS + at]
        s[_RETRIES] -= s[_RETRY_BINS + at]
        s[_ALL_BINS + at] = 0.0
        s[_RETRY_BINS + at] = 0.0
        back += 1
    s[_BIN] = max(s[_BIN], float(newest))
