"""Envoy's retry budget: how many retries may be on at once, as a share of what is on, and a least number.

A limit on concurrency, not on a rate: the longer attempts and backoffs take, the fewer retries. A retry
counts from its yes to its end, its backoff included; it goes if fewer than max(⌊percent · active⌋, min) are
on, where active is every attempt that is in flight (one in backoff is not). ``percent`` 0 is Envoy without a
budget, whose ``max_retries`` is 3. Source: Envoy ``circuit_breaker.proto``, ``resource_manager_impl.h``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from domain.budgets.codes import ENVOY, REFUSED, ROUNDING
from domain.rule import Numbers, State, padded

_PERCENT, _MIN = 0, 1
_ACTIVE, _RETRIES = 0, 1
_ROUNDING = ROUNDING


@dataclass(frozen=True, slots=True)
class EnvoyBudget:
    """At most ``percent`` (a share: .2 is 20%) of the attempts in flight, or ``min_concurrent`` if more."""

    percent: float = 0.2
    min_concurrent: float = 3.0
    kind = "envoy"
    code = ENVOY
    state_size = 2

    def __post_init__(self) -> None:
        if not 0.0 <= self.percent <= 1.0:
            raise ValueError(f"percent: must lie in [0, 1] (got {self.percent!r})")
        if not (0.0 <= self.min_concurrent < math.inf and self.min_concurrent % 1 == 0):
            raise ValueError(
                f"min_concurrent: must be a whole number of at least 0 (got {self.min_concurrent!r})"
            )

    @property
    def parameters(self) -> tuple[float, ...]:
        """Share and least number."""
        return padded(float(self.percent), float(self.min_concurrent))

    def scaled(self, factor: float) -> Self:  # noqa: ARG002
        """Itself: it knows no time."""
        return self


def begin(s: State) -> None:
    """Nothing is on."""
    s[_ACTIVE] = 0.0
    s[_RETRIES] = 0.0


def price(p: Numbers, s: State) -> float:
    """1, a place among the retries that are on, if there is one."""
    places = max(float(math.floor(p[_PERCENT] * s[_ACTIVE] + _ROUNDING)), p[_MIN])
    if s[_RETRIES] >= places:
        return REFUSED
    s[_RETRIES] += 1.0
    return 1.0


def note_sent(s: State) -> None:
    """One more attempt is in flight."""
    s[_ACTIVE] += 1.0


def note_ended(s: State, price: float) -> None:
    """One less is, and a retry gives its place back."""
    s[_ACTIVE] = max(0.0, s[_ACTIVE] - 1.0)
    take_back(s, price)


def take_back(s: State, price: float) -> None:
    """The place is free again."""
    s[_RETRIES] = max(0.0, s[_RETRIES] - price)
