"""Pods that each have a queue of their own behind a router: one ``ServiceQueue`` a pod, on one clock.

Where an arrival goes is decided at its arrival and stays so. A pod that is given up takes nothing new and
serves what it has; a new one starts empty. Every pod has the service's defences for itself: a queue cap is
so many places before each, a limit so many in each, CoDel and degradation know the pod's own queue only.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Generic, TypeVar

from domain.admission import Admission
from domain.routing import Routing, chosen_pod
from target_service.gate import Departure
from target_service.queue import ServiceQueue
from target_service.schedule import Schedule
from target_service.settings import CapacityChange
from target_service.state import QueueState
from target_service.work_clock import WorkClock

T = TypeVar("T")

_NUMBERS = 1 << 48
_SUMMED = (
    "queue_depth",
    "in_service",
    "arrived",
    "completed",
    "errors",
    "rejected",
    "shed",
    "expired",
    "cancelled",
    "busy_s",
)


class _Pod(Generic[T]):
    # `place` is where it stands among the ready pods, the oldest first; -1 once it has been given up.
    __slots__ = ("place", "planned_s", "queue", "serial")

    def __init__(self, serial: int, place: int, queue: ServiceQueue[T]) -> None:
        self.serial, self.place, self.queue = serial, place, queue
        self.planned_s = math.inf


class PodQueues(Generic[T]):
    """The pods and their queues, with what ``ServiceQueue`` has. Times are seconds on any one clock.

    ``demand`` and ``draws`` are shared, one for each that is let in, in order; ``choices`` are uniform draws,
    asked once per arrival unless the routing is ``round-robin``. Saturated means that every ready pod is
    busy and the rate is not 0; ``saturated_completed`` counts what these pods complete then.
    """

    def __init__(
        self,
        routing: Routing,
        pods: int,
        rate_per_pod: float,
        demand: Iterator[float],
        choices: Iterator[float],
        start_s: float = 0.0,
        *,
        admission: Admission | None = None,
        draws: Iterator[float] | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        self.rate_per_pod = rate_per_pod
        self.capacity_factor = 1.0
        self.saturated_completed = 0
        self._routing, self._choices, self._routed = routing, choices, 0
        self._demand, self._draws, self._admission = demand, draws, admission
        self._schedule = schedule or Schedule(pods, start_s)
        self._clock = WorkClock(start_s, rate_per_pod)
        self._serials = 0
        self._by_serial: dict[int, _Pod[T]] = {}
        self._ready: list[_Pod[T]] = []
        self._in_system: list[int] = []
        self._busy = 0
        # When each pod has something to do; an entry that its pod no longer says is stale.
        self._events: list[tuple[float, int]] = []
        self._next_s = math.inf
        self._change_next = False
        self._departures: list[Departure[T]] = []
        self._gone: dict[str, float] = dict.fromkeys(_SUMMED, 0)
        self._saturated_done_s = 0.0
        self._saturated_since_u: float | None = None
        self._resize(start_s, pods)

    @property
    def pods(self) -> int:
        """How many are ready."""
        return len(self._ready)

    @property
    def next_event_s(self) -> float:
        """When ``advance`` has something to do: the next completion or change of capacity; inf if none."""
        return self._next_s

    @property
    def has_departures(self) -> bool:
        """Whether ``advance`` would return something that has happened already."""
        return bool(self._departures)

    def arrive(self, now_s: float, item: T, attempt: int = 1, deadline_s: float = math.inf) -> int:
        """A request comes and goes to a pod; returns its number. What leaves by it stays for ``advance``."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        u = 0.0 if self._routing == "round-robin" else next(self._choices)
        pod = self._ready[chosen_pod(self._routing, self._routed, self._in_system, u)]
        self._routed += 1
        number = pod.queue.arrive(now_s, item, attempt, deadline_s)
        self._settle(pod, now_s)
        self._note_saturation(self._clock.u_at(now_s))
        self._plan()
        return pod.serial * _NUMBERS + number

    def cancel(self, now_s: float, number: int) -> bool:
        """The client of this arrival has gone: it leaves if it waits still. Returns whether it did."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        serial, number = divmod(number, _NUMBERS)
        pod = self._by_serial.get(serial)
        if pod is None or not pod.queue.cancel(now_s, number):
            return False
        self._settle(pod, now_s)
        self._plan()
        return True

    def advance(self, now_s: float) -> list[Departure[T]]:
        """Everything that has left by ``now_s`` and was not yet returned, in the order it happened."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        departures, self._departures = self._departures, []
        return departures

    def set_capacity(self, at_s: float, change: CapacityChange) -> None:
        """Change capacity at ``at_s``, as ``ServiceQueue.set_capacity`` does. A pod that is given up in the
        past keeps what was sent to it since, and what was sent elsewhere does not come to a new one."""
        self._schedule.place(at_s, change)
        self._plan()

    def cancel_changes(self) -> None:
        """Forget every change of capacity that has not taken effect; pods that start go on doing so."""
        self._schedule.cancel()
        self._plan()

    def scale(self, now_s: float, replicas: int) -> None:
        """Order so many pods in all: new ones serve after the dead time, the newest are given up at once."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        self._schedule.scale(now_s, replicas)
        self._plan()

    def state(self, now_s: float) -> QueueState:
        """All queues together at ``now_s``: counts, seconds of work and concurrency limits of ready pods are
        sums, ``rate_share`` is the mean over them. What falls due by then stays for ``advance``."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        states = {serial: pod.queue.state(now_s) for serial, pod in self._by_serial.items()}
        ready = [states[pod.serial] for pod in self._ready]
        sums = dict(self._gone)
        for state in states.values():
            for name in _SUMMED:
                sums[name] += getattr(state, name)
        u, since_u = self._clock.u_at(now_s), self._saturated_since_u
        limits = [state.limit for state in ready if state.limit is not None]
        replicas, pods = self._schedule.replicas, self.pods
        return QueueState(
            **sums,  # type: ignore[arg-type]  # counts are whole, seconds are not
            pods=pods,
            replicas=replicas,
            starting=replicas - pods,
            draining=sum(pod.place < 0 for pod in self._by_serial.values()),
            pod_s=self._schedule.pod_seconds(now_s),
            rate_per_pod=self.rate_per_pod,
            capacity_factor=self.capacity_factor,
            rate_share=sum(state.rate_share for state in ready) / pods,
            backlog_s=sum(state.backlog_s for state in states.values()) / pods,
            limit=sum(limits) if limits else None,
            saturated_s=self._saturated_done_s + (0.0 if since_u is None else max(0.0, u - since_u)),
            saturated_completed=self.saturated_completed,
        )

    def outstanding(self) -> list[T]:
        """Whatever is queued or in service, pod by pod, oldest first."""
        return [item for pod in self._by_serial.values() for item in pod.queue.outstanding()]

    def _plan(self) -> None:
        events = self._events
        while events and self._is_stale(*events[0]):
            heapq.heappop(events)
        first_s = events[0][0] if events else math.inf
        self._next_s = min(first_s, self._schedule.next_s)
        # What ends exactly when the capacity changes has ended.
        self._change_next = self._next_s < first_s

    def _is_stale(self, at_s: float, serial: int) -> bool:
        pod = self._by_serial.get(serial)
        return pod is None or pod.planned_s != at_s

    def _run_to(self, now_s: float) -> None:
        while self._next_s <= now_s:
            if self._change_next:
                self._change(*self._schedule.take(self._clock.turned_s))
            else:
                at_s, serial = heapq.heappop(self._events)
                self._complete(self._by_serial[serial], at_s)
            self._plan()

    def _complete(self, pod: _Pod[T], at_s: float) -> None:
        before = pod.queue.completed
        saturated = pod.place >= 0 and self._busy == self.pods
        pod.planned_s = math.inf
        self._departures += pod.queue.advance(at_s)
        self._settle(pod, at_s)
        if saturated:
            self.saturated_completed += pod.queue.completed - before
        self._note_saturation(self._clock.u_at(at_s))

    def _settle(self, pod: _Pod[T], at_s: float) -> None:
        """Something has happened to this pod: keep its length and when it has to do something next."""
        queue = pod.queue
        if queue.has_departures:
            self._departures += queue.advance(at_s)
        if pod.place >= 0:
            before, now = self._in_system[pod.place], queue.in_system
            self._in_system[pod.place] = now
            self._busy += (now > 0) - (before > 0)
        elif not queue.in_system:
            self._retire(pod, at_s)
        if queue.next_event_s != pod.planned_s:
            pod.planned_s = queue.next_event_s
            if pod.planned_s < math.inf:
                heapq.heappush(self._events, (pod.planned_s, pod.serial))

    def _change(self, at_s: float, change: CapacityChange) -> None:
        w, u = self._clock.w_at(at_s), self._clock.u_at(at_s)
        if change.rate_per_pod is not None:
            self.rate_per_pod = change.rate_per_pod
        if change.capacity_factor is not None:
            self.capacity_factor = change.capacity_factor
        if change.rate_per_pod is not None or change.capacity_factor is not None:
            for pod in list(self._by_serial.values()):
                self._turn(pod.queue, at_s)
                self._settle(pod, at_s)
        if change.pods is not None:
            self._resize(at_s, change.pods)
        self._note_saturation(u)
        self._clock.turn(at_s, w, self.rate_per_pod * self.capacity_factor)

    def _turn(self, queue: ServiceQueue[T], at_s: float) -> None:
        change = CapacityChange(None, self.rate_per_pod, self.capacity_factor)
        queue.set_capacity(at_s, change)
        self._departures += queue.advance(at_s)

    def _resize(self, at_s: float, pods: int) -> None:
        while self.pods > pods:
            pod = self._ready.pop()
            pod.place = -1
            self._busy -= self._in_system.pop() > 0
            if not pod.queue.in_system:
                self._retire(pod, at_s)
        while self.pods < pods:
            self._hire(at_s)

    def _hire(self, at_s: float) -> None:
        queue: ServiceQueue[T] = ServiceQueue(
            1, self.rate_per_pod, self._demand, at_s, admission=self._admission, draws=self._draws
        )
        if self.capacity_factor != 1.0:
            self._turn(queue, at_s)
        pod = _Pod(self._serials, self.pods, queue)
        self._serials += 1
        self._by_serial[pod.serial] = pod
        self._ready.append(pod)
        self._in_system.append(0)

    def _retire(self, pod: _Pod[T], at_s: float) -> None:
        state = pod.queue.state(at_s)
        for name in _SUMMED:
            self._gone[name] += getattr(state, name)
        del self._by_serial[pod.serial]

    def _note_saturation(self, u: float) -> None:
        if self._busy == self.pods:
            if self._saturated_since_u is None:
                self._saturated_since_u = u
        elif self._saturated_since_u is not None:
            self._saturated_done_s += max(0.0, u - self._saturated_since_u)
            self._saturated_since_u = None
