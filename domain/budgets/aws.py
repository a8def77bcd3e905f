"""The token bucket of the AWS SDKs' standard retry mode.

A retry takes its cost, by how the attempt before it failed; a success at the first try gives 1 token, and a
success of a retry gives back what that retry took, not what earlier retries of the job took. Defaults are the
mode's own; the mode of 2026 has a cost of 14 for timeouts and errors, 5 for throttling. Source: botocore
``retries/quota.py`` and ``retries/standard.py``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from domain.budgets.codes import AWS, REFUSED, THROTTLED, TIMED_OUT
from domain.rule import Numbers, State, padded

_CAPACITY, _TIMEOUT_COST, _ERROR_COST, _THROTTLE_COST = 0, 1, 2, 3
_TOKENS = 0
_FIRST_TRY = 1.0


@dataclass(frozen=True, slots=True)
class AwsTokenBucket:
    """``capacity`` tokens, all there at the start; a retry costs 0 or more of them, by cause."""

    capacity: float = 500.0
    timeout_cost: float = 10.0
    error_cost: float = 5.0
    throttle_cost: float = 5.0
    kind = "aws-token-bucket"
    code = AWS
    state_size = 1

    def __post_init__(self) -> None:
        costs = (self.timeout_cost, self.error_cost, self.throttle_cost)
        names = ("capacity", "timeout_cost", "error_cost", "throttle_cost")
        for name, value in zip(names, (self.capacity, *costs), strict=True):
            if not 0.0 <= value < math.inf:
                raise ValueError(f"{name}: must be finite and at least 0 (got {value!r})")

    @property
    def parameters(self) -> tuple[float, ...]:
        """Capacity and the costs after a timeout, an error and throttling, in tokens."""
        return padded(
            float(self.capacity), float(self.timeout_cost), float(self.error_cost), float(self.throttle_cost)
        )

    def scaled(self, factor: float) -> Self:  # noqa: ARG002
        """Itself: it knows no time."""
        return self


def begin(p: Numbers, s: State) -> None:
    """The bucket is full."""
    s[_TOKENS] = p[_CAPACITY]


def price(p: Numbers, s: State, cause: int) -> float:
    """The cost after such a failure, if there are that many tokens."""
    cost = p[_ERROR_COST]
    if cause == TIMED_OUT:
        cost = p[_TIMEOUT_COST]
    elif cause == THROTTLED:
        cost = p[_THROTTLE_COST]
    if cost > s[_TOKENS]:
        return REFUSED
    s[_TOKENS] -= cost
    return cost


def note_ended(p: Numbers, s: State, attempt: int, succeeded: bool, price: float) -> None:
    """A success gives tokens."""
    if succeeded:
        take_back(p, s, _FIRST_TRY if attempt == 1 else price)


def take_back(p: Numbers, s: State, price: float) -> None:
    """The tokens are in the bucket again, as far as it holds them."""
    s[_TOKENS] = min(s[_TOKENS] + price, p[_CAPACITY])
