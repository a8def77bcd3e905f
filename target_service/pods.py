"""What drives the queue in real time: pods that wait for their service to be over."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Protocol

from target_service.completions import Ticket
from target_service.draws import demands, error_draws, routing_draws
from target_service.gate import Departure
from target_service.pod_queues import PodQueues
from target_service.queue import ServiceQueue
from target_service.schedule import Schedule
from target_service.settings import Order, TargetSettings
from target_service.state import QueueState

Deliver = Callable[[Departure[Ticket]], None]
"""Called on the loop with everything that leaves, in the order it happens."""


class Pods(Protocol):
    """The fleet behind the queue, on the event loop's clock."""

    def submit(self, ticket: Ticket) -> None:
        """A request has arrived at ``ticket.arrived_s``; it may have left when this returns."""

    def cancel(self, ticket: Ticket) -> None:
        """The client has gone: the request leaves if it still waits."""

    def order(self, order: Order) -> None:
        """Change capacity at the time the order names."""

    def scale(self, replicas: int) -> None:
        """Order so many pods in all, now."""

    @property
    def schedule(self) -> Schedule:
        """What is to come, as of the last call of any other method."""

    def cancel_orders(self) -> None:
        """Forget every order that has not taken effect; pods that start go on doing so."""

    def state(self) -> QueueState:
        """The queue now."""

    def close(self) -> list[Ticket]:
        """Stop; what has not been completed is returned and will never be."""


class SleepPods:
    """Pods whose service is time passing: one timer at their next event, whoever is in service."""

    def __init__(self, settings: TargetSettings, deliver: Deliver, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._deliver = deliver
        start_s = loop.time()
        self.schedule = Schedule(settings.pods, start_s, settings.dead_time_s)
        self._queue = _queue(settings, start_s, self.schedule)
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = math.inf

    def submit(self, ticket: Ticket) -> None:
        """A request has arrived at ``ticket.arrived_s``; it may have left when this returns."""
        queue = self._queue
        if ticket.arrived_s >= queue.next_event_s:
            self._advance(ticket.arrived_s)
        ticket.number = queue.arrive(ticket.arrived_s, ticket, ticket.attempt, ticket.deadline_s)
        if queue.has_departures:
            self._advance(ticket.arrived_s)
        if queue.next_event_s != self._timer_s:
            self._arm()

    def cancel(self, ticket: Ticket) -> None:
        """The client has gone: the request leaves if it still waits."""
        now_s = self._loop.time()
        self._queue.cancel(now_s, ticket.number)
        self._advance(now_s)
        self._arm()

    def order(self, order: Order) -> None:
        """Change capacity at the time the order names."""
        self._queue.set_capacity(order.at_s, order.change)
        self._tick()

    def scale(self, replicas: int) -> None:
        """Order so many pods in all, now."""
        self._queue.scale(self._loop.time(), replicas)
        self._tick()

    def cancel_orders(self) -> None:
        """Forget every order that has not taken effect; pods that start go on doing so."""
        self._tick()
        self._queue.cancel_changes()
        self._arm()

    def state(self) -> QueueState:
        """The queue now."""
        now_s = self._loop.time()
        self._advance(now_s)
        self._arm()
        return self._queue.state(now_s)

    def close(self) -> list[Ticket]:
        """Stop; what has not been completed is returned and will never be."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_s = None, -math.inf
        return self._queue.outstanding()

    def _tick(self) -> None:
        self._advance(self._loop.time())
        self._arm()

    def _advance(self, now_s: float) -> None:
        for departure in self._queue.advance(now_s):
            self._deliver(departure)

    def _arm(self) -> None:
        next_s = self._queue.next_event_s
        if self._timer_s in (next_s, -math.inf):  # armed already, or closed
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(next_s, self._fire) if next_s < math.inf else None
        self._timer_s = next_s

    def _fire(self) -> None:
        self._timer, self._timer_s = None, math.inf
        self._tick()


def _queue(
    settings: TargetSettings, start_s: float, schedule: Schedule
) -> ServiceQueue[Ticket] | PodQueues[Ticket]:
    seed, rate, admission = settings.seed, settings.rate_per_pod, settings.admission
    demand, draws = demands(seed, settings.service_time), error_draws(seed)
    if settings.routing == "shared":
        return ServiceQueue(
            settings.pods, rate, demand, start_s, admission=admission, draws=draws, schedule=schedule
        )
    return PodQueues(
        settings.routing,
        settings.pods,
        rate,
        demand,
        routing_draws(seed),
        start_s,
        admission=admission,
        draws=draws,
        schedule=schedule,
    )
