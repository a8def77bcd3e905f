"""How a server slows down as its queue grows: thrashing, context switches, garbage collection.

The rule is a plain function of numbers, so that the live target calls it and the fluid model compiles
the very same one. Source: seed 001 §IV ("cutting real processing capacity in half"), which gives no
formula; this is the simplest smooth one with its two properties, full speed when empty and a floor.
"""

from __future__ import annotations

from dataclasses import dataclass


def rate_share(queue: float, floor: float, half_queue: float) -> float:
    """Share of the nominal service rate that is left with ``queue`` attempts in the system.

    floor + (1 − floor)/(1 + queue/half_queue): 1 when empty, half of the loss at ``half_queue``,
    ``floor`` in the limit.
    """
    return floor + (1.0 - floor) / (1.0 + queue / half_queue)


@dataclass(frozen=True, slots=True)
class Degradation:
    """``floor``: share of the rate that is left under an endless queue; ``half_queue``: attempts in the
    system at which half of what can be lost is lost. A floor of 1 degrades nothing."""

    half_queue: float
    floor: float = 0.5

    def __post_init__(self) -> None:
        if not 0.0 <= self.floor <= 1.0:
            raise ValueError(f"floor: must be from 0 to 1 (got {self.floor!r})")
        if not self.half_queue > 0.0:
            raise ValueError(f"half_queue: must be positive (got {self.half_queue!r})")

    def rate_share(self, queue: float) -> float:
        """Share of the nominal service rate with ``queue`` attempts in the system."""
        return rate_share(queue, self.floor, self.half_queue)


NO_DEGRADATION = Degradation(half_queue=1.0, floor=1.0)
"""The rate is the same whatever waits."""
