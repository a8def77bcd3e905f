"""What happens when a piece of work is done: the answer goes out, or nobody is there to take it."""

from __future__ import annotations

from asyncio import Future
from collections.abc import Callable
from typing import Protocol

from domain.lag import LagHistogram
from domain.observer import AttemptObserver


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
    """One attempt from its arrival to its completion; ``done`` is what its handler waits for."""

    __slots__ = ("arrived_s", "attempt", "done", "request")

    def __init__(self, request: Connection, done: Future[None], attempt: int, arrived_s: float) -> None:
        self.request = request
        self.done = done
        self.attempt = attempt
        self.arrived_s = arrived_s


class Completions:
    """Counts completions and abandoned work, and wakes the handlers that wait.

    ``abandoned_s`` is the service given to attempts whose client had gone by the time it ended: the
    client's hanging up changes nothing about the work.
    """

    def __init__(self, observer: AttemptObserver, clock: Callable[[], float]) -> None:
        self.abandoned = 0
        self.abandoned_s = 0.0
        self.lag = LagHistogram()
        self._observer = observer
        self._clock = clock

    def deliver(self, ticket: Ticket, ideal_end_s: float, service_s: float) -> None:
        """A ticket's work has ended: ideally at ``ideal_end_s``, after ``service_s`` of service."""
        now_s = self._clock()
        self.lag.add(now_s - ideal_end_s)
        transport = ticket.request.transport
        if transport is None or transport.is_closing():
            self.abandoned += 1
            self.abandoned_s += service_s
            outcome = "abandoned"
        else:
            outcome = "ok"
        self._observer.ended(ticket.attempt, outcome, now_s - ticket.arrived_s)
        if not ticket.done.done():
            ticket.done.set_result(None)
