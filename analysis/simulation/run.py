"""One simulated run of an experiment: its arrays, its streams, and its way through the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.simulation import kernel
from analysis.simulation.arrays import (
    arrival_chunks,
    capacity_of,
    doubled,
    edges_of,
    empty_trace,
    power_of_two,
    unrolled,
)
from analysis.simulation.choice import needs_events, queue_cap_of, ratio_of
from analysis.simulation.counts import Counts, Floats, Ints
from analysis.staircase import Staircase
from domain.arrivals import ArrivalPlan
from domain.budgets.ratio import RATIO_RESERVE
from domain.experiment import Client, Experiment, Service
from domain.queue_cap import OnRejection, QueueCap
from domain.streams import stream

MOST_BUCKETS = 1 << 21
REJECTIONS: dict[OnRejection, int] = {
    "retry": kernel.RETRY,
    "after-timeout": kernel.AFTER_TIMEOUT,
    "give-up": kernel.GIVE_UP,
}
"""What a client does that is turned away, as the compiled code has it."""


class SimulatedRun:
    """A run that can be taken forward bit by bit.

    Everything is in seconds of the wall clock. With ``recording`` every attempt is kept, for
    ``recorded``; with ``capacity_may_change`` it may, by ``set_capacity``. A ``queue_cap`` or a
    ``retry_budget`` takes the place of the experiment's own. Raises ``ValueError`` when the capacity is
    not known, the edges do not ascend, or the experiment needs the event-driven simulation.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        edges_s: Sequence[float] | Floats | None = None,
        queue_cap: QueueCap | None = None,
        retry_budget: float | None = None,
        preload: int = 0,
        recording: bool = False,
        capacity_may_change: bool = False,
    ) -> None:
        live = experiment.live()
        service, client = live.service, live.client
        if service is None:
            raise ValueError("service: must be known for a simulation (got None)")
        if needs_events(experiment):
            raise ValueError("client, service: has mitigations that only the event-driven simulation knows")
        queue_cap = queue_cap_of(live) if queue_cap is None else queue_cap
        retry_budget = ratio_of(client) if retry_budget is None else retry_budget
        if preload < 0:
            raise ValueError(f"preload: must be at least 0 (got {preload!r})")
        self._service = service
        self._seed = live.run.seed
        self._end_s = live.duration_s
        self._edges_s = edges_of(live, edges_s)
        self._rules = _rules(live, service, queue_cap, retry_budget)
        self._capacity = capacity_of(live, service)
        self._works, self._jitters = stream(self._seed, "service"), stream(self._seed, "jitter")
        self._chunks = arrival_chunks(live.arrival_plan, stream(self._seed, "arrivals"), preload)
        self._arrivals = next(self._chunks, np.empty(0))
        self._ahead = next(self._chunks, None)
        self._place = _place(service.pods)
        self._tally = _tally(self._edges_s, self._capacity)
        self._trace = empty_trace(1024) if recording else None
        waits_for_outcomes = capacity_may_change or retry_budget is not None
        self._ring = _ring(4096) if waits_for_outcomes else None
        self._calendar = self._empty_calendar(client, live.arrival_plan)

    @property
    def sent(self) -> tuple[int, int]:
        """First attempts and all attempts sent so far."""
        return int(self._tally.jobs.sum()), int(self._tally.attempts.sum())

    def done_work(self, now_s: float) -> float:
        """Work done by ``now_s``, to which the run must have been taken."""
        now_w = float(self._capacity.at(np.array([now_s]))[0])
        unfinished = np.maximum(0.0, self._place.free_w - now_w).sum()
        return float(self._place.times[kernel.ACCEPTED_W] - unfinished)

    def set_capacity(self, capacity: Staircase) -> None:
        """The rate of one pod from now on; up to now, and at its first knots, it must be what it was.

        Needs ``capacity_may_change``: otherwise outcomes are settled with the capacity known at sending.
        """
        self._capacity = capacity

    def advance(self, until_s: float) -> None:
        """Run every event before ``until_s``, or to the end of the phases."""
        until_s = min(until_s, self._end_s)
        while True:
            if self._ahead is None or self._arrivals[-1] >= until_s:
                self._run_to(until_s)
                return
            self._run_to(self._arrivals[-1])
            self._read_ahead()

    def finish(self) -> Counts:
        """The counts, once the run has been taken to its end."""
        self._follow_open_attempts()
        tally, rate = self._tally, self._service.rate_per_pod
        inner = slice(1, -1)
        at_edges = tally.done_work[:-1] / rate

        def row(counts: Ints) -> Ints:
            return counts[inner][np.newaxis, :]

        return Counts(
            seeds=(self._seed,),
            edges_s=self._edges_s,
            jobs=row(tally.jobs),
            attempts=row(tally.attempts),
            late=row(tally.late),
            rejected=row(tally.rejected),
            refused=row(tally.refused),
            answered=row(tally.answered),
            busy_s=np.diff(at_edges)[np.newaxis, :],
            depth=tally.depth[1:-1][np.newaxis, :],
            backlog_s=(tally.backlog_work[1:-1] / self._service.capacity_per_s)[np.newaxis, :],
        )

    def recorded(self) -> kernel.Trace:
        """Every attempt of a finished run, in no useful order; needs ``recording``.

        What is not answered by the end of the phases and has not timed out is open: NaN ``done_s``.
        """
        assert self._trace is not None
        rows = int(self._place.numbers[kernel.TRACED])
        trace = kernel.Trace._make(column[:rows] for column in self._trace)
        if self._ring is not None:
            trace = self._with_open_attempts(trace, self._ring)
        is_open = trace.done_s > self._end_s
        return trace._replace(
            done_s=np.where(is_open, np.nan, trace.done_s),
            outcome=np.where(is_open, kernel.OPEN, trace.outcome),
        )

    def saturated(self) -> tuple[Floats, Ints]:
        """Seconds at full rate in which every pod was busy, and completions meanwhile, up to each edge.

        Shape (windows + 1,); needs ``recording``.
        """
        return self._tally.saturated_work[:-1] / self._service.rate_per_pod, self._tally.saturated_done[:-1]

    def served(self) -> tuple[Floats, Floats]:
        """Seconds at full rate of all work done up to each edge, and of that for late attempts.

        Shape (windows + 1,); needs ``recording``, and neither a budget nor a changing capacity.
        """
        rate = self._service.rate_per_pod
        return self._tally.done_work[:-1] / rate, np.cumsum(self._tally.wasted_work[:-1]) / rate

    def completed(self) -> Ints:
        """Attempts served to the end up to each edge, shape (windows + 1,)."""
        accepted = np.cumsum(self._tally.attempts - self._tally.rejected)
        return np.asarray((accepted - self._tally.depth)[:-1])

    def _with_open_attempts(self, ended: kernel.Trace, ring: kernel.Ring) -> kernel.Trace:
        index = self._open_attempts(ring)
        sent_s = ring.sent_s[index]
        times_out_s, done_s = sent_s + self._rules.timeout_s, self._capacity.when(ring.end_w[index])
        outcome = np.where(done_s <= times_out_s, kernel.OK, kernel.LATE).astype(np.int32)
        ends_s = np.minimum(done_s, times_out_s)
        rejected = np.isinf(ring.end_w[index])
        outcome[rejected], ends_s[rejected] = kernel.REJECTED, sent_s[rejected]
        return kernel.Trace(
            job=np.concatenate([ended.job, ring.job[index]]),
            attempt=np.concatenate([ended.attempt, ring.attempt[index]]),
            sent_s=np.concatenate([ended.sent_s, sent_s]),
            done_s=np.concatenate([ended.done_s, ends_s]),
            outcome=np.concatenate([ended.outcome, outcome]),
        )

    def _open_attempts(self, ring: kernel.Ring) -> Ints:
        head, tail = (int(self._place.numbers[i]) for i in (kernel.RING_HEAD, kernel.RING_TAIL))
        return np.arange(head, tail) & (ring.sent_s.size - 1)

    def _run_to(self, until_s: float) -> None:
        knots = self._capacity
        clock = kernel.Clock(knots.knots_s, knots.totals, knots.rates)
        while True:
            status = kernel.advance(
                self._rules,
                clock,
                self._arrivals,
                until_s,
                self._place,
                self._ring,
                self._calendar,
                self._tally,
                self._trace,
                self._works,
                self._jitters,
            )
            if status == kernel.DONE:
                return
            self._enlarge(status)

    def _read_ahead(self) -> None:
        assert self._ahead is not None
        numbers = self._place.numbers
        used = int(numbers[kernel.ARRIVED])
        self._arrivals = np.concatenate([self._arrivals[used:], self._ahead])
        self._ahead = next(self._chunks, None)
        numbers[kernel.EARLIER] += used
        numbers[kernel.ARRIVED] = 0

    def _enlarge(self, status: int) -> None:
        numbers = self._place.numbers
        if status == kernel.FULL_RING:
            assert self._ring is not None
            head, tail = int(numbers[kernel.RING_HEAD]), int(numbers[kernel.RING_TAIL])
            self._ring = kernel.Ring._make(unrolled(column, head, tail) for column in self._ring)
        elif status == kernel.FULL_QUEUE:
            head, tail = int(numbers[kernel.QUEUE_HEAD]), int(numbers[kernel.QUEUE_TAIL])
            self._place = self._place._replace(starts_w=unrolled(self._place.starts_w, head, tail))
        elif status == kernel.FULL_CALENDAR:
            numbers[kernel.FREE_NODE] = self._calendar.nodes.size
            self._calendar = self._longer_calendar()
        else:
            assert self._trace is not None
            self._trace = kernel.Trace._make(doubled(column) for column in self._trace)

    def _empty_calendar(self, client: Client, plan: ArrivalPlan) -> kernel.Calendar:
        peak_per_s = max(s.rate_per_s for s in plan.segments)
        usual_per_s = min(peak_per_s, 16.0 * plan.expected_jobs / self._end_s)
        retries = min(client.max_attempts - 1, 16.0)
        most_s = client.timeout_s + client.backoff.bounds_s(int(min(client.max_attempts, 1000.0)))[1]
        longest_s = min(most_s, self._end_s)
        per_s = 4.0 * max(usual_per_s * retries, 1e-3 / longest_s)
        buckets = power_of_two(min(longest_s * per_s + 4.0, float(MOST_BUCKETS)))
        self._place.times[kernel.BUCKETS_PER_S] = min(per_s, (buckets - 3) / longest_s)
        first, last = np.full((2, buckets), -1, dtype=np.int32)
        return kernel.Calendar(first, last, _free_nodes(0, 256))

    def _longer_calendar(self) -> kernel.Calendar:
        """Room for twice the retries, and with more retries than buckets, twice the buckets, half as wide."""
        old, times = self._calendar, self._place.times
        nodes, buckets = old.nodes.size, old.first.size
        longer = old._replace(nodes=np.concatenate([old.nodes, _free_nodes(nodes, nodes)]))
        if nodes < buckets or buckets >= MOST_BUCKETS:
            return longer
        times[kernel.BUCKETS_PER_S] *= 2.0
        first, last = np.full((2, 2 * buckets), -1, dtype=np.int32)
        finer = longer._replace(first=first, last=last)
        kernel.refile(old, finer, float(times[kernel.BUCKETS_PER_S]))
        return finer

    def _follow_open_attempts(self) -> None:
        """Count what the attempts that are open at the end of the phases come to."""
        if self._ring is None:
            return
        index = self._open_attempts(self._ring)
        sent_s, end_w = self._ring.sent_s[index], self._ring.end_w[index]
        accepted = np.isfinite(end_w)
        late = accepted & (end_w > self._capacity.at(sent_s + self._rules.timeout_s))
        answered = accepted & ~late
        slots = self._tally.late.size
        sent_in = np.searchsorted(self._edges_s, sent_s[late], side="right")
        done_in = np.searchsorted(self._edges_s, self._capacity.when(end_w[answered]), side="right")
        self._tally.late[:] += np.bincount(sent_in, minlength=slots)
        self._tally.answered[:] += np.bincount(done_in, minlength=slots)


def _rules(
    live: Experiment, service: Service, queue_cap: QueueCap | None, retry_budget: float | None
) -> kernel.Rules:
    client = live.client
    if retry_budget is not None and not retry_budget >= 0:
        raise ValueError(f"retry_budget: must be at least 0 (got {retry_budget!r})")
    at_once = (
        queue_cap is not None and queue_cap.on_rejection == "retry" and client.backoff.bounds_s(1)[1] == 0
    )
    if at_once and math.isinf(client.max_attempts) and retry_budget is None:
        raise ValueError(
            "on_rejection: must not be 'retry' for clients that never give up and do not back off "
            "(got 'retry'): a full queue would be asked again and again at one moment"
        )
    rule, base_s, cap_s, multiplier = client.backoff.numbers
    return kernel.Rules(
        timeout_s=client.timeout_s,
        max_attempts=float(client.max_attempts),
        backoff=rule,
        base_s=base_s,
        cap_s=cap_s,
        multiplier=multiplier,
        budget=-1.0 if retry_budget is None else float(retry_budget),
        work=service.service_time.code,
        shape=service.service_time.parameter,
        places=-1 if queue_cap is None else queue_cap.places,
        on_rejection=kernel.RETRY if queue_cap is None else REJECTIONS[queue_cap.on_rejection],
        end_s=live.duration_s,
    )


def _place(pods: int) -> kernel.Place:
    return kernel.Place(
        numbers=np.zeros(kernel.NUMBERS, dtype=np.int64),
        times=np.array([0.0, RATIO_RESERVE, math.inf, 0.0, 0.0, -math.inf]),
        free_w=np.zeros(pods),
        starts_w=np.zeros(4096),
    )


def _ring(size: int) -> kernel.Ring:
    return kernel.Ring(
        np.zeros(size), np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int32)
    )


def _tally(edges_s: Floats, capacity: Staircase) -> kernel.Tally:
    counts = np.zeros((8, edges_s.size + 1), dtype=np.int64)
    jobs, attempts, late, rejected, refused, answered, depth, saturated_done = counts
    done_work, backlog_work, saturated_work, wasted_work = np.zeros((4, edges_s.size + 1))
    return kernel.Tally(
        edges_s,
        jobs,
        attempts,
        late,
        rejected,
        refused,
        answered,
        done_work,
        depth,
        backlog_work,
        saturated_work,
        saturated_done,
        capacity.at(edges_s),
        wasted_work,
    )


def _free_nodes(first: int, count: int) -> NDArray[np.void]:
    """``count`` nodes in a list of their own; the first has the number ``first``."""
    nodes = np.zeros(count, dtype=kernel.RETRY_NODE)
    nodes["following"] = np.arange(first + 1, first + count + 1)
    nodes["following"][-1] = -1
    return nodes
