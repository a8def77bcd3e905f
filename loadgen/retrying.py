"""A job that tries again: attempt after attempt, until one is answered or the client gives up.

Every decision is ``domain``'s: the breaker before an attempt, the retry rule and the budget after it. A retry
that the budget was paid for and that is not sent after all, because the breaker says no or the job's deadline
has come, is withdrawn from the budget.
"""

from __future__ import annotations

from domain.attempts import Outcome
from domain.deadlines import attempt_timeout_s
from domain.retry import BUDGET, GiveUp, Refused
from domain.trace import BREAKER_REASON, BUDGET_REASON
from loadgen.client_side import ClientSide
from loadgen.gates import Gates
from loadgen.request import Job
from loadgen.wire import Ended

_INSTANT_S = 0.001
_OK, _REJECTED = Outcome.OK, Outcome.REJECTED


class Retrying:
    """Runs jobs, each in a greenlet of its own; what is known of a job is in that greenlet's locals.

    An object for every job would be one more for the garbage collector, with thousands of jobs open.
    """

    def __init__(self, side: ClientSide) -> None:
        self._side = side

    def run(self, job: Job, gates: Gates) -> None:
        """All attempts of one job."""
        side = self._side
        until_s = job.planned_s + side.deadline_s
        attempt, previous_s = 1, 0.0
        ended = self._send(job, gates, attempt, job.planned_s, until_s, 0.0)
        while ended is not None:
            failed_s = now_s = ended.done_s
            if ended.outcome is _REJECTED and side.waits_out:
                failed_s, now_s = self._wait_out(ended, until_s)
                if not side.sending:
                    return
            decision = side.policy.decide(
                attempt,
                ended.outcome,
                now_s,
                next(side.jitter),
                gates.budget,
                previous_s=previous_s,
                until_s=until_s,
                retry_after_s=ended.retry_after_s,
                status=ended.status,
            )
            attempt += 1
            if decision is BUDGET or isinstance(decision, Refused):
                side.refused(job, attempt, now_s, now_s, BUDGET_REASON)
            if isinstance(decision, GiveUp):
                return
            previous_s = decision.delay_s
            took_s = failed_s - ended.done_s + ended.took_s
            pause_s = max(previous_s, side.pace_s - took_s, 0.0)
            if failed_s + pause_s >= side.end_s:
                return  # not after a wait: memory does not hold all that a service may put off for a day
            self._wait(pause_s, took_s)
            if not side.sending:
                return
            if isinstance(decision, Refused):
                ended = self._refusal()
            else:
                ended = self._send(job, gates, attempt, failed_s + pause_s, until_s, decision.price)

    def _send(
        self, job: Job, gates: Gates, attempt: int, due_s: float, until_s: float, price: float
    ) -> Ended | None:
        """An attempt, which may be refused by the breaker; None if the job is over."""
        side = self._side
        wire = side.wire
        sent_s = wire.now_s
        if sent_s >= until_s:
            side.give_back(gates, attempt, price)
            wire.miss(attempt, due_s, sent_s)
            return None
        if gates.breaker is not None and not side.lets_through(gates.breaker, sent_s):
            side.give_back(gates, attempt, price)
            side.refused(job, attempt, due_s, sent_s, BREAKER_REASON)
            return None if side.gives_up else self._refusal()
        timeout_s = attempt_timeout_s(side.timeout_s, until_s, sent_s)
        key = wire.begin(job, attempt, due_s, sent_s)
        if gates.budget is not None:
            gates.budget.sent(sent_s, attempt)
        ended = wire.exchange(key, job, attempt, sent_s, timeout_s)
        if ended is not None and gates.keep_account:
            gates.ended(ended.done_s, attempt, ended.outcome is _OK, price)
        return ended

    def _refusal(self) -> Ended:
        """An attempt of which the client itself said no, as a failed one."""
        return Ended(Outcome.REFUSED, 0, 0.0, 0.0, self._side.wire.now_s)

    def _wait_out(self, ended: Ended, until_s: float) -> tuple[float, float]:
        """A rejection is no better than silence: wait until the attempt would have timed out.

        Returns when that is and the time by the clock, which timers may be late by.
        """
        side, sent_s = self._side, ended.done_s - ended.took_s
        failed_s = max(sent_s + attempt_timeout_s(side.timeout_s, until_s, sent_s), ended.done_s)
        if failed_s > ended.done_s:
            side.crew.sleep(failed_s - ended.done_s)
        return failed_s, max(failed_s, side.wire.now_s)

    def _wait(self, pause_s: float, took_s: float) -> None:
        """Wait until the next attempt is due."""
        # An attempt that failed without waiting (a refused connection) has not let anything else run; a
        # client that retries at once must, or it would shut out the stop as well.
        if pause_s > 0 or took_s < _INSTANT_S:
            self._side.crew.sleep(pause_s)
