"""Finagle's retry budget: a token bucket that leaks, with a reserve; Linkerd's and Tower's are of its kind.

Each job deposits a token and each retry withdraws 1/percent of them, or none and 1 when the percentage is 0.
Deposits and withdrawals are both forgotten after the ttl, so a reserve of ``min_retries_per_s`` · ttl
retries, which a cold budget holds, comes back ttl by ttl: in the long run percent · λ + min retries a second.
They are kept in ten slices of a tenth of the ttl, the newest and nine more. A slice ends at the first call
that finds it over, and the next one begins there; so a token lives for nine to ten slices. Source: Finagle
``RetryBudget.scala``; Twitter util ``TokenBucket.scala`` (leaky bucket), ``WindowedAdder.scala``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

from domain.budgets.codes import FINAGLE, REFUSED, ROUNDING
from domain.rule import Numbers, State, padded

_SLICES = 10
_OLDER = _SLICES - 1
_DEPOSIT, _COST, _RESERVE, _SLICE_S = 0, 1, 2, 3
_BEGUN, _SINCE_S, _AT, _NEWEST, _FIRST = 0, 1, 2, 3, 4
_SIZE = _FIRST + _OLDER
_ROUNDING = ROUNDING


@dataclass(frozen=True, slots=True)
class FinagleBudget:
    """``percent`` (a share: .2 is 20%) of the jobs may be retried, and ``min_retries_per_s`` besides."""

    percent: float = 0.2
    min_retries_per_s: float = 10.0
    ttl_s: float = 10.0
    kind = "finagle"
    code = FINAGLE
    state_size = _SIZE

    def __post_init__(self) -> None:
        if not 0.0 <= self.percent <= 1000.0:
            raise ValueError(f"percent: must lie in [0, 1000] (got {self.percent!r})")
        if not 0.0 <= self.min_retries_per_s < math.inf:
            raise ValueError(
                f"min_retries_per_s: must be finite and at least 0 (got {self.min_retries_per_s!r})"
            )
        if not 0.0 < self.ttl_s < math.inf:
            raise ValueError(f"ttl_s: must be positive and finite (got {self.ttl_s!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """Deposit, cost and reserve in tokens, length of a slice in seconds."""
        deposit, cost = (1.0, 1.0 / self.percent) if self.percent > 0.0 else (0.0, 1.0)
        return padded(deposit, cost, self.min_retries_per_s * self.ttl_s * cost, self.ttl_s / _SLICES)

    def scaled(self, factor: float) -> Self:
        """The same rule in another unit of time; the reserve lasts as long as it did."""
        return replace(self, ttl_s=self.ttl_s * factor)


def begin(s: State) -> None:
    """Nothing but the reserve."""
    at = 0
    while at < _SIZE:
        s[at] = 0.0
        at += 1


def price(p: Numbers, s: State, now_s: float) -> float:
    """A retry's tokens, if deposits of the ttl and the reserve, less withdrawals of the ttl, allow them."""
    _move_on(p, s, now_s)
    balance = p[_RESERVE] + s[_NEWEST]
    at = _FIRST
    while at < _SIZE:
        balance += s[at]
        at += 1
    if balance < p[_COST] - _ROUNDING:
        return REFUSED
    s[_NEWEST] -= p[_COST]
    return p[_COST]


def note_sent(p: Numbers, s: State, now_s: float, attempt: int) -> None:
    """A first attempt is a deposit."""
    if attempt == 1:
        _move_on(p, s, now_s)
        s[_NEWEST] += p[_DEPOSIT]


def take_back(s: State, price: float) -> None:
    """The tokens are back, among the newest."""
    s[_NEWEST] += price


def _move_on(p: Numbers, s: State, now_s: float) -> None:
    """End the newest slice if it is over, and empty those that the time since has passed over."""
    if s[_BEGUN] == 0.0:
        s[_BEGUN], s[_SINCE_S] = 1.0, now_s
    slices = (now_s - s[_SINCE_S]) / p[_SLICE_S]
    if slices < 1.0:
        return
    at = int(s[_AT])
    s[_FIRST + at] = s[_NEWEST]
    s[_NEWEST] = 0.0
    at = (at + 1) % _OLDER
    skipped = int(min(slices - 1.0, float(_OLDER)))
    while skipped > 0:
        s[_FIRST + at] = 0.0
        at = (at + 1) % _OLDER
        skipped -= 1
    s[_AT] = float(at)
    s[_SINCE_S] = now_s
