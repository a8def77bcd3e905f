"""A ratio of first attempts: each earns β retries, up to a small reserve, so A = 1 + β (seed 002 Def. 8)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from domain.budgets.codes import RATIO, REFUSED, ROUNDING
from domain.rule import Numbers, State, padded

RATIO_RESERVE = 10.0
"""Retries that a ratio budget can have saved up."""
_ROUNDING = ROUNDING
_RATIO, _RESERVE = 0, 1
_BALANCE = 0


@dataclass(frozen=True, slots=True)
class RatioBudget:
    """Each first attempt earns ``ratio`` retries, up to ``reserve``, which are in hand at the start."""

    ratio: float = 0.1
    reserve: float = RATIO_RESERVE
    kind = "ratio"
    code = RATIO
    state_size = 1

    def __post_init__(self) -> None:
        if not 0.0 <= self.ratio < math.inf:
            raise ValueError(f"ratio: must be finite and at least 0 (got {self.ratio!r})")
        if not 1.0 <= self.reserve < math.inf:
            raise ValueError(f"reserve: must be finite and at least 1, a retry (got {self.reserve!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """Ratio and reserve."""
        return padded(float(self.ratio), float(self.reserve))

    def scaled(self, factor: float) -> Self:  # noqa: ARG002
        """Itself: it knows no time."""
        return self


def ratio_balance(balance: float, ratio: float, reserve: float = RATIO_RESERVE) -> float:
    """Retries in hand after one more first attempt: each earns ``ratio``, up to the reserve."""
    return min(balance + ratio, reserve)


def ratio_allows(balance: float) -> bool:
    """Whether one more retry, which costs 1, is in hand."""
    return balance >= 1.0 - _ROUNDING


def begin(p: Numbers, s: State) -> None:
    """The reserve is in hand."""
    s[_BALANCE] = p[_RESERVE]


def price(s: State) -> float:
    """1 if it is in hand."""
    if not ratio_allows(s[_BALANCE]):
        return REFUSED
    s[_BALANCE] = max(0.0, s[_BALANCE] - 1.0)
    return 1.0


def note_sent(p: Numbers, s: State, attempt: int) -> None:
    """A first attempt earns."""
    if attempt == 1:
        s[_BALANCE] = ratio_balance(s[_BALANCE], p[_RATIO], p[_RESERVE])


def take_back(p: Numbers, s: State, price: float) -> None:
    """The price is in hand again."""
    s[_BALANCE] = ratio_balance(s[_BALANCE], price, p[_RESERVE])
