"""What a client does after an attempt has ended: a decision from numbers, with no clock and no socket."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from domain.attempts import Outcome
from domain.backoff import Backoff
from domain.budgets.account import BudgetAccount
from domain.budgets.decide import FAILED, REFUSED, THROTTLED, TIMED_OUT
from domain.queue_cap import OnRejection

OnRefusal = Literal["give-up", "retry"]
"""What a job does whose next attempt the client's own budget or breaker refuses: end there (the refusal is
terminal), or come again after its backoff; the refusal is a failed attempt then (a layer above retries)."""


@dataclass(frozen=True, slots=True)
class RetryAfter:
    """Send another attempt after this many seconds; ``price`` is what the budget was paid for it."""

    delay_s: float
    price: float = 0.0


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Send nothing more for this job.

    ``reason`` is ``succeeded``, ``attempts_exhausted``, ``deadline``, ``rejected``, ``budget`` or
    ``aborted``; with ``budget`` a retry was wanted and refused, which the trace records as an attempt that
    was not sent.
    """

    reason: str


@dataclass(frozen=True, slots=True)
class Refused:
    """The budget refused the next attempt, which counts as failed; ask again after this many seconds."""

    delay_s: float


Decision = RetryAfter | GiveUp | Refused


def attempts_left(attempt: int, max_attempts: float) -> bool:
    """Whether a job whose attempt number ``attempt`` (1-based) has failed may make another one."""
    return attempt < max_attempts


def cause(outcome: Outcome, status: int) -> int:
    """How an attempt failed, as budgets tell it apart."""
    if outcome in (Outcome.TIMEOUT, Outcome.LATE):
        return TIMED_OUT
    return THROTTLED if outcome is Outcome.REJECTED and status in THROTTLING else FAILED


THROTTLING = (429, 503)
SUCCEEDED = GiveUp("succeeded")
EXHAUSTED = GiveUp("attempts_exhausted")
DEADLINE = GiveUp("deadline")
REJECTED = GiveUp("rejected")
BUDGET = GiveUp("budget")
ABORTED = GiveUp("aborted")


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """At most ``max_attempts`` attempts a job (the first included; ``math.inf`` allowed), with a backoff.

    ``on_rejection`` is what a rejection (any answer that is no success) means; its ``after-timeout`` is for
    the caller to wait out. ``honours_retry_after``: never sooner than the service asks.
    """

    max_attempts: float
    backoff: Backoff
    on_rejection: OnRejection = "retry"
    honours_retry_after: bool = False
    on_refusal: OnRefusal = "give-up"

    def decide(
        self,
        attempt: int,
        outcome: Outcome,
        now_s: float,
        u: float,
        budget: BudgetAccount | None,
        *,
        previous_s: float = 0.0,
        until_s: float = math.inf,
        retry_after_s: float = 0.0,
        status: int = 0,
    ) -> Decision:
        """What to do after attempt number ``attempt`` (1-based) ended with ``outcome`` at ``now_s``.

        ``u`` is a uniform draw in [0, 1) for the backoff, ``previous_s`` the backoff before this attempt,
        ``until_s`` the job's deadline, ``retry_after_s`` what a rejection with ``status`` asked for.
        ``REFUSED`` as the outcome is a refusal of the client's own that is not terminal. The budget is asked
        last, because its yes is a commitment to send; None is no budget.
        """
        ended = self._ended(attempt, outcome)
        if ended is not None:
            return ended
        delay_s = self.backoff.delay_s(attempt, u, previous_s)
        if self.honours_retry_after:
            delay_s = max(delay_s, retry_after_s)
        if now_s + delay_s >= until_s:
            return DEADLINE
        price = 0.0 if budget is None else budget.price(now_s, cause(outcome, status))
        if price == REFUSED:
            return BUDGET if self.on_refusal == "give-up" else Refused(delay_s)
        return RetryAfter(delay_s, price)

    def _ended(self, attempt: int, outcome: Outcome) -> GiveUp | None:
        """Why the job is over whatever the time and the budget say; None if it is not."""
        if outcome is Outcome.OK:
            return SUCCEEDED
        if outcome in (Outcome.ABORTED, Outcome.CANCELLED):
            return ABORTED
        if outcome is Outcome.REJECTED and self.on_rejection == "give-up":
            return REJECTED
        return None if attempts_left(attempt, self.max_attempts) else EXHAUSTED

    @property
    def amplification(self) -> float:
        """Attempts per job when every attempt fails and no budget binds: m."""
        return math.inf if math.isinf(self.max_attempts) else float(self.max_attempts)
