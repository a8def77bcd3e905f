"""What happens when an attempt leaves: its answer goes out, or nobody is there to take it."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import Protocol

from domain.lag import LagHistogram
from domain.observer import AttemptObserver
from target_service.gate import Departure, Fate


class Connection(Protocol):
    """The one thing a completion asks of a request: its transport, None once the client has gone."""

    @property
    def transport(self) -> Transport | None:
        """The transport, or None."""


class Transport(Protocol):
    """The part of an asyncio transport that says whether the connection is going away."""

    def is_closing(self) -> bool:
        """Whether it is closed or being closed."""


class Ticket:
    """One attempt from its arrival to its departure; ``done`` is what its handler waits for: how it left, and
    for a rejected one why.

    ``deadline_s`` is on the loop's clock; ``number`` is the queue's, by which it can be cancelled.
    """

    __slots__ = ("arrived_s", "attempt", "deadline_s", "done", "number", "request")

    def __init__(
        self,
        request: Connection,
        done: Future[tuple[Fate, str]],
        attempt: int,
        arrived_s: float,
        deadline_s: float = float("inf"),
    ) -> None:
        self.request = request
        self.done = done
        self.attempt = attempt
        self.arrived_s = arrived_s
        self.deadline_s = deadline_s
        self.number = 0


class Completions:
    """Counts abandoned work, tells the observer of every departure and wakes the handler that waits.

    ``abandoned_s`` is the service given to attempts whose client had gone by the time it ended: the
    client's hanging up changes nothing about work that has begun.
    """

    def __init__(self, observer: AttemptObserver, clock: Callable[[], float]) -> None:
        self.abandoned = 0
        self.abandoned_s = 0.0
        self.lag = LagHistogram()
        self._observer = observer
        self._clock = clock

    def deliver(self, departure: Departure[Ticket]) -> None:
        """An attempt has left the queue."""
        ticket: Ticket = departure.item
        now_s = self._clock()
        outcome: str = departure.fate
        if outcome in ("ok", "error"):
            self.lag.add(now_s - departure.ideal_end_s)
            transport = ticket.request.transport
            if transport is None or transport.is_closing():
                self.abandoned += 1
                self.abandoned_s += departure.service_s
                outcome = "abandoned"
        elif departure.reason:
            self._observer.refused(departure.reason)
        self._observer.ended(ticket.attempt, outcome, now_s - ticket.arrived_s)
        if not ticket.done.done():
            # Not the departure itself, which holds the ticket: such a cycle would keep every request and
            # its connection until the collector comes by.
            ticket.done.set_result((departure.fate, departure.reason))
