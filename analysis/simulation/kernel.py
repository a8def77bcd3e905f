"""The compiled heart of the simulation: a first-in first-out service and its retrying clients.

An attempt's work ends at max(when a pod is free, its arrival) + work, on the work clock W(t) = ∫ rate dt
of one pod, so its end is known when it arrives (Lindley's recursion, for many pods the Kiefer–Wolfowitz
one), and a change of capacity is a new slope of W. It is late iff W(sent + T) has not reached its end.

As a rule the capacity is known ahead: then the outcome is known on arrival, and only retries wait. With
a ``ring`` the outcome is decided a timeout after sending, when the service that was really given and the
state of the retry budget are known. All attempts wait equally long for that, so a ring holds them; only
retries need an order, which a calendar queue keeps (R. Brown, CACM 31(10), 1988): buckets a quarter as
wide as the time between two attempts, each a sorted list that is nearly always empty or of one entry.

``ring`` and ``trace`` may be None; numba compiles each case apart and leaves out what it does not need.
The rules are those of ``domain``, compiled: backoff, attempts left, ratio budget, service time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.compiled import compiled, compiled_rule
from domain import backoff, retry, service_time
from domain.budgets import ratio

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_delay_s = compiled_rule(backoff.delay_s)
_attempts_left = compiled(retry.attempts_left)
_exponential_work = compiled(service_time.exponential_work)
_draw_work = compiled(service_time.draw_work)
_ratio_balance = compiled(ratio.ratio_balance)
_ratio_allows = compiled(ratio.ratio_allows)

FULL_JITTER = backoff.FULL_JITTER
RETRY, AFTER_TIMEOUT, GIVE_UP = range(3)
DONE, FULL_RING, FULL_QUEUE, FULL_CALENDAR, FULL_TRACE = range(5)
OK, LATE, REJECTED, OPEN = range(4)


class Rules(NamedTuple):
    """What stays the same throughout a run. Times in seconds; ``budget`` and ``places`` < 0: none."""

    timeout_s: float
    max_attempts: float
    backoff: int
    base_s: float
    cap_s: float
    multiplier: float
    budget: float
    work: int
    shape: float
    places: int
    on_rejection: int
    end_s: float
    """Nothing is sent from then on."""


class Tally(NamedTuple):
    """Counts per window; entry 0 is before the first edge, the last one after the last edge."""

    edges_s: Floats
    jobs: Ints
    attempts: Ints
    late: Ints
    rejected: Ints
    refused: Ints
    answered: Ints
    done_work: Floats
    depth: Ints
    backlog_work: Floats
    saturated_work: Floats
    """Time on the work clock in which every pod was busy; with a trace only, like the next."""
    saturated_done: Ints
    """Completions while every pod was busy."""
    edges_w: Floats
    """The work clock at the edges, as far as it is known ahead."""
    wasted_work: Floats
    """Work done for attempts that came back late; with a trace and without a ring only."""


class Clock(NamedTuple):
    """The work clock of one pod: W = ``work`` + ``slope`` · (t − ``at_s``) from each knot on."""

    at_s: Floats
    work: Floats
    slope: Floats


class Ring(NamedTuple):
    """Attempts whose outcome is open, in the order of sending; the length is a power of two."""

    sent_s: Floats
    end_w: Floats
    job: Ints
    attempt: Shorts


RETRY_NODE = np.dtype(
    [("due_s", np.float64), ("job", np.int64), ("attempt", np.int32), ("following", np.int32)]
)


class Calendar(NamedTuple):
    """Retries in backoff: ``first`` and ``last`` have one entry a bucket, ``nodes`` one a retry."""

    first: Shorts
    last: Shorts
    nodes: NDArray[np.void]
    """Of ``RETRY_NODE``; those that are free are a list, too."""


class Trace(NamedTuple):
    """One row per attempt that has an outcome."""

    job: Ints
    attempt: Shorts
    sent_s: Floats
    done_s: Floats
    outcome: Shorts


class Place(NamedTuple):
    """Where the run stands: ``numbers`` and ``times`` by the indices below; ``free_w`` is a heap."""

    numbers: Ints
    times: Floats
    free_w: Floats
    starts_w: Floats


# numbers
ARRIVED, RING_HEAD, RING_TAIL, QUEUE_HEAD, QUEUE_TAIL = range(5)
FREE_NODE, RETRIES, BEYOND_END, WINDOW, SENT_WINDOW, KNOT, TRACED, EARLIER, SATURATIONS, WASTED = range(5, 15)
NUMBERS = 15
# times
ACCEPTED_W, BALANCE, NEXT_RETRY_S, BUCKETS_PER_S, SATURATED_W, SATURATED_UNTIL_W = range(6)


@compiled
def _occupy(free_w: Floats, end_w: float) -> None:
    """Give the pod that is free first (the root of the heap) work until ``end_w``."""
    size = free_w.size
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and free_w[child + 1] < free_w[child]:
            child += 1
        if free_w[child] >= end_w:
            break
        free_w[at] = free_w[child]
        at = child
    free_w[at] = end_w


@compiled
def _unfinished_w(free_w: Floats, now_w: float) -> float:
    total = 0.0
    for end in free_w:
        total += max(0.0, end - now_w)
    return total


@compiled
def _time_of(clock: Clock, knot: int, work: float) -> float:
    """When the clock reached ``work``, at or before the stretch that begins at ``knot``."""
    while knot > 0 and clock.work[knot] >= work:
        knot -= 1
    return float(clock.at_s[knot] + (work - clock.work[knot]) / clock.slope[knot])


@compiled
def _put(calendar: Calendar, node: int, per_s: float) -> None:
    """File retry ``node`` under the bucket of its due time; retries due together keep their order."""
    first, last, nodes = calendar.first, calendar.last, calendar.nodes
    due_s = nodes[node].due_s
    bucket = np.int64(due_s * per_s) & (first.size - 1)
    tail = last[bucket]
    if tail < 0:
        first[bucket] = node
        last[bucket] = node
        nodes[node].following = -1
    elif nodes[tail].due_s <= due_s:
        nodes[tail].following = node
        nodes[node].following = -1
        last[bucket] = node
    else:
        here = first[bucket]
        if nodes[here].due_s > due_s:
            first[bucket] = node
            nodes[node].following = here
        else:
            while nodes[nodes[here].following].due_s <= due_s:
                here = nodes[here].following
            nodes[node].following = nodes[here].following
            nodes[here].following = node


@compiled
def refile(old: Calendar, new: Calendar, per_s: float) -> None:
    """File every retry of ``old`` in ``new``, which has empty buckets, ``per_s`` of them a second."""
    for first in old.first:
        node = first
        while node >= 0:
            following = old.nodes[node].following
            _put(new, node, per_s)
            node = following


@compiled
def _write(
    trace: Trace, row: int, job: int, attempt: int, sent_s: float, done_s: float, outcome: int
) -> None:
    trace.job[row] = job
    trace.attempt[row] = attempt
    trace.sent_s[row] = sent_s
    trace.done_s[row] = done_s
    trace.outcome[row] = outcome


@compiled
def advance(  # noqa: PLR0912, PLR0915 - one loop: every call out of it would cost a tenth of its speed
    rules: Rules,
    clock: Clock,
    arrivals_s: Floats,
    until_s: float,
    place: Place,
    ring: Ring | None,
    calendar: Calendar,
    tally: Tally,
    trace: Trace | None,
    works: np.random.Generator,
    jitters: np.random.Generator,
) -> int:
    """Run every event before ``until_s``; the rest of ``arrivals_s`` stays for the next call.

    Returns ``DONE``, or which array is full: it must be made larger before the run can go on. Without a
    ``ring`` the clock must be right beyond ``until_s``, and there can be no budget.
    """
    numbers, times = place.numbers, place.times
    free_w, starts_w = place.free_w, place.starts_w
    pods, first_free_w = free_w.size, free_w[0]
    arrived, arrivals = np.uint64(numbers[ARRIVED]), np.uint64(arrivals_s.size)
    head, tail = numbers[RING_HEAD], numbers[RING_TAIL]
    queue_head, queue_tail = numbers[QUEUE_HEAD], numbers[QUEUE_TAIL]
    free_node, retries = numbers[FREE_NODE], numbers[RETRIES]
    window, knot, traced = numbers[WINDOW], numbers[KNOT], numbers[TRACED]
    sent_window, beyond_end, saturations = numbers[SENT_WINDOW], numbers[BEYOND_END], numbers[SATURATIONS]
    wasted = numbers[WASTED]  # the first window that late work can still fall in: it starts in order
    saturated_w, saturated_until_w = times[SATURATED_W], times[SATURATED_UNTIL_W]
    accepted_w, balance = times[ACCEPTED_W], times[BALANCE]
    next_retry_s, per_s = times[NEXT_RETRY_S], times[BUCKETS_PER_S]
    queue_mask, bucket_mask = starts_w.size - 1, calendar.first.size - 1
    first, last, nodes = calendar.first, calendar.last, calendar.nodes
    edges, windows = tally.edges_s, tally.edges_s.size
    knots, ahead = clock.at_s.size, knot
    timeout_s, places, jittered = rules.timeout_s, rules.places, rules.backoff >= FULL_JITTER
    exponential = rules.work == service_time.EXPONENTIAL
    earlier = numbers[EARLIER]  # arrivals of calls before this one: jobs are numbered through
    jobs = attempts = late = 0  # of the present window, not yet written down
    knot_s, knot_w, slope = clock.at_s[knot], clock.work[knot], clock.slope[knot]
    boundary_s = -math.inf  # nothing but arrivals, outcomes and retries happens before this
    status = DONE

    while True:
        arrival_s = arrivals_s[arrived] if arrived < arrivals else math.inf
        now_s = min(next_retry_s, arrival_s)
        check_s = math.inf
        if ring is not None:
            if tail > head:
                check_s = ring.sent_s[head & (ring.sent_s.size - 1)] + timeout_s
                now_s = min(now_s, check_s)

        if now_s >= boundary_s:
            free_w[0] = first_free_w
            tally.jobs[window] += jobs
            tally.attempts[window] += attempts
            tally.late[window] += late
            jobs = attempts = late = 0
            while window < windows and edges[window] <= min(now_s, until_s):
                edge_s = edges[window]
                at = knot
                while at + 1 < knots and clock.at_s[at + 1] <= edge_s:
                    at += 1
                edge_w = clock.work[at] + clock.slope[at] * (edge_s - clock.at_s[at])
                while queue_head < queue_tail and starts_w[queue_head & queue_mask] <= edge_w:
                    queue_head += 1
                unfinished_w = _unfinished_w(free_w, edge_w)
                serving = 0
                for end_w in free_w:
                    serving += end_w > edge_w
                tally.done_work[window] = accepted_w - unfinished_w
                tally.backlog_work[window] = unfinished_w
                tally.depth[window] = queue_tail - queue_head + serving
                if trace is not None:
                    # Each start of one that waited is a completion among busy pods, and so is the last
                    # completion of a saturation that is over.
                    tally.saturated_work[window] = saturated_w - max(0.0, saturated_until_w - edge_w)
                    tally.saturated_done[window] = queue_head + saturations - (saturated_until_w > edge_w)
                window += 1
            while knot + 1 < knots and clock.at_s[knot + 1] <= now_s:
                knot += 1
            knot_s, knot_w, slope = clock.at_s[knot], clock.work[knot], clock.slope[knot]
            if now_s >= until_s:
                break
            boundary_s = until_s
            if window < windows:
                boundary_s = min(boundary_s, edges[window])
            if knot + 1 < knots:
                boundary_s = min(boundary_s, clock.at_s[knot + 1])

        now_w = knot_w + slope * (now_s - knot_s)
        if free_node < 0:
            status = FULL_CALENDAR
        if places >= 0 or queue_tail - queue_head > queue_mask:
            while queue_head < queue_tail and starts_w[queue_head & queue_mask] <= now_w:
                queue_head += 1
            if queue_tail - queue_head > queue_mask:
                status = FULL_QUEUE
        if ring is not None:
            if tail - head >= ring.sent_s.size:
                status = FULL_RING
        if trace is not None:
            if traced == trace.job.size:
                status = FULL_TRACE
        if status != DONE:
            free_w[0] = first_free_w
            tally.jobs[window] += jobs
            tally.attempts[window] += attempts
            tally.late[window] += late
            break

        job, failed, from_s = np.int64(0), np.int32(0), now_s
        sending = True
        if ring is not None:
            if check_s <= next_retry_s and check_s <= arrival_s:
                # A timeout after it was sent, the outcome of the oldest open attempt is known.
                sending = False
                at = head & (ring.sent_s.size - 1)
                head += 1
                sent_s, end_w = ring.sent_s[at], ring.end_w[at]
                job, attempt = ring.job[at], ring.attempt[at]
                while sent_window < windows and edges[sent_window] <= sent_s:
                    sent_window += 1
                done_s, outcome = now_s, LATE
                if end_w <= now_w:
                    outcome = OK
                    done_s = _time_of(clock, knot, end_w)
                    answered = window
                    while answered > 0 and done_s < edges[answered - 1]:
                        answered -= 1
                    tally.answered[answered] += 1
                else:
                    failed = attempt
                    if end_w == math.inf:
                        outcome = REJECTED
                        done_s = sent_s
                    else:
                        tally.late[sent_window] += 1
                if trace is not None:
                    _write(trace, traced, job, attempt, sent_s, done_s, outcome)
                    traced += 1

        if sending:
            if next_retry_s <= arrival_s:
                bucket = np.int64(now_s * per_s)
                node = first[bucket & bucket_mask]
                job, attempt = nodes[node].job, nodes[node].attempt
                following = nodes[node].following
                first[bucket & bucket_mask] = following
                nodes[node].following = free_node
                free_node = np.int64(node)
                retries -= 1
                if following >= 0:
                    next_retry_s = nodes[following].due_s
                else:
                    last[bucket & bucket_mask] = -1
                    next_retry_s = math.inf
                    if retries > 0:
                        while first[bucket & bucket_mask] < 0:
                            bucket += 1
                        next_retry_s = nodes[first[bucket & bucket_mask]].due_s
            else:
                job, attempt = earlier + np.int64(arrived), np.int32(1)
                arrived += np.uint64(1)
                jobs += 1
                if ring is not None:
                    if rules.budget >= 0.0:
                        balance = _ratio_balance(balance, rules.budget)
            attempts += 1

            end_w = start_w = math.inf
            if places < 0 or first_free_w <= now_w or queue_tail - queue_head < places:
                # The usual kind apart: an attempt costs a tenth less.
                work = _exponential_work(works) if exponential else _draw_work(rules.work, rules.shape, works)
                start_w = first_free_w
                if start_w > now_w:
                    starts_w[queue_tail & queue_mask] = start_w
                    queue_tail += 1
                else:
                    start_w = now_w
                end_w = start_w + work
                accepted_w += work
                if pods == 1:
                    first_free_w = end_w
                else:
                    _occupy(free_w, end_w)
                    first_free_w = free_w[0]
                if trace is not None and first_free_w > now_w:
                    saturations += now_w > saturated_until_w
                    saturated_w += first_free_w - max(now_w, saturated_until_w)
                    saturated_until_w = first_free_w
            else:
                tally.rejected[window] += 1

            if end_w == math.inf and rules.on_rejection != AFTER_TIMEOUT:
                if rules.on_rejection == RETRY:
                    failed = attempt
                if trace is not None:
                    _write(trace, traced, job, attempt, now_s, now_s, REJECTED)
                    traced += 1
            elif ring is not None:
                at = tail & (ring.sent_s.size - 1)
                ring.sent_s[at] = now_s
                ring.end_w[at] = end_w
                ring.job[at] = job
                ring.attempt[at] = attempt
                tail += 1
            else:
                from_s = now_s + timeout_s
                while ahead + 1 < knots and clock.at_s[ahead + 1] <= from_s:
                    ahead += 1
                done_s, outcome = from_s, LATE
                if end_w <= clock.work[ahead] + clock.slope[ahead] * (from_s - clock.at_s[ahead]):
                    outcome = OK
                    answered = window
                    if boundary_s <= from_s or trace is not None:
                        done_s = _time_of(clock, ahead, end_w)
                        while answered < windows and edges[answered] <= done_s:
                            answered += 1
                    tally.answered[answered] += 1
                else:
                    failed = attempt
                    if end_w == math.inf:
                        outcome = REJECTED
                        done_s = now_s
                    else:
                        late += 1
                        if trace is not None:
                            while wasted < windows and tally.edges_w[wasted] <= start_w:
                                wasted += 1
                            slot, from_w = wasted, start_w
                            while slot < windows and tally.edges_w[slot] < end_w:
                                tally.wasted_work[slot] += tally.edges_w[slot] - from_w
                                from_w = tally.edges_w[slot]
                                slot += 1
                            tally.wasted_work[slot] += end_w - from_w
                if trace is not None:
                    _write(trace, traced, job, attempt, now_s, done_s, outcome)
                    traced += 1

        if failed > 0 and _attempts_left(int(failed), rules.max_attempts):
            if ring is not None:
                if rules.budget >= 0.0:
                    if not _ratio_allows(balance):
                        tally.refused[window] += 1
                        continue
                    balance -= 1.0
            u = jitters.random() if jittered else 0.0
            due_s = from_s + _delay_s(
                rules.backoff, rules.base_s, rules.cap_s, rules.multiplier, 0.0, int(failed), u
            )
            if due_s >= rules.end_s:
                beyond_end += 1
                continue
            node = np.int32(free_node)
            free_node = np.int64(nodes[node].following)
            nodes[node].due_s = due_s
            nodes[node].job = job
            nodes[node].attempt = failed + 1
            _put(calendar, int(node), per_s)
            retries += 1
            next_retry_s = min(next_retry_s, due_s)

    numbers[ARRIVED] = np.int64(arrived)
    numbers[RING_HEAD], numbers[RING_TAIL] = head, tail
    numbers[QUEUE_HEAD], numbers[QUEUE_TAIL] = queue_head, queue_tail
    numbers[FREE_NODE], numbers[RETRIES] = free_node, retries
    numbers[WINDOW], numbers[KNOT], numbers[TRACED] = window, knot, traced
    numbers[SENT_WINDOW], numbers[BEYOND_END], numbers[SATURATIONS] = sent_window, beyond_end, saturations
    numbers[WASTED] = wasted
    times[SATURATED_W], times[SATURATED_UNTIL_W] = saturated_w, saturated_until_w
    times[ACCEPTED_W], times[BALANCE], times[NEXT_RETRY_S] = accepted_w, balance, next_retry_s
    return status
