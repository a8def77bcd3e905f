"""The compiled heart of the simulation: a first-in first-out service and its retrying clients.

An attempt's work ends at max(when a pod is free, its arrival) + work, on the work clock W(t) = ∫ rate dt
of one pod, so its end is known when it arrives (Lindley's recursion, for many pods the Kiefer–Wolfowitz
one), and a change of capacity is a new slope of W. Whether it was late is known for certain a timeout
after it was sent, when the service that was really given is known: it is late iff W(sent + T) has not
reached its end. All attempts wait equally long for that, in a ring; only retries in backoff need an
order, which a calendar queue keeps (R. Brown, CACM 31(10), 1988): buckets as wide as the time between
two attempts, each a sorted list of about one entry.

The rules are those of ``domain``, compiled: backoff, attempts left, ratio budget, service time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.compiled import compiled
from domain import backoff, budget, retry, service_time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_delay_s = compiled(backoff.delay_s)
_attempts_left = compiled(retry.attempts_left)
_draw_work = compiled(service_time.draw_work)
_ratio_balance = compiled(budget.ratio_balance)
_ratio_allows = compiled(budget.ratio_allows)

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
    budget: float
    work: int
    shape: float
    places: int
    on_rejection: int


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


class Calendar(NamedTuple):
    """Retries in backoff. ``first`` and ``last`` have one entry a bucket, the others one a retry."""

    first: Shorts
    last: Shorts
    due_s: Floats
    job: Ints
    attempt: Shorts
    following: Shorts


class Trace(NamedTuple):
    """One row per attempt, by the time of its outcome; of length 0 when nothing is recorded."""

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
FREE_NODE, RETRIES, WINDOW, SENT_WINDOW, KNOT, TRACED, EARLIER = range(5, 12)
NUMBERS = 12
# times
ACCEPTED_W, BALANCE, NEXT_RETRY_S, BUCKET_S = range(4)
TIMES = 4


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
def _put(calendar: Calendar, node: int, bucket_s: float) -> None:
    """File retry ``node`` under the bucket of its due time; retries due together keep their order."""
    due = calendar.due_s[node]
    bucket = np.int64(due / bucket_s) & (calendar.first.size - 1)
    last = calendar.last[bucket]
    if last < 0:
        calendar.first[bucket] = node
        calendar.last[bucket] = node
        calendar.following[node] = -1
    elif calendar.due_s[last] <= due:
        calendar.following[last] = node
        calendar.following[node] = -1
        calendar.last[bucket] = node
    else:
        here = calendar.first[bucket]
        if calendar.due_s[here] > due:
            calendar.first[bucket] = node
            calendar.following[node] = here
        else:
            while calendar.due_s[calendar.following[here]] <= due:
                here = calendar.following[here]
            calendar.following[node] = calendar.following[here]
            calendar.following[here] = node


@compiled
def refile(old: Calendar, new: Calendar, bucket_s: float) -> None:
    """File every retry of ``old`` in ``new``, whose buckets are empty and ``bucket_s`` wide."""
    for first in old.first:
        node = first
        while node >= 0:
            following = old.following[node]
            _put(new, node, bucket_s)
            node = following


@compiled
def _next_due(calendar: Calendar, bucket_s: float, now_s: float) -> float:
    """When the first retry is due, none being due before ``now_s``; there must be one."""
    mask = calendar.first.size - 1
    bucket = np.int64(now_s / bucket_s)
    while calendar.first[bucket & mask] < 0:
        bucket += 1
    return float(calendar.due_s[calendar.first[bucket & mask]])


@compiled
def advance(  # noqa: PLR0912, PLR0915 - one loop: every call out of it would cost a tenth of its speed
    rules: Rules,
    clock: Clock,
    arrivals_s: Floats,
    until_s: float,
    place: Place,
    ring: Ring,
    calendar: Calendar,
    tally: Tally,
    trace: Trace,
    works: np.random.Generator,
    jitters: np.random.Generator,
) -> int:
    """Run every event before ``until_s``; the rest of ``arrivals_s`` stays for the next call.

    Returns ``DONE``, or which array is full: it must be made larger before the run can go on.
    """
    numbers, times = place.numbers, place.times
    free_w, starts_w = place.free_w, place.starts_w
    arrived = numbers[ARRIVED]
    head, tail = numbers[RING_HEAD], numbers[RING_TAIL]
    queue_head, queue_tail = numbers[QUEUE_HEAD], numbers[QUEUE_TAIL]
    free_node, retries = numbers[FREE_NODE], numbers[RETRIES]
    window, knot, traced = numbers[WINDOW], numbers[KNOT], numbers[TRACED]
    sent_window = numbers[SENT_WINDOW]
    accepted_w, balance = times[ACCEPTED_W], times[BALANCE]
    next_retry_s, bucket_s = times[NEXT_RETRY_S], times[BUCKET_S]
    ring_mask, queue_mask = ring.sent_s.size - 1, starts_w.size - 1
    edges, windows = tally.edges_s, tally.edges_s.size
    knots = clock.at_s.size
    recording = trace.job.size > 0
    earlier = numbers[EARLIER]  # arrivals of calls before this one: jobs are numbered through
    status = DONE

    while True:
        check_s = ring.sent_s[head & ring_mask] + rules.timeout_s if tail > head else math.inf
        arrival_s = arrivals_s[arrived] if arrived < arrivals_s.size else math.inf
        now_s = min(check_s, next_retry_s, arrival_s)
        reached_s = min(now_s, until_s)

        while window < windows and edges[window] <= reached_s:
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
            window += 1

        if now_s >= until_s:
            break
        if tail - head > ring_mask:
            status = FULL_RING
            break
        if queue_tail - queue_head > queue_mask:
            status = FULL_QUEUE
            break
        if free_node < 0:
            status = FULL_CALENDAR
            break
        if recording and traced == trace.job.size:
            status = FULL_TRACE
            break

        while knot + 1 < knots and clock.at_s[knot + 1] <= now_s:
            knot += 1
        now_w = clock.work[knot] + clock.slope[knot] * (now_s - clock.at_s[knot])

        failed = 0  # attempts that the job to look after has made in vain
        if check_s <= next_retry_s and check_s <= arrival_s:
            # A timeout after it was sent, the outcome of the oldest open attempt is known.
            at = head & ring_mask
            head += 1
            sent_s, end_w = ring.sent_s[at], ring.end_w[at]
            job, attempt = ring.job[at], ring.attempt[at]
            while sent_window < windows and edges[sent_window] <= sent_s:
                sent_window += 1
            if end_w <= now_w:
                done_s = _time_of(clock, knot, end_w)
                answered = window
                while answered > 0 and done_s < edges[answered - 1]:
                    answered -= 1
                tally.answered[answered] += 1
                outcome = OK
            else:
                done_s = now_s
                if end_w < math.inf:
                    tally.late[sent_window] += 1
                    outcome = LATE
                else:
                    outcome = REJECTED
                failed = attempt
            if recording:
                trace.job[traced] = job
                trace.attempt[traced] = attempt
                trace.sent_s[traced] = sent_s
                trace.done_s[traced] = done_s
                trace.outcome[traced] = outcome
                traced += 1
        else:
            if next_retry_s <= arrival_s:
                bucket = np.int64(now_s / bucket_s) & (calendar.first.size - 1)
                node = calendar.first[bucket]
                job, attempt = calendar.job[node], calendar.attempt[node]
                following = calendar.following[node]
                calendar.first[bucket] = following
                if following < 0:
                    calendar.last[bucket] = -1
                calendar.following[node] = free_node
                free_node = node
                retries -= 1
                if following >= 0:
                    next_retry_s = calendar.due_s[following]
                else:
                    next_retry_s = _next_due(calendar, bucket_s, now_s) if retries > 0 else math.inf
            else:
                job, attempt = np.int64(earlier + arrived), np.int32(1)
                arrived += 1
                tally.jobs[window] += 1
                if rules.budget >= 0.0:
                    balance = _ratio_balance(balance, rules.budget)
            tally.attempts[window] += 1

            end_w = math.inf
            while queue_head < queue_tail and starts_w[queue_head & queue_mask] <= now_w:
                queue_head += 1
            if rules.places < 0 or free_w[0] <= now_w or queue_tail - queue_head < rules.places:
                work = _draw_work(rules.work, rules.shape, works)
                start_w = free_w[0]
                if start_w > now_w:
                    starts_w[queue_tail & queue_mask] = start_w
                    queue_tail += 1
                else:
                    start_w = now_w
                end_w = start_w + work
                accepted_w += work
                if free_w.size == 1:
                    free_w[0] = end_w
                else:
                    _occupy(free_w, end_w)
            else:
                tally.rejected[window] += 1
                if rules.on_rejection == RETRY:
                    failed = attempt
                if recording and rules.on_rejection != AFTER_TIMEOUT:
                    trace.job[traced] = job
                    trace.attempt[traced] = attempt
                    trace.sent_s[traced] = now_s
                    trace.done_s[traced] = now_s
                    trace.outcome[traced] = REJECTED
                    traced += 1
            if end_w < math.inf or rules.on_rejection == AFTER_TIMEOUT:
                at = tail & ring_mask
                ring.sent_s[at] = now_s
                ring.end_w[at] = end_w
                ring.job[at] = job
                ring.attempt[at] = attempt
                tail += 1

        if failed > 0 and _attempts_left(failed, rules.max_attempts):
            if rules.budget >= 0.0:
                if not _ratio_allows(balance):
                    tally.refused[window] += 1
                    continue
                balance -= 1.0
            u = jitters.random() if rules.backoff == FULL_JITTER else 0.0
            due_s = now_s + _delay_s(rules.backoff, rules.base_s, rules.cap_s, failed, u)
            node = free_node
            free_node = calendar.following[node]
            calendar.due_s[node] = due_s
            calendar.job[node] = job
            calendar.attempt[node] = attempt + 1
            _put(calendar, node, bucket_s)
            retries += 1
            next_retry_s = min(next_retry_s, due_s)

    numbers[ARRIVED] = arrived
    numbers[RING_HEAD], numbers[RING_TAIL] = head, tail
    numbers[QUEUE_HEAD], numbers[QUEUE_TAIL] = queue_head, queue_tail
    numbers[FREE_NODE], numbers[RETRIES] = free_node, retries
    numbers[WINDOW], numbers[KNOT], numbers[TRACED] = window, knot, traced
    numbers[SENT_WINDOW] = sent_window
    times[ACCEPTED_W], times[BALANCE], times[NEXT_RETRY_S] = accepted_w, balance, next_retry_s
    return status
