"""Pods that burn real CPU for their service, for those who doubt a server that only waits.

One thread a pod takes work from the same FIFO order as it becomes free, and burns S = E/rate seconds
of its own CPU time by hashing blocks large enough that Python lets other threads run. What is left over
from the last block is taken off the thread's next piece of work, so the long-run rate is exact as far
as the machine has the CPU to give; where it has not, the completions are late and the clock lag says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import threading
import time
from collections import deque

from target_service.completions import Ticket
from target_service.pods import Deliver
from target_service.queue import QueueState, demands
from target_service.settings import CapacityChange, Order, TargetSettings

_BLOCK = bytes(64 * 1024)


class SpinPods:
    """A thread a pod. A change applies to work not yet started; an outage stops new starts.

    ``busy_s`` counts seconds of service given, of CPU therefore, not the longer time that threads waited
    for a CPU. All fields below the lock belong to it.
    """

    def __init__(self, settings: TargetSettings, deliver: Deliver, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._deliver = deliver
        self._threads: list[threading.Thread] = []
        self._timers: set[asyncio.TimerHandle] = set()
        self._work = threading.Condition()
        self._demand = demands(settings.seed, settings.service_time)
        self._pods = settings.pods
        self._rate_per_pod = settings.rate_per_pod
        self._factor = 1.0
        self._waiting: deque[tuple[float, Ticket]] = deque()
        self._running: dict[Ticket, tuple[float, float, float]] = {}  # started at, seconds of service, demand
        self._finished: deque[tuple[Ticket, float, float]] = deque()
        self._waiting_work = 0.0
        self._arrived = self._completed = self._saturated_completed = 0
        self._busy_done_s = self._saturated_s = 0.0
        self._noted_s = loop.time()
        self._closed = False
        self._staff()

    def submit(self, ticket: Ticket) -> None:
        """A request has arrived at ``ticket.arrived_s``."""
        with self._work:
            demand = next(self._demand)
            self._arrived += 1
            self._waiting.append((demand, ticket))
            self._waiting_work += demand
            self._work.notify()

    def order(self, order: Order) -> None:
        """Change capacity at the time the order names, or now if that has passed."""
        if order.at_s <= self._loop.time():
            self._change(order.change)
            return

        def apply() -> None:
            self._timers.discard(timer)
            self._change(order.change)

        timer = self._loop.call_at(order.at_s, apply)
        self._timers.add(timer)

    @property
    def pending_orders(self) -> int:
        """How many orders have not taken effect yet."""
        return len(self._timers)

    def cancel_orders(self) -> None:
        """Forget every order that has not taken effect."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def state(self) -> QueueState:
        """The queue now."""
        with self._work:
            now_s = time.monotonic()
            self._note(now_s)
            given = [min(now_s - start_s, service_s) for start_s, service_s, _ in self._running.values()]
            left = sum(
                demand * max(0.0, 1 - (now_s - start_s) / service_s) if service_s > 0 else 0.0
                for start_s, service_s, demand in self._running.values()
            )
            return QueueState(
                pods=self._pods,
                rate_per_pod=self._rate_per_pod,
                capacity_factor=self._factor,
                queue_depth=len(self._waiting),
                in_service=len(self._running),
                backlog_s=(self._waiting_work + left) / (self._pods * self._rate_per_pod),
                arrived=self._arrived,
                completed=self._completed,
                busy_s=self._busy_done_s + sum(given),
                saturated_s=self._saturated_s,
                saturated_completed=self._saturated_completed,
            )

    def close(self) -> list[Ticket]:
        """Stop; what has not been completed is returned and will never be. Threads end within a block."""
        self.cancel_orders()
        with self._work:
            self._closed = True
            left = [*self._running, *(ticket for _, ticket in self._waiting)]
            left += [ticket for ticket, _, _ in self._finished]
            self._work.notify_all()
        for thread in self._threads:
            thread.join(timeout=1.0)
        return left

    def _change(self, change: CapacityChange) -> None:
        with self._work:
            self._note(time.monotonic())
            self._pods = self._pods if change.pods is None else change.pods
            self._rate_per_pod = self._rate_per_pod if change.rate_per_pod is None else change.rate_per_pod
            self._factor = self._factor if change.capacity_factor is None else change.capacity_factor
            self._work.notify_all()
        self._staff()

    def _staff(self) -> None:
        # Threads are made for the largest fleet there was; those over the present size only wait.
        while len(self._threads) < self._pods:
            thread = threading.Thread(target=self._serve, name=f"pod-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()

    def _note(self, now_s: float) -> None:
        if len(self._running) == self._pods and self._factor > 0:
            self._saturated_s += now_s - self._noted_s
        self._noted_s = now_s

    def _may_start(self) -> bool:
        return bool(self._waiting) and self._factor > 0 and len(self._running) < self._pods

    def _serve(self) -> None:
        spent_s = 0.0  # CPU burned beyond what the last piece of work asked for
        while True:
            with self._work:
                self._work.wait_for(lambda: self._closed or self._may_start())
                if self._closed:
                    return
                ticket, start_s, service_s = self._take()
            target = time.thread_time() + service_s - spent_s
            while (spent_s := time.thread_time() - target) < 0 and not self._closed:
                hashlib.sha256(_BLOCK)
            with self._work:
                if self._closed:
                    return
                self._finish(ticket, start_s, service_s)
            try:
                self._loop.call_soon_threadsafe(self._hand_over)
            except RuntimeError:  # the loop was closed in between; nobody waits any more
                return

    def _take(self) -> tuple[Ticket, float, float]:
        demand, ticket = self._waiting.popleft()
        self._waiting_work = self._waiting_work - demand if self._waiting else 0.0
        start_s = time.monotonic()
        self._note(start_s)
        service_s = demand / (self._rate_per_pod * self._factor)
        self._running[ticket] = (start_s, service_s, demand)
        return ticket, start_s, service_s

    def _finish(self, ticket: Ticket, start_s: float, service_s: float) -> None:
        self._note(time.monotonic())
        if len(self._running) == self._pods and self._factor > 0:
            self._saturated_completed += 1
        del self._running[ticket]
        self._completed += 1
        self._busy_done_s += service_s
        self._finished.append((ticket, start_s + service_s, service_s))

    def _hand_over(self) -> None:
        while self._finished and not self._closed:
            self._deliver(*self._finished.popleft())
