"""Client-side retry budgets: may this retry be sent at all?

A budget holds state but no clock: every method takes the time, so the live client and tests drive the
same object. The arithmetic of a ratio budget (retries are at most β of first attempts, and a small
reserve: A = 1 + β, seed 002 Def. 8) is two plain functions, which the simulator compiles.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


class RetryBudget(Protocol):
    """What a client asks before it retries. Times are seconds on any one monotonic clock."""

    @property
    def kind(self) -> str:
        """The name the scenario file uses."""

    def started(self, now_s: float, attempt: int) -> None:
        """Count an attempt (1-based) as it is sent."""

    def ended(self, now_s: float, attempt: int, succeeded: bool) -> None:
        """Count the end of an attempt."""

    def may_retry(self, now_s: float) -> bool:
        """Whether a retry may be sent now; a yes is a commitment to send it."""


@dataclass(frozen=True, slots=True)
class NullBudget:
    """No budget: every retry may go. Amplification when all attempts fail is the attempt cap m."""

    kind = "none"

    def started(self, now_s: float, attempt: int) -> None:
        """Nothing to count."""

    def ended(self, now_s: float, attempt: int, succeeded: bool) -> None:
        """Nothing to count."""

    def may_retry(self, now_s: float) -> bool:  # noqa: ARG002
        """Always."""
        return True


RATIO_RESERVE = 10.0
"""Retries that a ratio budget can have saved up."""
_ROUNDING = 1e-9


def ratio_balance(balance: float, ratio: float) -> float:
    """Retries in hand after one more first attempt: each earns ``ratio``, up to the reserve."""
    return min(balance + ratio, RATIO_RESERVE)


def ratio_allows(balance: float) -> bool:
    """Whether one more retry, which costs 1, is in hand."""
    return balance >= 1.0 - _ROUNDING
