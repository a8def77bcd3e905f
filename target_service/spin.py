"""Pods that burn real CPU for their service, for those who doubt a server that only waits.

One thread a pod serves whom the gate says is next as it becomes free, and burns S = E/rate seconds
of its own CPU time by hashing blocks large enough that Python lets other threads run. What is left over
from the last block is taken off the thread's next piece of work, so the long-run rate is exact as far
as the machine has the CPU to give; where it has not, the completions are late and the clock lag says so.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
import time
from collections import deque
from typing import NamedTuple

from target_service.completions import Ticket
from target_service.draws import demands, error_draws
from target_service.gate import Gate
from target_service.pods import Deliver
from target_service.schedule import Schedule
from target_service.settings import CapacityChange, Order, TargetSettings
from target_service.state import QueueState, state_of
from target_service.waiting import Admitted

_BLOCK = bytes(64 * 1024)


class _Begun(NamedTuple):
    # A piece of work that a pod has or is about to take up.
    admitted: Admitted[Ticket]
    start_s: float
    service_s: float


class SpinPods:
    """A thread a pod. A change applies to work not yet started; an outage stops new starts.

    ``busy_s`` counts seconds of service given, of CPU therefore, not the longer time that threads waited
    for a CPU. All fields below the lock belong to it; ``schedule`` is the loop's.
    """

    def __init__(self, settings: TargetSettings, deliver: Deliver, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._deliver = deliver
        self._threads: list[threading.Thread] = []
        self.schedule = Schedule(settings.pods, loop.time(), settings.dead_time_s)
        self._timer: asyncio.TimerHandle | None = None
        self._work = threading.Condition()
        self._gate: Gate[Ticket] = Gate(
            settings.admission, demands(settings.seed, settings.service_time), error_draws(settings.seed)
        )
        self._pods = settings.pods
        self._rate_per_pod = settings.rate_per_pod
        self._factor = 1.0
        self._begun: deque[_Begun] = deque()
        self._running: dict[int, _Begun] = {}
        self._saturated_completed = 0
        self._busy_done_s = self._saturated_s = 0.0
        self._noted_s = loop.time()
        self._closed = False
        self._staff()

    def submit(self, ticket: Ticket) -> None:
        """A request has arrived at ``ticket.arrived_s``; it may have left when this returns."""
        with self._work:
            gate, running, pods = self._gate, len(self._running), self._open_pods
            now_s = ticket.arrived_s
            admitted = gate.admit(now_s, ticket, ticket.attempt, ticket.deadline_s, running, pods)
            ticket.number = gate.arrived
            if admitted is None:
                pass
            elif running < pods:
                gate.note_no_wait(now_s)
                self._begin(admitted, now_s)
            else:
                gate.line.add(admitted)
        self._hand_over()

    def cancel(self, ticket: Ticket) -> None:
        """The client has gone: the request leaves if it still waits."""
        with self._work:
            self._gate.cancel(self._loop.time(), ticket.number)
        self._hand_over()

    def order(self, order: Order) -> None:
        """Change capacity at the time the order names, or now if that has passed."""
        self._tick()
        self.schedule.place(max(order.at_s, self._loop.time()), order.change)
        self._tick()

    def scale(self, replicas: int) -> None:
        """Order so many pods in all, now."""
        self._tick()
        self.schedule.scale(self._loop.time(), replicas)
        self._tick()

    def cancel_orders(self) -> None:
        """Forget every order that has not taken effect; pods that start go on doing so."""
        self._tick()
        self.schedule.cancel()
        self._tick()

    def state(self) -> QueueState:
        """The queue now."""
        self._tick()
        with self._work:
            now_s = time.monotonic()
            self._note(now_s)
            running = self._running.values()
            given = [min(now_s - one.start_s, one.service_s) for one in running]
            left = sum(
                one.admitted.demand * max(0.0, 1 - (now_s - one.start_s) / one.service_s)
                for one in running
                if one.service_s > 0
            )
            return state_of(
                self._gate,
                pods=self._pods,
                rate_per_pod=self._rate_per_pod,
                capacity_factor=self._factor,
                rate_share=1.0,
                in_service=len(running),
                draining=max(0, len(running) - self._pods),
                replicas=self.schedule.replicas,
                pod_s=self.schedule.pod_seconds(now_s),
                work_left=left,
                busy_s=self._busy_done_s + sum(given),
                saturated_s=self._saturated_s,
                saturated_completed=self._saturated_completed,
            )

    def close(self) -> list[Ticket]:
        """Stop; what has not been completed is returned and will never be. Threads end within a block."""
        if self._timer is not None:
            self._timer.cancel()
        with self._work:
            self._closed = True
            left = [one.admitted.item for one in self._running.values()]
            left += [one.item for one in self._gate.line]
            left += [departure.item for departure in self._gate.departures]
            self._work.notify_all()
        for thread in self._threads:
            thread.join(timeout=1.0)
        return left

    @property
    def _open_pods(self) -> int:
        # Pods that take work up: none in an outage.
        return self._pods if self._factor > 0 else 0

    def _tick(self) -> None:
        """Whatever has fallen due takes effect, and a timer wakes up for what comes next."""
        schedule = self.schedule
        while schedule.next_s <= self._loop.time():
            _, change = schedule.take(-math.inf)
            self._change(change)
        if self._timer is not None:
            self._timer.cancel()
        waits = schedule.next_s < math.inf and not self._closed
        self._timer = self._loop.call_at(schedule.next_s, self._tick) if waits else None

    def _change(self, change: CapacityChange) -> None:
        with self._work:
            now_s = time.monotonic()
            self._note(now_s)
            self._pods = self._pods if change.pods is None else change.pods
            self._rate_per_pod = self._rate_per_pod if change.rate_per_pod is None else change.rate_per_pod
            self._factor = self._factor if change.capacity_factor is None else change.capacity_factor
            self._fill(now_s)
        self._staff()
        self._hand_over()

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

    def _fill(self, now_s: float) -> None:
        while len(self._running) < self._open_pods:
            admitted = self._gate.next_to_serve(now_s, self._pods)
            if admitted is None:
                return
            self._begin(admitted, now_s)

    def _begin(self, admitted: Admitted[Ticket], now_s: float) -> None:
        self._note(now_s)
        begun = _Begun(admitted, now_s, admitted.demand / (self._rate_per_pod * self._factor))
        self._running[admitted.number] = begun
        self._begun.append(begun)
        self._work.notify()

    def _serve(self) -> None:
        spent_s = 0.0  # CPU burned beyond what the last piece of work asked for
        while True:
            with self._work:
                self._work.wait_for(lambda: self._closed or self._begun)
                if self._closed:
                    return
                begun = self._begun.popleft()
            target = time.thread_time() + begun.service_s - spent_s
            while (spent_s := time.thread_time() - target) < 0 and not self._closed:
                hashlib.sha256(_BLOCK)
            with self._work:
                if self._closed:
                    return
                self._finish(begun)
            try:
                self._loop.call_soon_threadsafe(self._hand_over)
            except RuntimeError:  # the loop was closed in between; nobody waits any more
                return

    def _finish(self, begun: _Begun) -> None:
        now_s = time.monotonic()
        self._note(now_s)
        if len(self._running) == self._pods and self._factor > 0:
            self._saturated_completed += 1
        del self._running[begun.admitted.number]
        self._busy_done_s += begun.service_s
        self._gate.complete(begun.admitted, now_s, begun.service_s, begun.start_s + begun.service_s)
        self._fill(now_s)

    def _hand_over(self) -> None:
        with self._work:
            departures = [] if self._closed else self._gate.fetch()
        for departure in departures:
            self._deliver(departure)
