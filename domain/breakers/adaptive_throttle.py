"""Adaptive throttling: a client refuses its own calls at random, the more the fewer are accepted.

Source: Beyer et al., "Site Reliability Engineering", 2016, ch. 21 "Handling Overload", eq. 21-1: over the
last two minutes, P = max(0, (requests − K · accepts)/(requests + 1)). The book names no least number of
requests, so a cold client refuses calls of a healthy service: until the first answers are back, requests have
no accepts beside them. 80 calls/s that are all answered after .5 s are refused now and then for 16 s.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.breakers.codes import ADAPTIVE_THROTTLE
from domain.breakers.window import add, advance, clear, first, second, size
from domain.rule import Numbers, State, padded

BINS = 24
"""Of the window: five seconds each at the default of two minutes."""
_MULTIPLIER, _WINDOW_S = range(2)


@dataclass(frozen=True, slots=True)
class AdaptiveThrottle:
    """A call is refused with P = max(0, (requests − k · accepts)/(requests + 1)).

    ``requests`` are the calls that were asked for before this one within the window, the refused ones too;
    each counts when it is asked for. ``accepts`` are the calls answered well in time within the window;
    each counts when it ends. The book's are requests "accepted by the backend", so that an error answered
    quickly would be one; here a call that did not succeed is none, because most that fail are never answered.
    The window is ``BINS`` bins on a fixed grid: the last 115 to 120 s of the default 120.
    """

    k: float = 2.0
    window_s: float = 120.0
    kind = "adaptive-throttle"
    code = ADAPTIVE_THROTTLE
    state_size = size(BINS)

    def __post_init__(self) -> None:
        if not 1.0 <= self.k < math.inf:
            raise ValueError(f"k: must be at least 1 and finite (got {self.k!r})")
        if not 0.0 < self.window_s < math.inf:
            raise ValueError(f"window_s: must be positive and finite (got {self.window_s!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """As the plain functions take them."""
        return padded(self.k, self.window_s)

    def scaled(self, factor: float) -> AdaptiveThrottle:
        """The same rule in another unit of time."""
        return AdaptiveThrottle(self.k, self.window_s * factor)


def refusal_probability(requests: float, accepts: float, k: float) -> float:
    """max(0, (requests − k · accepts)/(requests + 1)), in [0, 1)."""
    return max(0.0, (requests - k * accepts) / (requests + 1.0))


def begin(s: State) -> None:
    """Nothing has been asked for."""
    clear(s, 0)


def lets_through(p: Numbers, s: State, now_s: float, u: float) -> bool:
    """Whether a call may be sent, given a uniform draw in [0, 1); counts it as asked for."""
    advance(s, 0, BINS, p[_WINDOW_S], now_s)
    probability = refusal_probability(first(s, 0), second(s, 0), p[_MULTIPLIER])
    add(s, 0, BINS, 1.0, 0.0)
    return u >= probability


def note_ended(p: Numbers, s: State, now_s: float, succeeded: bool) -> None:
    """A call that was let through has ended."""
    advance(s, 0, BINS, p[_WINDOW_S], now_s)
    if succeeded:
        add(s, 0, BINS, 0.0, 1.0)
