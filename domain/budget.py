"""Client-side retry budgets: may this retry be sent at all?

A budget holds state but no clock: every method takes the time, so the live client, the fluid model's
tests and the simulator drive the same object.
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
