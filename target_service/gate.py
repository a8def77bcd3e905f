"""Who is let in, who is served next, who is thrown away: the rules of ``domain.admission`` and their state.

What is served, and when it ends, is the business of whoever holds the gate: a queue on its own clock or
threads that burn CPU. Both ask the same questions in the same order, so that the simulation can too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Generic, Literal, NamedTuple, TypeVar

from domain import codel
from domain.admission import ADMITTED, INSTEAD_OF_RETRY, REASONS, Admission, verdict
from domain.deadlines import expired
from domain.limits.account import LimitAccount
from domain.queue_order import CODES, takes_newest
from target_service.waiting import Admitted, WaitingLine

T = TypeVar("T")

Fate = Literal["ok", "error", "rejected", "shed", "expired", "cancelled"]
"""How an attempt leaves: served and answered with a success or an error, turned away on arrival or to make
room for a first attempt, thrown out by CoDel, too late when its turn came, or given up by its client."""


class Departure(NamedTuple, Generic[T]):
    """An attempt that has left: when on the queue's clock, how, and the seconds of service it took.

    ``reason`` says what turned a rejected one away: one of ``domain.admission.REASONS``.
    """

    item: T
    ideal_end_s: float
    service_s: float = 0.0
    fate: Fate = "ok"
    reason: str = ""


class Gate(Generic[T]):
    """The defences of one service. Times are seconds on one monotonic clock.

    ``draws`` are asked only if the error rate is not 0. ``departures`` is whatever has left and was not
    fetched yet, in the order it happened; ``fates`` and ``arrived`` count since the start.
    """

    def __init__(
        self, admission: Admission, demand: Iterator[float], draws: Iterator[float] | None = None
    ) -> None:
        self._admission = admission
        self._order = CODES[admission.discipline]
        self._places = -1 if admission.queue_cap is None else admission.queue_cap
        self._limit = None if admission.limit is None else LimitAccount(admission.limit)
        self._codel_state = [0.0] * codel.STATE_SIZE
        self._demand = demand
        self._draws: Iterator[float] = iter(()) if draws is None else draws
        self.line: WaitingLine[T] = WaitingLine()
        self.in_system = 0
        self.arrived = 0
        self.fates: dict[Fate, int] = dict.fromkeys(
            ("ok", "error", "rejected", "shed", "expired", "cancelled"), 0
        )
        self.departures: list[Departure[T]] = []

    @property
    def limit(self) -> float:
        """How many may be in the system now; inf without a limit."""
        return math.inf if self._limit is None else self._limit.limit

    @property
    def completed(self) -> int:
        """How many have been served to the end."""
        return self.fates["ok"] + self.fates["error"]

    def admit(
        self, now_s: float, item: T, attempt: int, deadline_s: float, running: int, pods: int
    ) -> Admitted[T] | None:
        """An arrival, once all that ended by now has been told: let in, or None if it is turned away.

        Its demand is drawn when it is let in. The caller starts it, or puts it in the line.
        """
        self.arrived += 1
        admission, line = self._admission, self.line
        displaces = admission.first_before_retry and attempt == 1 and line.has_retries
        limit = math.inf if self._limit is None else self._limit.limit
        found = verdict(self.in_system, len(line), running, pods, self._places, limit, displaces)
        if found == INSTEAD_OF_RETRY:
            self._throw_away(line.take_newest_retry(), now_s, "rejected", REASONS[found])
        elif found != ADMITTED:
            self._depart(Departure(item, now_s, fate="rejected", reason=REASONS[found]))
            return None
        self.in_system += 1
        demand = next(self._demand)
        fails = admission.error_rate > 0 and next(self._draws) < admission.error_rate
        return Admitted(self.arrived, item, attempt, now_s, deadline_s, demand, self.in_system, fails)

    def note_no_wait(self, now_s: float) -> None:
        """An arrival starts at once: CoDel learns of its wait of 0, which ends an overload."""
        rule = self._admission.codel
        if rule is not None:
            codel.sheds(rule.target_s, rule.interval_s, self._codel_state, now_s, 0.0)

    def next_to_serve(self, now_s: float, pods: int) -> Admitted[T] | None:
        """A pod is free: whoever it serves next; whatever is thrown away before that leaves. None: nobody."""
        admission, line = self._admission, self.line
        while line:
            standing = pods if admission.standing is None else admission.standing
            one = line.take(takes_newest(self._order, len(line), standing))
            if self._sheds(now_s, one):
                self._throw_away(one, now_s, "shed")
            elif admission.drop_expired and expired(one.deadline_s, now_s, admission.least_s):
                self._throw_away(one, now_s, "expired")
            else:
                return one
        return None

    def complete(self, admitted: Admitted[T], now_s: float, service_s: float, ideal_end_s: float) -> None:
        """An attempt has been served to the end, which should have been at ``ideal_end_s``."""
        self._leave(admitted, now_s, dropped=False)
        fate: Fate = "error" if admitted.fails else "ok"
        self._depart(Departure(admitted.item, ideal_end_s, service_s, fate))

    def cancel(self, now_s: float, number: int) -> bool:
        """The client of this arrival has gone: it leaves if it waits still. Returns whether it did."""
        admitted = self.line.remove(number)
        if admitted is None:
            return False
        self._throw_away(admitted, now_s, "cancelled")
        return True

    def fetch(self) -> list[Departure[T]]:
        """Whatever has left since the last call."""
        departures, self.departures = self.departures, []
        return departures

    def _sheds(self, now_s: float, one: Admitted[T]) -> bool:
        rule = self._admission.codel
        if rule is None:
            return False
        # The arrival can be the later one only after a change of capacity made in the past.
        waited_s = max(0.0, now_s - one.arrived_s)
        return codel.sheds(rule.target_s, rule.interval_s, self._codel_state, now_s, waited_s)

    def _throw_away(self, one: Admitted[T], now_s: float, fate: Fate, reason: str = "") -> None:
        self._leave(one, now_s, dropped=True)
        self._depart(Departure(one.item, now_s, 0.0, fate, reason))

    def _leave(self, one: Admitted[T], now_s: float, *, dropped: bool) -> None:
        self.in_system -= 1
        if self._limit is not None:
            self._limit.ended(now_s, max(0.0, now_s - one.arrived_s), one.in_system, dropped)

    def _depart(self, departure: Departure[T]) -> None:
        self.fates[departure.fate] += 1
        self.departures.append(departure)
