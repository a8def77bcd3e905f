"""The jobs of the event-driven simulation: how they begin, and what it means that an attempt has ended."""

from __future__ import annotations

from analysis.compiled import compiled_uncounted
from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.event_client import attempt, decide, is_no, note_end, planned
from analysis.simulation.event_copies import bring_forward, copy_ended, free_hedge_if_over, next_copy
from analysis.simulation.event_server import free_if_over, hang_up
from analysis.simulation.event_state import State
from domain.budgets import codes as budgets

_FAILED, _AFTER_TIMEOUT = budgets.FAILED, kernel.AFTER_TIMEOUT


@compiled_uncounted
def begin_job(state: State, now_s: float, job: int) -> None:
    """A job is due."""
    rules, place, slots, hedges = state.rules[0], state.place[0], state.slots, state.hedges
    until_s = now_s + rules.deadline_s
    if rules.copies == 0:
        slot = planned(place, slots, job, 1, until_s, 0.0, 0.0)
        attempt(state, now_s, slot)
        return
    hedge = place.free_hedge
    place.free_hedge = hedges[hedge].link
    hedges[hedge].job = job
    hedges[hedge].until_s = until_s
    hedges[hedge].due = 0
    hedges[hedge].used = 0
    hedges[hedge].kept = 0
    hedges[hedge].cause = _FAILED
    hedges[hedge].wire = es.NOBODY
    next_copy(state, now_s, hedge)


@compiled_uncounted
def time_out(state: State, now_s: float, slot: int) -> None:
    """The timeout of an attempt is over, whether it still waited for an answer or for just that."""
    rules, place, slots, heap = state.rules[0], state.place[0], state.slots, state.heap
    hedges, limit, windows = state.hedges, state.limit, state.windows
    if slots[slot].client == es.ON_WIRE:
        hang_up(rules, place, slots, limit, windows, now_s, slot)
        ended(state, now_s, slot, es.LATE)
        return
    slots[slot].client = es.GONE
    hedge = slots[slot].hedge
    if hedge < 0:
        if not place.over:
            decide(state, now_s, slot, slots[slot].held)
    else:
        hedges[hedge].kept -= 1
        bring_forward(rules, place, heap, hedges, now_s, hedge, slots[slot].held)
        free_hedge_if_over(place, hedges, hedge)
    free_if_over(place, slots, slot)


@compiled_uncounted
def ended(state: State, now_s: float, slot: int, outcome: int) -> None:
    """An attempt that was on the wire has ended for its client."""
    rules, place, slots, windows = state.rules[0], state.place[0], state.slots, state.windows
    window = slots[slot].window
    if outcome == es.OK:
        windows[place.window].answered += 1
    elif outcome == es.LATE:
        windows[window].late += 1
    elif outcome == es.ERROR:
        windows[window].errors += 1
    else:
        windows[window].rejected += 1
    note_end(state, now_s, slot, outcome, outcome == es.OK)
    held = is_no(outcome) and rules.on_rejection == _AFTER_TIMEOUT and not place.over
    if held:
        slots[slot].client = es.HELD
        slots[slot].held = outcome
    if slots[slot].hedge >= 0:
        copy_ended(state, now_s, slot, outcome)
    elif not held and not place.over:
        decide(state, now_s, slot, outcome)
    free_if_over(place, slots, slot)
