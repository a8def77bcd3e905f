"""A job that tries again: attempt after attempt, until one is answered or the client gives up.

Every decision is ``domain``'s: the breaker before an attempt, the retry rule and the budget after it. A retry
that the budget was paid for and that is not sent after all, because the breaker says no or the job's deadline
has come, is withdrawn from the budget.
"""

from __future__ import annotations

from domain.attempts import Outcome
from domain.retry import BUDGET, Refused, RetryAfter
from domain.trace import BREAKER_REASON, BUDGET_REASON
from loadgen.client_side import ClientSide
from loadgen.gates import Gates
from loadgen.request import Job
from loadgen.wire import Ended

_INSTANT_S = 0.001


class RetryingJob:
    """One job; ``run`` it in a greenlet of its own."""

    __slots__ = (
        "_attempt",
        "_due_s",
        "_fails_s",
        "_gates",
        "_job",
        "_previous_s",
        "_price",
        "_refused",
        "_side",
        "_until_s",
    )

    def __init__(self, side: ClientSide, job: Job, gates: Gates) -> None:
        self._side = side
        self._job = job
        self._gates = gates
        self._until_s = job.planned_s + side.client.deadline_s
        self._attempt = 1
        self._due_s = self._fails_s = job.planned_s
        self._price = 0.0
        self._previous_s = 0.0
        self._refused = False

    def run(self) -> None:
        """All attempts of the job."""
        ended = self._send()
        while ended is not None:
            failed_s = now_s = ended.done_s
            if ended.outcome is Outcome.REJECTED and self._side.waits_out:
                failed_s, now_s = self._wait_out(now_s)
                if not self._side.sending:
                    return
            delay_s = self._decide(ended, now_s)
            if delay_s is None or not self._pause(delay_s, failed_s, failed_s - ended.done_s + ended.took_s):
                return
            self._attempt += 1
            ended = self._refusal() if self._refused else self._send()

    def _send(self) -> Ended | None:
        """The attempt at hand, which may be refused by the breaker; None if the job is over."""
        side, gates, job, attempt = self._side, self._gates, self._job, self._attempt
        sent_s = side.wire.now_s
        if sent_s >= self._until_s:
            side.give_back(gates, attempt, self._price)
            side.wire.miss(attempt, self._due_s, sent_s)
            return None
        if gates.breaker is not None and not side.lets_through(gates.breaker, sent_s):
            side.give_back(gates, attempt, self._price)
            side.refused(job, attempt, self._due_s, sent_s, BREAKER_REASON)
            return None if side.gives_up else self._refusal()
        timeout_s = side.timeout_s(self._until_s, sent_s)
        self._fails_s = sent_s + timeout_s
        key = side.wire.begin(job, attempt, self._due_s, sent_s)
        if gates.budget is not None:
            gates.budget.sent(sent_s, attempt)
        ended = side.wire.exchange(key, job, attempt, sent_s, timeout_s)
        if ended is not None:
            gates.ended(ended.done_s, attempt, ended.outcome is Outcome.OK, self._price)
        return ended

    def _refusal(self) -> Ended:
        """An attempt of which the client itself said no, as a failed one."""
        return Ended(Outcome.REFUSED, 0, 0.0, 0.0, self._side.wire.now_s)

    def _wait_out(self, now_s: float) -> tuple[float, float]:
        """A rejection is no better than silence: wait until the attempt would have timed out.

        Returns when that is and the time by the clock, which timers may be late by.
        """
        if self._fails_s > now_s:
            self._side.crew.sleep(self._fails_s - now_s)
        failed_s = max(self._fails_s, now_s)
        return failed_s, max(failed_s, self._side.wire.now_s)

    def _decide(self, ended: Ended, now_s: float) -> float | None:
        """Seconds until the next attempt, which may be one that the budget has refused; None: no more."""
        side = self._side
        decision = side.policy.decide(
            self._attempt,
            ended.outcome,
            now_s,
            next(side.jitter),
            self._gates.budget,
            previous_s=self._previous_s,
            until_s=self._until_s,
            retry_after_s=ended.retry_after_s,
            status=ended.status,
        )
        if isinstance(decision, RetryAfter):
            self._refused, self._price = False, decision.price
        elif decision is BUDGET or isinstance(decision, Refused):
            side.refused(self._job, self._attempt + 1, now_s, now_s, BUDGET_REASON)
            self._refused = True
        if isinstance(decision, RetryAfter | Refused):
            self._previous_s = decision.delay_s
            return decision.delay_s
        return None

    def _pause(self, delay_s: float, failed_s: float, took_s: float) -> bool:
        """Wait until the next attempt is due; False if nothing may be sent any more."""
        side = self._side
        pause_s = max(delay_s, side.pace_s - took_s, 0.0)
        self._due_s = failed_s + pause_s
        # An attempt that failed without waiting (a refused connection) has not let anything else run; a
        # client that retries at once must, or it would shut out the stop as well.
        if pause_s > 0 or took_s < _INSTANT_S:
            side.crew.sleep(pause_s)
        return side.sending
