"""Hedging: another copy of a request without waiting for the first to fail; the first answer wins.

Source: gRFC A6 "gRPC Retry Design", hedgingPolicy; Dean and Barroso, "The Tail at Scale", CACM 56(2), 2013.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hedging:
    """At most ``copies`` attempts a job, one every ``delay_s`` until one is answered.

    A copy that fails brings the next one forward to at once. The first answer cancels the other copies.
    Copies after the first ask the retry budget. Takes the place of attempts and backoff.
    """

    copies: int = 4
    delay_s: float = 0.5

    def scaled(self, factor: float) -> Hedging:
        """The same rule in another unit of time."""
        return Hedging(self.copies, self.delay_s * factor)
