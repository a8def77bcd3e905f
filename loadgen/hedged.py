"""A job that hedges: copy after copy goes out until one is answered, and the first answer ends the others.

The rules, which the simulator follows too:

- Copy number k is due ``delay_s`` after copy k − 1 was; a copy that fails brings the next one forward to at
  once or, if the client honours what a rejection asks for, to then.
- A copy after the first asks the budget, then every copy the breaker. A refused copy uses up its number. It
  brings nothing forward; if a refusal is terminal, no further copy goes out. Copies on the wire go on and may
  still answer the job.
- The first answer cancels the other copies: they end at that moment, and their sockets close. A rejection of
  a client that gives up on rejections cancels them as well.
- Budget and breaker are told that a copy cancelled by an answer has *succeeded*, for the price that was paid
  for it. It has to end for them (Envoy counts what is on the wire, a breaker its probes); it has not failed,
  or a healthy service that is hedged would run out of tokens (grpc-java debits no cancelled copy); and the
  service has answered the very same request.

Source of the timing, and of what a refusal and a fatal status do: gRFC A6; grpc-java ``RetriableStream``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from greenlet import getcurrent, greenlet

from domain.attempts import Outcome
from domain.budgets.decide import FAILED, REFUSED
from domain.deadlines import attempt_timeout_s
from domain.hedging import Hedging
from domain.retry import cause
from domain.trace import BREAKER_REASON, BUDGET_REASON
from loadgen.client_side import ClientSide
from loadgen.gates import Gates
from loadgen.request import Job
from loadgen.wire import Ended


class _Copy(NamedTuple):
    """A copy on the wire: its key there, when it was sent, what was paid for it, and who waits for it."""

    key: int
    sent_s: float
    price: float
    waiting: greenlet


class HedgedJob:
    """One job; each of its copies is sent in a greenlet of its own."""

    __slots__ = ("_gates", "_hedging", "_job", "_more", "_next", "_on_wire", "_side", "_until_s", "_used")

    def __init__(self, side: ClientSide, hedging: Hedging, job: Job, gates: Gates) -> None:
        self._side = side
        self._hedging = hedging
        self._job = job
        self._gates = gates
        self._until_s = job.planned_s + side.deadline_s
        self._on_wire: dict[int, _Copy] = {}
        self._used = 0
        self._next: Any = None
        self._more = True

    def send_copy(self, due_s: float, why: int = FAILED) -> None:
        """One copy from beginning to end, which sees to it that the next one goes out when it is due.

        ``why`` says how the last one failed, for the budget.
        """
        side, now_s = self._side, self._side.wire.now_s
        self._next = None
        self._used = number = self._used + 1
        if not side.sending:
            return
        if now_s >= self._until_s:
            side.wire.miss(number, due_s, now_s)
            return
        price = self._admitted(number, due_s, now_s, why)
        self._more = not (price == REFUSED and side.gives_up)
        self._schedule(due_s + self._hedging.delay_s, FAILED)
        if price != REFUSED:
            self._exchange(number, due_s, now_s, price)

    def _admitted(self, number: int, due_s: float, now_s: float, why: int) -> float:
        """What was paid for this copy; ``REFUSED``, and recorded, if the budget or the breaker says no."""
        side, gates, price = self._side, self._gates, 0.0
        if number > 1 and gates.budget is not None:
            price = gates.budget.price(now_s, why)
            if price == REFUSED:
                side.refused(self._job, number, due_s, now_s, BUDGET_REASON)
                return REFUSED
        if gates.breaker is not None and not side.lets_through(gates.breaker, now_s):
            side.give_back(gates, number, price)
            side.refused(self._job, number, due_s, now_s, BREAKER_REASON)
            return REFUSED
        return price

    def _exchange(self, number: int, due_s: float, sent_s: float, price: float) -> None:
        wire, gates = self._side.wire, self._gates
        timeout_s = attempt_timeout_s(self._side.timeout_s, self._until_s, sent_s)
        key = wire.begin(self._job, number, due_s, sent_s)
        if gates.budget is not None:
            gates.budget.sent(sent_s, number)
        self._on_wire[number] = _Copy(key, sent_s, price, getcurrent())
        ended = wire.exchange(key, self._job, number, sent_s, timeout_s)
        if ended is None:
            return
        del self._on_wire[number]
        succeeded = ended.outcome is Outcome.OK
        gates.ended(ended.done_s, number, succeeded, price)
        if succeeded:
            self._finish(ended.done_s, answered=True)
        elif ended.outcome is Outcome.REJECTED and self._side.client.on_rejection == "give-up":
            self._finish(ended.done_s, answered=False)
        else:
            self._failed(ended, sent_s + timeout_s)

    def _failed(self, ended: Ended, timeout_at_s: float) -> None:
        """Bring the next copy forward, if there is one to come."""
        side, failed_s = self._side, ended.done_s
        if side.waits_out and ended.outcome is Outcome.REJECTED and timeout_at_s > failed_s:
            side.crew.sleep(timeout_at_s - failed_s)
            failed_s = timeout_at_s
        if side.client.honours_retry_after:
            failed_s += ended.retry_after_s
        self._schedule(failed_s, cause(ended.outcome, ended.status))

    def _schedule(self, due_s: float, why: int) -> None:
        """Let the next copy go out at ``due_s`` and not before, if there is one and it is not too late."""
        self._unschedule()
        side = self._side
        in_time = side.sending and due_s < min(self._until_s, side.end_s)
        if self._more and in_time and self._used < self._hedging.copies:
            self._next = side.crew.call_in(due_s - side.wire.now_s, self.send_copy, due_s, why)

    def _unschedule(self) -> None:
        if self._next is not None:
            self._side.crew.drop(self._next)
            self._next = None

    def _finish(self, now_s: float, answered: bool) -> None:
        """No further copy; those on the wire are cancelled."""
        self._more = False
        self._unschedule()
        for number, copy in self._on_wire.items():
            self._side.wire.cancel(copy.key, number, copy.sent_s, now_s)
            self._gates.ended(now_s, number, answered, copy.price)
            self._side.crew.end(copy.waiting)
        self._on_wire.clear()
