"""What a server does with what arrives: how much it lets in, whom it serves next, what it throws away.

``Admission`` is a value; the decisions are plain functions of numbers, which the live target calls and the
simulator compiles. On arrival: ``verdict``. When a pod is free: take the next by ``queue_order``; ask
``codel.sheds`` of everything that is taken; drop what has ``deadlines.expired``; serve it otherwise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from domain.codel import CoDel
from domain.degradation import Degradation
from domain.limits.decide import ConcurrencyLimit
from domain.queue_order import CODES, Discipline

ADMITTED, OVER_LIMIT, FULL, INSTEAD_OF_RETRY = range(4)
REASONS = ("", "limit", "full", "first-before-retry")


@dataclass(frozen=True, slots=True)
class Admission:
    """The defences of a service; by default none: first in, first out, everything is served.

    ``queue_cap``: at most so many wait, a further one is rejected. ``standing``: waiting attempts above
    which an adaptive queue serves the newest first; None is as many as there are pods. ``drop_expired``:
    what is past its deadline when its turn comes is dropped, or has less than ``least_s`` left.
    ``cancel_on_disconnect``: what waits is dropped when its client hangs up; work in service goes on.
    ``first_before_retry``: a first attempt that would be rejected takes the place of the newest retry that
    waits. ``retry_after_s``: what a rejection tells the client. ``error_rate``: share of answers that are
    errors although the work was done. ``degradation``: the rate falls as the number in the system grows.
    """

    discipline: Discipline = "fifo"
    standing: int | None = None
    queue_cap: int | None = None
    drop_expired: bool = False
    least_s: float = 0.0
    cancel_on_disconnect: bool = False
    first_before_retry: bool = False
    codel: CoDel | None = None
    limit: ConcurrencyLimit | None = None
    degradation: Degradation | None = None
    retry_after_s: float | None = None
    error_rate: float = 0.0

    def __post_init__(self) -> None:
        if self.discipline not in CODES:
            raise ValueError(f"discipline: must be one of {', '.join(CODES)} (got {self.discipline!r})")
        for name, places in (("standing", self.standing), ("queue_cap", self.queue_cap)):
            if places is not None and (not places >= 0 or places % 1 != 0):
                raise ValueError(f"{name}: must be a whole number of at least 0 (got {places!r})")
        for name, value in (("least_s", self.least_s), ("retry_after_s", self.retry_after_s)):
            if value is not None and not 0.0 <= value < math.inf:
                raise ValueError(f"{name}: must be at least 0 and finite (got {value!r})")
        if not 0.0 <= self.error_rate < 1.0:
            raise ValueError(f"error_rate: must be at least 0 and below 1 (got {self.error_rate!r})")
        if self.first_before_retry and self.queue_cap is None and self.limit is None:
            raise ValueError(
                "first_before_retry: needs a queue_cap or a limit, or nothing is rejected (got True)"
            )

    @property
    def is_plain(self) -> bool:
        """Whether it is first in, first out and nothing else, but perhaps with a queue cap.

        What only goes with a defence that is off makes no difference: ``standing`` and ``least_s``.
        """
        return self.discipline == "fifo" and self == Admission(
            queue_cap=self.queue_cap, standing=self.standing, least_s=self.least_s
        )

    @property
    def may_reject(self) -> bool:
        """Whether it may answer an attempt with a no before the attempt's time is over."""
        sheds = self.queue_cap is not None or self.limit is not None or self.codel is not None
        return sheds or (self.drop_expired and self.least_s > 0)

    def scaled(self, factor: float) -> Admission:
        """The same defences in another unit of time."""
        return replace(
            self,
            least_s=self.least_s * factor,
            codel=None if self.codel is None else self.codel.scaled(factor),
            limit=None if self.limit is None else self.limit.scaled(factor),
            retry_after_s=None if self.retry_after_s is None else self.retry_after_s * factor,
        )


def verdict(
    in_system: int, waiting: int, running: int, pods: int, places: int, limit: float, displaces: bool
) -> int:
    """``ADMITTED``, ``OVER_LIMIT`` or ``FULL`` for one more arrival, or ``INSTEAD_OF_RETRY``.

    ``in_system`` attempts, ``waiting`` and ``running``, are there without it. With it there may be at most
    ``limit``, which need not be whole: a limit of 20.9 lets in the twentieth and not the twenty-first.
    ``places`` < 0: no queue cap. ``displaces``: it is a first attempt, the service prefers these, and a
    retry waits, whose place it takes.
    """
    refused = ADMITTED
    if in_system + 1 > limit:
        refused = OVER_LIMIT
    elif places >= 0 and running >= pods and waiting >= places:
        refused = FULL
    return INSTEAD_OF_RETRY if refused != ADMITTED and displaces else refused
