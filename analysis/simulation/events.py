"""The event-driven simulation: one event after the other, for whatever the fast kernel cannot know ahead.

With a queue order of its own, work that is dropped, or a rate that depends on the queue, when an attempt ends
is not known on its arrival. So there are four sources of events here: what is in service, in a heap by its
end on the work clock; timeouts, in the order of sending, since all are equally long (one that a deadline cuts
short is in the heap of plans); plans, in a heap by time; and arrivals. At one moment they come in this order,
with changes of the capacity after what ends in service.
"""

from __future__ import annotations

import math

from analysis.compiled import compiled
from analysis.simulation import event_state as es
from analysis.simulation.event_client import attempt, begin_job, decide, ended, next_copy, time_out
from analysis.simulation.event_server import complete, free_if_over, next_end_s, note_edge, pop, turn, work_at
from analysis.simulation.event_state import State
from analysis.simulation.kernel import Floats

_ROOM = 4
"""Entries one event may add to an array, but for a trace: that many and one a copy."""


@compiled
def advance(state: State, arrivals_s: Floats, until_s: float) -> int:  # noqa: PLR0912 - one loop, one choice
    """Run every event before ``until_s``; the rest of ``arrivals_s`` stays for the next call.

    Returns ``DONE``, or which array is full: it must be made larger before the run can go on.
    """
    place = state.place[0]
    windows, knots = state.windows, state.knots
    boundary_s = -math.inf  # no edge and no end before this
    while True:
        status = _fullness(state)
        if status != es.DONE:
            return status
        if place.out_first >= 0:
            _tell_next(state)
            continue
        if place.over and place.wire == 0 and place.left == 0:
            break

        end_s, change_s = next_end_s(state), math.inf
        if place.knot + 1 < knots.size:
            change_s = knots[place.knot + 1].at_s
        timeout_s, plan_s, arrival_s = math.inf, math.inf, math.inf
        if _has_timeout(state):
            timeout_s = state.ring[place.ring_head & (state.ring.size - 1)].at
        if place.heap_size > 0:
            plan_s = state.heap[0].at
        if place.arrived < arrivals_s.size:
            arrival_s = arrivals_s[place.arrived]
        now_s = min(end_s, change_s, timeout_s, plan_s, arrival_s)

        if now_s >= boundary_s:
            while windows[place.window].edge_s <= min(now_s, until_s):
                note_edge(state, windows[place.window].edge_s)
            if now_s >= until_s:
                break
            boundary_s = min(until_s, windows[place.window].edge_s)

        place.now_s = now_s
        if end_s <= now_s:
            if state.running[0].order <= place.last_started:
                place.left -= 1
            complete(state, now_s)
        elif change_s <= now_s:
            now_w = work_at(state, now_s)
            place.knot += 1
            place.base_rate = knots[place.knot].rate
            turn(state, now_s, now_w)
        elif timeout_s < plan_s or (timeout_s == plan_s and _timeout_is_first(state)):
            if timeout_s <= arrival_s:
                here = place.ring_head & (state.ring.size - 1)
                place.ring_head += 1
                time_out(state, now_s, int(state.ring[here].slot))
            else:
                _arrival(state, now_s)
        elif plan_s <= arrival_s and plan_s < math.inf:
            _next_plan(state, now_s)
        else:
            _arrival(state, now_s)
    return es.DONE


@compiled
def _fullness(state: State) -> int:
    rules, place = state.rules[0], state.place[0]
    if place.free_slots < _ROOM:
        return es.FULL_SLOTS
    if place.ring_tail - place.ring_head + _ROOM > state.ring.size:
        return es.FULL_RING
    if place.heap_size + _ROOM > state.heap.size:
        return es.FULL_HEAP
    if rules.copies > 0 and place.free_hedge < 0:
        return es.FULL_HEDGES
    if rules.recording and place.traced + _ROOM + rules.copies > state.trace.size:
        return es.FULL_TRACE
    return es.DONE


@compiled
def _tell_next(state: State) -> None:
    """Let the client learn of the next outcome in the list."""
    place, slots = state.place[0], state.slots
    slot = place.out_first
    outcome = int(slots[slot].told)
    place.out_first = slots[slot].link
    slots[slot].told = es.NOBODY
    if slots[slot].client == es.ON_WIRE:
        ended(state, place.now_s, slot, outcome)
    else:  # cancelled at this very moment
        free_if_over(state, slot)


@compiled
def _has_timeout(state: State) -> bool:
    """Whether a timeout is to come; those of attempts that have ended are forgotten on the way."""
    place, slots, ring = state.place[0], state.slots, state.ring
    head, tail, mask = place.ring_head, place.ring_tail, state.ring.size - 1
    while head < tail:
        slot = ring[head & mask].slot
        if slots[slot].order == ring[head & mask].order and slots[slot].client != es.GONE:
            break
        head += 1
    place.ring_head = head
    return bool(head < tail)


@compiled
def _timeout_is_first(state: State) -> bool:
    place = state.place[0]
    here = place.ring_head & (state.ring.size - 1)
    return bool(place.ring_head < place.ring_tail and state.ring[here].order < state.heap[0].order)


@compiled
def _next_plan(state: State, now_s: float) -> None:
    place, slots, heap = state.place[0], state.slots, state.heap
    order, slot, kind = heap[0].order, int(heap[0].slot), heap[0].kind
    pop(heap, place.heap_size)
    place.heap_size -= 1
    if kind == es.RETRY_DUE:
        attempt(state, now_s, slot)
    elif kind == es.TIMES_OUT:
        if slots[slot].order == order and slots[slot].client != es.GONE:
            time_out(state, now_s, slot)
    elif kind == es.COPY_DUE:
        if state.hedges[slot].due == order:
            next_copy(state, now_s, slot)
    else:
        decide(state, now_s, slot, es.REFUSED)
        free_if_over(state, slot)


@compiled
def _arrival(state: State, now_s: float) -> None:
    place = state.place[0]
    job = place.earlier + place.arrived
    place.arrived += 1
    begin_job(state, now_s, job)
