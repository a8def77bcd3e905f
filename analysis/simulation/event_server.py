"""The service of the event-driven simulation: whom it lets in, whom it serves next, when that has ended.

The compiled twin of ``target_service``'s queue: the same questions to the rules of ``domain`` in the same
order, on the same clocks. What clients are to learn is put in a list, which the loop reads.
"""

from __future__ import annotations

import math

from analysis.compiled import compiled_rule, compiled_uncounted
from analysis.simulation import event_state as es
from analysis.simulation.event_clock import pop, push, uptime_at, work_at
from analysis.simulation.event_state import Records, State
from analysis.simulation.kernel import Floats
from domain import admission, codel, deadlines, degradation, queue_order, service_time
from domain.limits import decide as limits

_verdict = compiled_rule(admission.verdict)
_sheds = compiled_rule(codel.sheds)
_expired = compiled_rule(deadlines.expired)
_rate_share = compiled_rule(degradation.rate_share)
_takes_newest = compiled_rule(queue_order.takes_newest)
_draw_work = compiled_rule(service_time.draw_work)
_exponential_work = compiled_rule(service_time.exponential_work)
_limit = compiled_rule(limits.limit)
_note_ended = compiled_rule(limits.note_ended)

_EXPONENTIAL = service_time.EXPONENTIAL
_ADMITTED, _INSTEAD_OF_RETRY = admission.ADMITTED, admission.INSTEAD_OF_RETRY
_NO_LIMIT = limits.NONE


@compiled_uncounted
def next_end_s(place: Records, running: Records) -> float:
    """When the next attempt has been served; inf if none is in service or the rate is 0."""
    if place.running == 0 or place.rate <= 0.0:
        return math.inf
    left_w = running[0].at - place.from_w
    return float(place.from_s + max(0.0, left_w) / place.rate)


@compiled_uncounted
def turn(rules: Records, place: Records, now_s: float, now_w: float) -> None:
    """Go on at the rate that holds from now on."""
    rate = place.base_rate
    if rules.degrades:
        rate *= _rate_share(float(place.waiting + place.running), rules.floor, rules.half_queue)
    place.from_u = uptime_at(place, now_s)
    place.from_s = now_s
    place.from_w = now_w
    place.rate = rate


@compiled_uncounted
def tell(place: Records, slots: Records, slot: int, outcome: int) -> None:
    """Let the client of an attempt learn how it ended, if it still waits for it."""
    if slots[slot].client != es.ON_WIRE:
        return
    slots[slot].told = outcome
    slots[slot].link = es.NOBODY
    if place.out_first < 0:
        place.out_first = slot
    else:
        slots[place.out_last].link = slot
    place.out_last = slot


@compiled_uncounted
def free_if_over(place: Records, slots: Records, slot: int) -> None:
    """Free the slot of an attempt that neither its client nor the service has any more.

    One whose outcome is still in the list to be told stays until it has been read.
    """
    over = slots[slot].client == es.GONE and slots[slot].server == es.NOWHERE
    if over and slots[slot].told == es.NOBODY:
        slots[slot].order = 0
        slots[slot].link = place.free_slot
        place.free_slot = slot
        place.free_slots += 1


@compiled_uncounted
def arrive(state: State, now_s: float, slot: int) -> None:
    """An attempt arrives, once everything that has ended by now is told."""
    rules, place, slots = state.rules[0], state.place[0], state.slots
    running, limit, draws = state.running, state.limit, state.draws
    waiting, serving = place.waiting, place.running
    most = math.inf
    if rules.limit != _NO_LIMIT:
        most = _limit(rules.limit, rules.limit_rule, limit)
    displaces = rules.first_before_retry and slots[slot].attempt == 1 and place.newest_retry >= 0
    found = _verdict(waiting + serving, waiting, serving, rules.pods, rules.places, most, displaces)
    if found == _INSTEAD_OF_RETRY:
        retry = place.newest_retry
        _unlink(rules, place, slots, retry)
        _left(rules, slots, limit, now_s, retry, True)
        tell(place, slots, retry, es.REJECTED)
        free_if_over(place, slots, retry)
    elif found != _ADMITTED:
        tell(place, slots, slot, es.REJECTED)
        return

    if rules.work == _EXPONENTIAL:
        work = _exponential_work(draws.service)
    else:
        work = _draw_work(rules.work, rules.shape, draws.service)
    slots[slot].work = work
    if rules.error_rate > 0.0:
        slots[slot].error = draws.errors.random() < rules.error_rate
    slots[slot].in_system = place.waiting + serving + 1
    now_w = work_at(place, now_s)
    if serving < rules.pods:
        if rules.codel:
            _sheds(rules.codel_target_s, rules.codel_interval_s, place.codel, now_s, 0.0)
        _start(rules, place, slots, running, slot, now_w, uptime_at(place, now_s))
    else:
        _wait(rules, place, slots, slot)
    if rules.degrades:
        turn(rules, place, now_s, now_w)


@compiled_uncounted
def _start(
    rules: Records,
    place: Records,
    slots: Records,
    running: Records,
    slot: int,
    now_w: float,
    now_u: float,
) -> None:
    slots[slot].server = es.RUNS
    slots[slot].start_w = now_w
    slots[slot].start_u = now_u
    place.started += 1
    place.started_w += slots[slot].work
    end_w = now_w + slots[slot].work
    push(running, place.running, end_w, place.started, slot, 0)
    place.running += 1
    if place.running == rules.pods and place.saturated_since_u < 0.0:
        place.saturated_since_u = now_u


@compiled_uncounted
def _wait(rules: Records, place: Records, slots: Records, slot: int) -> None:
    newest = place.newest
    slots[slot].server = es.WAITS
    slots[slot].older = newest
    slots[slot].newer = es.NOBODY
    if newest >= 0:
        slots[newest].newer = slot
    else:
        place.oldest = slot
    place.newest = slot
    place.waiting += 1
    place.waiting_w += slots[slot].work
    if rules.first_before_retry and slots[slot].attempt > 1:
        newest = place.newest_retry
        slots[slot].older_retry = newest
        slots[slot].newer_retry = es.NOBODY
        if newest >= 0:
            slots[newest].newer_retry = slot
        place.newest_retry = slot


@compiled_uncounted
def _unlink(rules: Records, place: Records, slots: Records, slot: int) -> None:
    """Take an attempt out of those that wait."""
    older, newer = slots[slot].older, slots[slot].newer
    if older >= 0:
        slots[older].newer = newer
    else:
        place.oldest = newer
    if newer >= 0:
        slots[newer].older = older
    else:
        place.newest = older
    if rules.first_before_retry and slots[slot].attempt > 1:
        older, newer = slots[slot].older_retry, slots[slot].newer_retry
        if older >= 0:
            slots[older].newer_retry = newer
        if newer >= 0:
            slots[newer].older_retry = older
        else:
            place.newest_retry = older
    slots[slot].server = es.NOWHERE
    place.waiting -= 1
    if place.waiting == 0:
        place.waiting_w = 0.0  # rounding must not add up
    else:
        place.waiting_w -= slots[slot].work


@compiled_uncounted
def _left(rules: Records, slots: Records, limit: Floats, now_s: float, slot: int, dropped: bool) -> None:
    """An attempt that had been admitted has left: tell the limit."""
    if rules.limit != _NO_LIMIT:
        sojourn_s = now_s - slots[slot].sent_s
        in_system = float(slots[slot].in_system)
        _note_ended(rules.limit, rules.limit_rule, limit, now_s, sojourn_s, in_system, dropped)


@compiled_uncounted
def _drop(
    rules: Records, place: Records, slots: Records, limit: Floats, windows: Records, now_s: float, slot: int
) -> None:
    """An attempt that waited has been thrown away."""
    windows[place.window].dropped += 1
    _left(rules, slots, limit, now_s, slot, True)


@compiled_uncounted
def hang_up(
    rules: Records, place: Records, slots: Records, limit: Floats, windows: Records, now_s: float, slot: int
) -> None:
    """The client of an attempt has gone."""
    if not rules.cancels or slots[slot].server != es.WAITS:
        return
    _unlink(rules, place, slots, slot)
    _drop(rules, place, slots, limit, windows, now_s, slot)
    if rules.degrades:
        turn(rules, place, now_s, work_at(place, now_s))


@compiled_uncounted
def complete(state: State, now_s: float) -> None:
    """The attempt that is to end first has been served; its pod takes what comes next."""
    rules, place, slots, running = state.rules[0], state.place[0], state.slots, state.running
    limit, windows = state.limit, state.windows
    now_w, slot = running[0].at, running[0].slot
    now_u = uptime_at(place, now_s)
    if place.running == rules.pods:
        place.saturated_done += 1
    place.completed += 1
    pop(running, place.running)
    place.running -= 1
    slots[slot].server = es.NOWHERE
    service_u = now_u - slots[slot].start_u
    place.busy_u += service_u
    _left(rules, slots, limit, now_s, slot, False)
    if slots[slot].client == es.ON_WIRE:
        tell(place, slots, slot, es.ERROR if slots[slot].error else es.OK)
    else:
        place.abandoned_u += service_u
        _waste(place, windows, slots[slot].start_w, now_w)
        free_if_over(place, slots, slot)
    _fill(state, now_s, now_w, now_u)
    if place.running < rules.pods and place.saturated_since_u >= 0.0:
        place.saturated_u += now_u - place.saturated_since_u
        place.saturated_since_u = -1.0
    if rules.degrades:
        turn(rules, place, now_s, now_w)


@compiled_uncounted
def _fill(state: State, now_s: float, now_w: float, now_u: float) -> None:
    rules, place, slots = state.rules[0], state.place[0], state.slots
    running, limit, windows = state.running, state.limit, state.windows
    while place.waiting > 0 and place.running < rules.pods:
        slot = place.oldest
        if _takes_newest(rules.order, place.waiting, rules.standing):
            slot = place.newest
        _unlink(rules, place, slots, slot)
        shed = False
        if rules.codel:
            waited_s = now_s - slots[slot].sent_s
            shed = _sheds(rules.codel_target_s, rules.codel_interval_s, place.codel, now_s, waited_s)
        if shed:
            _drop(rules, place, slots, limit, windows, now_s, slot)
            tell(place, slots, slot, es.REJECTED)
            free_if_over(place, slots, slot)
        elif rules.drops_expired and _expired(slots[slot].ends_s, now_s, rules.least_s):
            _drop(rules, place, slots, limit, windows, now_s, slot)
            tell(place, slots, slot, es.EXPIRED)
            free_if_over(place, slots, slot)
        else:
            _start(rules, place, slots, running, slot, now_w, now_u)


@compiled_uncounted
def _waste(place: Records, windows: Records, start_w: float, end_w: float) -> None:
    """Work that nobody waited for any more, in the windows in which it was done."""
    window = place.window
    while window > 0 and windows[window - 1].edge_w > start_w:
        edge_w = windows[window - 1].edge_w
        windows[window].wasted_w += end_w - edge_w
        end_w = edge_w
        window -= 1
    windows[window].wasted_w += end_w - start_w


@compiled_uncounted
def note_edge(place: Records, slots: Records, running: Records, windows: Records, edge_s: float) -> None:
    """Write down what the window that ends now looks like."""
    window = place.window
    edge_w, edge_u = work_at(place, edge_s), uptime_at(place, edge_s)
    unfinished_w, busy_u = 0.0, place.busy_u
    for here in range(place.running):
        unfinished_w += max(0.0, running[here].at - edge_w)
        busy_u += edge_u - slots[running[here].slot].start_u
    saturated_u = place.saturated_u
    if place.saturated_since_u >= 0.0:
        saturated_u += edge_u - place.saturated_since_u
    windows[window].edge_w = edge_w
    windows[window].done_w = place.started_w - unfinished_w
    windows[window].backlog_w = place.waiting_w + unfinished_w
    windows[window].busy_u = busy_u
    windows[window].abandoned_u = place.abandoned_u
    windows[window].saturated_u = saturated_u
    windows[window].depth = place.waiting + place.running
    windows[window].completed = place.completed
    windows[window].saturated_done = place.saturated_done
    place.window += 1
