"""What a client does after an attempt has ended: a decision from numbers, with no clock and no socket."""

from __future__ import annotations

import math
from dataclasses import dataclass

from domain.attempts import Outcome
from domain.backoff import Backoff
from domain.budget import RetryBudget


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Send another attempt after this many seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Send nothing more for this job.

    ``reason`` is ``succeeded``, ``attempts_exhausted``, ``budget`` or ``aborted``; with ``budget`` a
    retry was wanted and refused, which the trace records as an attempt that was not sent.
    """

    reason: str


Decision = RetryAfter | GiveUp


def attempts_left(attempt: int, max_attempts: float) -> bool:
    """Whether a job whose attempt number ``attempt`` (1-based) has failed may make another one."""
    return attempt < max_attempts


SUCCEEDED = GiveUp("succeeded")
EXHAUSTED = GiveUp("attempts_exhausted")
BUDGET = GiveUp("budget")
ABORTED = GiveUp("aborted")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most ``max_attempts`` attempts a job (the first included; ``math.inf`` allowed), with a backoff."""

    max_attempts: float
    backoff: Backoff

    def decide(self, attempt: int, outcome: Outcome, now_s: float, u: float, budget: RetryBudget) -> Decision:
        """What to do after attempt number ``attempt`` (1-based) ended with ``outcome`` at ``now_s``.

        ``u`` is a uniform draw in [0, 1) for the backoff. The budget is asked last, because its yes is
        a commitment to send.
        """
        if outcome is Outcome.OK:
            return SUCCEEDED
        if outcome is Outcome.ABORTED:
            return ABORTED
        if not attempts_left(attempt, self.max_attempts):
            return EXHAUSTED
        if not budget.may_retry(now_s):
            return BUDGET
        return RetryAfter(self.backoff.delay_s(attempt, u))

    @property
    def amplification(self) -> float:
        """Attempts per job when every attempt fails and no budget binds: m."""
        return math.inf if math.isinf(self.max_attempts) else float(self.max_attempts)
