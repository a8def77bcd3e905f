"""One queue in front of N pods, as a pure state machine: times come in, departures come out.

Everything is kept on a work clock, so a pod's next work starts where its last one ended, not when a
timer noticed, and the long-run rate is exact however late ``advance`` is called (Lindley's recursion for
G/G/N). Whom it lets in, serves next and throws away, the gate decides; a service that degrades turns the
work clock whenever the number in the system changes.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from domain.admission import Admission
from domain.degradation import NO_DEGRADATION, rate_share
from target_service.gate import Departure, Gate
from target_service.schedule import Schedule
from target_service.settings import CapacityChange
from target_service.state import QueueState, state_of
from target_service.waiting import Admitted
from target_service.work_clock import WorkClock

T = TypeVar("T")


class _Running(NamedTuple, Generic[T]):
    # Compared as tuples in the heap; `order` is unique, so the comparison never reaches the attempt.
    end_w: float
    order: int
    start_w: float
    start_u: float
    admitted: Admitted[T]


class ServiceQueue(Generic[T]):
    """The queue. Times are seconds on any one monotonic clock; earlier times than those seen count as now.

    ``saturated_completed`` counts. Saturated means that exactly ``pods`` pieces of work are in service
    and the rate is not 0; while a shrunken fleet still has more than that in service it gives more than
    its capacity, so that time is left out. ``schedule`` is what is to come of its capacity, of as many pods;
    without one, pods that are ordered start at once.
    """

    def __init__(
        self,
        pods: int,
        rate_per_pod: float,
        demand: Iterator[float],
        start_s: float = 0.0,
        *,
        admission: Admission | None = None,
        draws: Iterator[float] | None = None,
        schedule: Schedule | None = None,
    ) -> None:
        admission = admission or Admission()
        self.pods = pods
        self.rate_per_pod = rate_per_pod
        self.capacity_factor = 1.0
        self.saturated_completed = 0
        self._gate: Gate[T] = Gate(admission, demand, draws)
        self._degradation = admission.degradation or NO_DEGRADATION
        self._degrades = admission.degradation is not None
        self._clock = WorkClock(start_s, rate_per_pod)
        self._running: list[_Running[T]] = []
        self._schedule = schedule or Schedule(pods, start_s)
        self._orders = 0
        self._next_s = math.inf
        self._change_next = False
        self._busy_done_s = 0.0
        self._saturated_done_s = 0.0
        self._saturated_since_u: float | None = None

    @property
    def arrived(self) -> int:
        """How many have arrived, whether they were let in or not."""
        return self._gate.arrived

    @property
    def completed(self) -> int:
        """How many have been served to the end."""
        return self._gate.completed

    @property
    def in_system(self) -> int:
        """How many wait or are served."""
        return self._gate.in_system

    @property
    def limit(self) -> float:
        """How many may be in the system now; inf without a limit."""
        return self._gate.limit

    @property
    def next_event_s(self) -> float:
        """When ``advance`` has something to do: the next completion or change of capacity; inf if none."""
        return self._next_s

    @property
    def has_departures(self) -> bool:
        """Whether ``advance`` would return something that has happened already."""
        return bool(self._gate.departures)

    def arrive(self, now_s: float, item: T, attempt: int = 1, deadline_s: float = math.inf) -> int:
        """A request comes; returns its number. What leaves by it, itself perhaps, stays for ``advance``.

        ``attempt`` is 1 for a first attempt; ``deadline_s`` is on the queue's clock.
        """
        if now_s >= self._next_s:
            self._run_to(now_s)
        gate, running = self._gate, len(self._running)
        admitted = gate.admit(now_s, item, attempt, deadline_s, running, self.pods)
        if admitted is None:
            return gate.arrived
        w = self._clock.w_at(now_s)
        if running < self.pods:
            gate.note_no_wait(now_s)
            self._start(w, admitted)
            self._note_saturation(self._clock.u_at(now_s))
        else:
            gate.line.add(admitted)
        if self._degrades:
            self._turn(now_s, w)
        if running < self.pods or self._degrades:
            self._plan()
        return gate.arrived

    def cancel(self, now_s: float, number: int) -> bool:
        """The client of this arrival has gone: it leaves if it waits still. Returns whether it did."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        left = self._gate.cancel(now_s, number)
        if left and self._degrades:
            self._turn(now_s, self._clock.w_at(now_s))
            self._plan()
        return left

    def advance(self, now_s: float) -> list[Departure[T]]:
        """Everything that has left by ``now_s`` and was not yet returned, in the order it happened."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        return self._gate.fetch()

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

    def set_capacity(self, at_s: float, change: CapacityChange) -> None:
        """Change capacity at ``at_s``, in the future or a little in the past, exactly on the queue's clock.

        A change in the past moves the work in service as if it had been known then. Work that has been
        returned as completed stays completed; what its pod did too early it then does not do again. What
        was let in or turned away since stays so. A time before the last change of the rate that took
        effect counts as the time of that change; a service that degrades changes its rate with every
        arrival and departure.
        """
        self._schedule.place(at_s, change)
        self._plan()

    def state(self, now_s: float) -> QueueState:
        """The queue at ``now_s``. What falls due by then stays for ``advance``."""
        if now_s >= self._next_s:
            self._run_to(now_s)
        w, u = self._clock.w_at(now_s), self._clock.u_at(now_s)
        left = sum(job.end_w - max(w, job.start_w) for job in self._running)
        saturated = 0.0 if self._saturated_since_u is None else max(0.0, u - self._saturated_since_u)
        return state_of(
            self._gate,
            pods=self.pods,
            rate_per_pod=self.rate_per_pod,
            capacity_factor=self.capacity_factor,
            rate_share=self._rate_share(),
            in_service=len(self._running),
            draining=max(0, len(self._running) - self.pods),
            replicas=self._schedule.replicas,
            pod_s=self._schedule.pod_seconds(now_s),
            work_left=left,
            busy_s=self._busy_done_s + sum(max(0.0, u - job.start_u) for job in self._running),
            saturated_s=self._saturated_done_s + saturated,
            saturated_completed=self.saturated_completed,
        )

    def outstanding(self) -> list[T]:
        """Whatever is queued or in service, oldest first."""
        running = sorted(self._running, key=lambda job: job.order)
        return [job.admitted.item for job in running] + [one.item for one in self._gate.line]

    def _plan(self) -> None:
        self._next_s = self._clock.time_of(self._running[0].end_w) if self._running else math.inf
        # What ends exactly when the capacity changes has ended.
        change_s = self._schedule.next_s
        self._change_next = change_s < self._next_s
        if self._change_next:
            self._next_s = change_s

    def _run_to(self, now_s: float) -> None:
        while self._next_s <= now_s:
            if self._change_next:
                self._change(*self._schedule.take(self._clock.turned_s))
            else:
                self._complete(self._next_s)
            self._plan()

    def _complete(self, end_s: float) -> None:
        if len(self._running) == self.pods:
            self.saturated_completed += 1
        job = heapq.heappop(self._running)
        ended_u = self._clock.u_of(job.end_w)
        service_s = ended_u - job.start_u
        self._busy_done_s += service_s
        self._gate.complete(job.admitted, end_s, service_s, end_s)
        self._fill(end_s, job.end_w)
        self._note_saturation(ended_u)
        if self._degrades:
            self._turn(end_s, job.end_w)

    def _fill(self, free_s: float, free_w: float) -> None:
        while len(self._running) < self.pods:
            admitted = self._gate.next_to_serve(free_s, self.pods)
            if admitted is None:
                return
            # The arrival can be the later one only after a change made in the past.
            self._start(max(free_w, self._clock.w_at(admitted.arrived_s)), admitted)

    def _start(self, start_w: float, admitted: Admitted[T]) -> None:
        self._orders += 1
        start_u = self._clock.u_of(start_w)
        job = _Running(start_w + admitted.demand, self._orders, start_w, start_u, admitted)
        heapq.heappush(self._running, job)

    def _note_saturation(self, u: float) -> None:
        if len(self._running) == self.pods:
            if self._saturated_since_u is None:
                self._saturated_since_u = u
        elif self._saturated_since_u is not None:
            self._saturated_done_s += max(0.0, u - self._saturated_since_u)
            self._saturated_since_u = None

    def _rate_share(self) -> float:
        if not self._degrades:
            return 1.0
        return rate_share(self._gate.in_system, self._degradation.floor, self._degradation.half_queue)

    def _turn(self, at_s: float, w: float) -> None:
        # The rate has changed, by the number in the system or by order, where the work clock stands at `w`.
        self._clock.turn(at_s, w, self.rate_per_pod * self.capacity_factor * self._rate_share())

    def _change(self, at_s: float, change: CapacityChange) -> None:
        clock = self._clock
        w, u = clock.w_at(at_s), clock.u_at(at_s)
        begun_early = {
            job.order: clock.w_at(job.admitted.arrived_s)
            for job in self._running
            if job.start_w > w or job.admitted.arrived_s > at_s
        }
        self.pods = self.pods if change.pods is None else change.pods
        self.rate_per_pod = self.rate_per_pod if change.rate_per_pod is None else change.rate_per_pod
        if change.capacity_factor is not None:
            self.capacity_factor = change.capacity_factor
        self._turn(at_s, w)
        if begun_early:
            self._running = [self._begun_again(job, begun_early) for job in self._running]
            heapq.heapify(self._running)
        self._fill(at_s, w)
        self._note_saturation(u)
        if self._degrades:
            self._turn(at_s, w)

    def _begun_again(self, job: _Running[T], begun_early: dict[int, float]) -> _Running[T]:
        # Work that began after a change that is only now made known, by the clock as it is now. What began
        # on its arrival begins there again; what followed other work follows it, at the same point of W.
        if job.order not in begun_early:
            return job
        start_w = job.start_w
        if start_w == begun_early[job.order]:
            start_w = self._clock.w_at(job.admitted.arrived_s)
        end_w = start_w + (job.end_w - job.start_w)
        return job._replace(start_w=start_w, end_w=end_w, start_u=self._clock.u_of(start_w))
