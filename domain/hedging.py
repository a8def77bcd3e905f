"""Hedging: another copy of a request without waiting for the first to fail; the first answer wins.

Source: gRFC A6 "gRPC Retry Design", hedgingPolicy; Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hedging:
    """At most ``copies`` attempts a job, one every ``delay_s`` until one is answered.

    A copy that fails brings the next one forward to at once. The first answer cancels the other copies.
    Copies after the first ask the retry budget. Takes the place of attempts and backoff. A ``delay_s`` of 0
    sends all at once.
    """

    copies: int = 4
    delay_s: float = 0.5

    def __post_init__(self) -> None:
        if not self.copies >= 2:
            raise ValueError(f"copies: must be at least 2 (got {self.copies!r})")
        if not 0.0 <= self.delay_s < math.inf:
            raise ValueError(f"delay_s: must be at least 0 and finite (got {self.delay_s!r})")

    def scaled(self, factor: float) -> Hedging:
        """The same rule in another unit of time."""
        return Hedging(self.copies, self.delay_s * factor)
