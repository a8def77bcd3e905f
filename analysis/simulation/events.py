"""The event-driven simulation: one event after the other, for whatever the fast kernel cannot know ahead.

With a queue order of its own, work that is dropped, or a rate that depends on the queue, when an attempt ends
is not known on its arrival. So there are four sources of events here: what is in service, in a heap by its
end on the work clock; timeouts, in the order of sending, since all are equally long (one that a deadline cuts
short is in the heap of plans); plans, in a heap by time; and arrivals. At one moment they come in this order,
with changes of the capacity after what ends in service.
"""

from __future__ import annotations

import math

from analysis.compiled import compiled_uncounted
from analysis.simulation import event_state as es
from analysis.simulation.event_client import attempt, decide
from analysis.simulation.event_clock import pop, work_at
from analysis.simulation.event_copies import next_copy
from analysis.simulation.event_jobs import begin_job, ended, time_out
from analysis.simulation.event_server import complete, free_if_over, next_end_s, note_edge, turn
from analysis.simulation.event_state import Records, State
from analysis.simulation.kernel import Floats

_ROOM = 4
"""Entries one event may add to an array, but for a trace: that many and one a copy."""


@compiled_uncounted
def advance(  # noqa: PLR0912, PLR0915 - one loop and one choice
    state: State, arrivals_s: Floats, until_s: float
) -> int:
    """Run every event before ``until_s``; the rest of ``arrivals_s`` stays for the next call.

    Returns ``DONE``, or which array is full: it must be made larger before the run can go on.
    """
    rules, place, slots, ring = state.rules[0], state.place[0], state.slots, state.ring
    heap, running, windows, trace = state.heap, state.running, state.windows, state.trace
    knots = state.knots
    boundary_s = -math.inf  # no edge and no end before this
    while True:
        status = _fullness(rules, place, ring, heap, trace)
        if status != es.DONE:
            return status
        if place.out_first >= 0:
            _tell_next(state)
            continue
        if place.over and place.wire == 0 and place.left == 0:
            break

        end_s, change_s = next_end_s(place, running), math.inf
        if place.knot + 1 < knots.size:
            change_s = knots[place.knot + 1].at_s
        timeout_s, plan_s, arrival_s = math.inf, math.inf, math.inf
        if _has_timeout(place, slots, ring):
            timeout_s = ring[place.ring_head & (ring.size - 1)].at
        if place.heap_size > 0:
            plan_s = heap[0].at
        if place.arrived < arrivals_s.size:
            arrival_s = arrivals_s[place.arrived]
        now_s = min(end_s, change_s, timeout_s, plan_s, arrival_s)

        if math.isinf(now_s) and math.isinf(until_s):
            break  # what is in service without capacity never ends
        if now_s >= boundary_s:
            while windows[place.window].edge_s <= min(now_s, until_s):
                note_edge(place, slots, running, windows, windows[place.window].edge_s)
            if now_s >= until_s:
                break
            boundary_s = min(until_s, windows[place.window].edge_s)

        place.now_s = now_s
        if end_s <= now_s:
            if running[0].order <= place.last_started:
                place.left -= 1
            complete(state, now_s)
        elif change_s <= now_s:
            now_w = work_at(place, now_s)
            place.knot += 1
            place.base_rate = knots[place.knot].rate
            turn(rules, place, now_s, now_w)
        elif timeout_s < plan_s or (timeout_s == plan_s and _timeout_is_first(place, ring, heap)):
            if timeout_s <= arrival_s:
                here = place.ring_head & (ring.size - 1)
                place.ring_head += 1
                time_out(state, now_s, ring[here].slot)
            else:
                _arrival(state, now_s)
        elif plan_s <= arrival_s and plan_s < math.inf:
            _next_plan(state, now_s)
        else:
            _arrival(state, now_s)
    return es.DONE


@compiled_uncounted
def _fullness(rules: Records, place: Records, ring: Records, heap: Records, trace: Records) -> int:
    if place.free_slots < _ROOM:
        return es.FULL_SLOTS
    if place.ring_tail - place.ring_head + _ROOM > ring.size:
        return es.FULL_RING
    if place.heap_size + _ROOM > heap.size:
        return es.FULL_HEAP
    if rules.copies > 0 and place.free_hedge < 0:
        return es.FULL_HEDGES
    if rules.recording and place.traced + _ROOM + rules.copies > trace.size:
        return es.FULL_TRACE
    return es.DONE


@compiled_uncounted
def _tell_next(state: State) -> None:
    """Let the client learn of the next outcome in the list."""
    place, slots = state.place[0], state.slots
    slot = place.out_first
    outcome = slots[slot].told
    place.out_first = slots[slot].link
    slots[slot].told = es.NOBODY
    if slots[slot].client == es.ON_WIRE:
        ended(state, place.now_s, slot, outcome)
    else:  # cancelled at this very moment
        free_if_over(place, slots, slot)


@compiled_uncounted
def _has_timeout(place: Records, slots: Records, ring: Records) -> bool:
    """Whether a timeout is to come; those of attempts that have ended are forgotten on the way."""
    head, tail, mask = place.ring_head, place.ring_tail, ring.size - 1
    while head < tail:
        slot = ring[head & mask].slot
        if slots[slot].order == ring[head & mask].order and slots[slot].client != es.GONE:
            break
        head += 1
    place.ring_head = head
    return bool(head < tail)


@compiled_uncounted
def _timeout_is_first(place: Records, ring: Records, heap: Records) -> bool:
    here = place.ring_head & (ring.size - 1)
    return bool(place.ring_head < place.ring_tail and ring[here].order < heap[0].order)


@compiled_uncounted
def _next_plan(state: State, now_s: float) -> None:
    place, slots, heap, hedges = state.place[0], state.slots, state.heap, state.hedges
    order, slot, kind = heap[0].order, heap[0].slot, heap[0].kind
    pop(heap, place.heap_size)
    place.heap_size -= 1
    if kind == es.RETRY_DUE:
        attempt(state, now_s, slot)
    elif kind == es.TIMES_OUT:
        if slots[slot].order == order and slots[slot].client != es.GONE:
            time_out(state, now_s, slot)
    elif kind == es.COPY_DUE:
        if hedges[slot].due == order:
            next_copy(state, now_s, slot)
    else:
        decide(state, now_s, slot, es.REFUSED)
        free_if_over(place, slots, slot)


@compiled_uncounted
def _arrival(state: State, now_s: float) -> None:
    place = state.place[0]
    job = place.earlier + place.arrived
    place.arrived += 1
    begin_job(state, now_s, job)
