"""One FIFO queue in front of N pods, as a pure state machine: times come in, completions come out.

Everything is kept in work units. The work clock W(t) = ∫ r dt, r = rate_per_pod · capacity_factor, runs
at the speed of one pod, so a piece of demand E that starts at W = w ends at W = w + E whatever happens
to the rate in between: a change of rate is a new slope of W and touches nothing in service, and an
outage is a slope of 0. A second clock, U, is the wall time during which r > 0.

A pod's next work starts where its last one ended on this clock, not when a timer noticed, so the
long-run rate is exact however late ``advance`` is called (Lindley's recursion for G/G/N).
"""

from __future__ import annotations

import heapq
import math
from bisect import insort
from collections import deque
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from domain.service_time import ServiceTime
from domain.streams import stream
from target_service.settings import CapacityChange

T = TypeVar("T")


def demands(seed: int, service_time: ServiceTime | None = None) -> Iterator[float]:
    """Service demands of mean 1, exponential unless told, one per arrival in arrival order, endlessly."""
    rng = stream(seed, "service")
    service_time = service_time or ServiceTime()
    while True:
        yield service_time.draw(rng)


class Completed(NamedTuple, Generic[T]):
    """A finished piece of work: when it ended on the queue's clock, and the seconds of service it took."""

    item: T
    ideal_end_s: float
    service_s: float


class QueueState(NamedTuple):
    """What a queue looks like at one time; see ``docs/run-directory.md`` for each field."""

    pods: int
    rate_per_pod: float
    capacity_factor: float
    queue_depth: int
    in_service: int
    backlog_s: float
    arrived: int
    completed: int
    busy_s: float
    saturated_s: float
    saturated_completed: int


class _Running(NamedTuple, Generic[T]):
    # Compared as tuples in the heap; `order` is unique, so the comparison never reaches the item.
    end_w: float
    order: int
    start_w: float
    start_u: float
    arrived_s: float
    item: T


class FifoQueue(Generic[T]):
    """The queue. Times are seconds on any one monotonic clock; earlier times than those seen count as now.

    ``arrived``, ``completed`` and ``saturated_completed`` count. Saturated means that exactly ``pods``
    pieces of work are in service and the rate is not 0; while a shrunken fleet still has more than that
    in service it gives more than its capacity, so that time is left out.
    """

    def __init__(self, pods: int, rate_per_pod: float, demand: Iterator[float], start_s: float = 0.0) -> None:
        self.pods = pods
        self.rate_per_pod = rate_per_pod
        self.capacity_factor = 1.0
        self.arrived = 0
        self.completed = 0
        self.saturated_completed = 0
        self._demand = demand
        self._waiting: deque[tuple[float, float, T]] = deque()
        self._waiting_work = 0.0
        self._running: list[_Running[T]] = []
        self._done: list[Completed[T]] = []
        self._changes: list[tuple[float, int, CapacityChange]] = []
        self._orders = 0
        # The current stretch of constant rate began at this point of the three clocks.
        self._from_s, self._from_w, self._from_u = start_s, 0.0, 0.0
        self._rate = rate_per_pod
        self._next_s = math.inf
        self._busy_done_s = 0.0
        self._saturated_done_s = 0.0
        self._saturated_since_u: float | None = None

    @property
    def next_event_s(self) -> float:
        """When ``advance`` has something to do: the next completion or change of capacity; inf if none."""
        return self._next_s

    def arrive(self, now_s: float, item: T) -> None:
        """A request joins the queue; its demand is drawn now. Completions due stay for ``advance``."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        demand = next(self._demand)
        self.arrived += 1
        if len(self._running) < self.pods:
            self._start(self._w_at(now_s), demand, now_s, item)
            self._note_saturation(self._u_at(now_s))
            self._plan()
        else:
            self._waiting.append((demand, now_s, item))
            self._waiting_work += demand

    def advance(self, now_s: float) -> list[Completed[T]]:
        """Everything that has ended by ``now_s`` and was not yet returned, by ideal end."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        done, self._done = self._done, []
        return done

    @property
    def pending_changes(self) -> int:
        """How many changes of capacity are still to come."""
        return len(self._changes)

    def cancel_changes(self) -> None:
        """Forget every change of capacity that has not taken effect."""
        self._changes.clear()
        self._plan()

    def set_capacity(self, at_s: float, change: CapacityChange) -> None:
        """Change capacity at ``at_s``, in the future or a little in the past, exactly on the queue's clock.

        A change in the past moves the work in service as if it had been known then. Work that has been
        returned as completed stays completed; what its pod did too early it then does not do again. A
        time before the last change that took effect counts as the time of that change.
        """
        self._orders += 1
        insort(self._changes, (at_s, self._orders, change))
        self._plan()

    def state(self, now_s: float) -> QueueState:
        """The queue at ``now_s``. Completions that fall due by then stay for ``advance``."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        w, u = self._w_at(now_s), self._u_at(now_s)
        left = sum(job.end_w - max(w, job.start_w) for job in self._running)
        saturated = 0.0 if self._saturated_since_u is None else max(0.0, u - self._saturated_since_u)
        return QueueState(
            pods=self.pods,
            rate_per_pod=self.rate_per_pod,
            capacity_factor=self.capacity_factor,
            queue_depth=len(self._waiting),
            in_service=len(self._running),
            backlog_s=(self._waiting_work + left) / (self.pods * self.rate_per_pod),
            arrived=self.arrived,
            completed=self.completed,
            busy_s=self._busy_done_s + sum(max(0.0, u - job.start_u) for job in self._running),
            saturated_s=self._saturated_done_s + saturated,
            saturated_completed=self.saturated_completed,
        )

    def outstanding(self) -> list[T]:
        """Whatever is queued or in service, oldest first."""
        running = sorted(self._running, key=lambda job: job.order)
        return [job.item for job in running] + [item for _, _, item in self._waiting]

    def _w_at(self, time_s: float) -> float:
        return self._from_w + self._rate * max(0.0, time_s - self._from_s)

    def _u_at(self, time_s: float) -> float:
        return self._from_u + (max(0.0, time_s - self._from_s) if self._rate > 0 else 0.0)

    def _u_of(self, w: float) -> float:
        return self._from_u + ((w - self._from_w) / self._rate if self._rate > 0 else 0.0)

    def _first_end_s(self) -> float:
        if not self._running or self._rate <= 0:
            return math.inf
        return self._from_s + (self._running[0].end_w - self._from_w) / self._rate

    def _plan(self) -> None:
        self._next_s = self._first_end_s()
        if self._changes and self._changes[0][0] < self._next_s:
            self._next_s = self._changes[0][0]

    def _run_to(self, now_s: float) -> None:
        while self._next_s <= now_s:
            end_s = self._first_end_s()
            # What ends exactly when the capacity changes has ended.
            if self._changes and self._changes[0][0] < end_s:
                at_s, _, change = self._changes.pop(0)
                self._change(max(at_s, self._from_s), change)
            else:
                self._complete(end_s)
            self._plan()

    def _complete(self, end_s: float) -> None:
        if len(self._running) == self.pods:
            self.saturated_completed += 1
        job = heapq.heappop(self._running)
        service_s = self._u_of(job.end_w) - job.start_u
        self._busy_done_s += service_s
        self.completed += 1
        self._done.append(Completed(job.item, end_s, service_s))
        self._fill(job.end_w)
        self._note_saturation(self._u_of(job.end_w))

    def _fill(self, free_w: float) -> None:
        while self._waiting and len(self._running) < self.pods:
            demand, arrived_s, item = self._waiting.popleft()
            self._waiting_work -= demand
            # The arrival can be the later one only after a change made in the past.
            self._start(max(free_w, self._w_at(arrived_s)), demand, arrived_s, item)
        if not self._waiting:
            self._waiting_work = 0.0  # rounding must not add up over days

    def _start(self, start_w: float, demand: float, arrived_s: float, item: T) -> None:
        self._orders += 1
        job = _Running(start_w + demand, self._orders, start_w, self._u_of(start_w), arrived_s, item)
        heapq.heappush(self._running, job)

    def _note_saturation(self, u: float) -> None:
        if len(self._running) == self.pods:
            if self._saturated_since_u is None:
                self._saturated_since_u = u
        elif self._saturated_since_u is not None:
            self._saturated_done_s += max(0.0, u - self._saturated_since_u)
            self._saturated_since_u = None

    def _change(self, at_s: float, change: CapacityChange) -> None:
        w, u = self._w_at(at_s), self._u_at(at_s)
        begun_early = {
            job.order: self._w_at(job.arrived_s)
            for job in self._running
            if job.start_w > w or job.arrived_s > at_s
        }
        self._from_s, self._from_w, self._from_u = at_s, w, u
        self.pods = self.pods if change.pods is None else change.pods
        self.rate_per_pod = self.rate_per_pod if change.rate_per_pod is None else change.rate_per_pod
        if change.capacity_factor is not None:
            self.capacity_factor = change.capacity_factor
        self._rate = self.rate_per_pod * self.capacity_factor
        if begun_early:
            self._running = [self._begun_again(job, begun_early) for job in self._running]
            heapq.heapify(self._running)
        self._fill(w)
        self._note_saturation(u)

    def _begun_again(self, job: _Running[T], begun_early: dict[int, float]) -> _Running[T]:
        # Work that began after a change that is only now made known, by the clock as it is now. What began
        # on its arrival begins there again; what followed other work follows it, at the same point of W.
        if job.order not in begun_early:
            return job
        start_w = job.start_w
        if start_w == begun_early[job.order]:
            start_w = self._w_at(job.arrived_s)
        end_w = start_w + (job.end_w - job.start_w)
        return job._replace(start_w=start_w, end_w=end_w, start_u=self._u_of(start_w))
