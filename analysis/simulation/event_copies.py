"""The hedging clients of the event-driven simulation: which copy goes out when, what the first answer ends.

The compiled twin of ``loadgen``'s hedged jobs, which says what the rules are.
"""

from __future__ import annotations

from analysis.compiled import compiled_rule, compiled_uncounted
from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.event_client import (
    cause_of,
    is_no,
    may_be_sent,
    note_end,
    plan,
    planned,
    refuse,
    send,
)
from analysis.simulation.event_server import free_if_over, hang_up
from analysis.simulation.event_state import Records, State
from domain.budgets import codes as budgets
from domain.budgets import decide

_price = compiled_rule(decide.price)

_NO_BUDGET, _PRICE_REFUSED, _FAILED = budgets.NONE, budgets.REFUSED, budgets.FAILED
_GIVE_UP = kernel.GIVE_UP


@compiled_uncounted
def next_copy(state: State, now_s: float, hedge: int) -> None:
    """A copy is due: send it, unless budget or breaker says no."""
    rules, place, slots, heap = state.rules[0], state.place[0], state.slots, state.heap
    hedges, budget, breaker, windows = state.hedges, state.budget, state.breaker, state.windows
    trace, draws = state.trace, state.draws
    job = hedges[hedge].job
    owner = job % rules.clients
    copy = hedges[hedge].used + 1
    hedges[hedge].used = copy
    hedges[hedge].due = 0
    price = 0.0
    if copy > 1 and rules.budget != _NO_BUDGET:
        own = budget[owner]
        price = _price(rules.budget, rules.budget_rule, own, now_s, hedges[hedge].cause)
    if price != _PRICE_REFUSED and may_be_sent(rules, budget, breaker, draws, now_s, owner, copy, price):
        slot = planned(place, slots, job, copy, hedges[hedge].until_s, price, 0.0)
        slots[slot].hedge = hedge
        slots[slot].sibling = es.NOBODY
        hedges[hedge].kept += 1
        last = hedges[hedge].wire
        if last < 0:
            hedges[hedge].wire = slot
        else:
            while slots[last].sibling >= 0:
                last = slots[last].sibling
            slots[last].sibling = slot
        send(state, now_s, slot)
    else:
        refuse(rules, place, windows, trace, now_s, job, copy)
        if rules.gives_up_on_refusal:
            hedges[hedge].used = rules.copies
    _plan_copy(rules, place, heap, hedges, now_s + rules.copy_delay_s, hedge, _FAILED)
    free_hedge_if_over(place, hedges, hedge)


@compiled_uncounted
def _plan_copy(
    rules: Records, place: Records, heap: Records, hedges: Records, at_s: float, hedge: int, cause: int
) -> None:
    """The next copy is due then, and not when it was before."""
    hedges[hedge].due = 0
    if hedges[hedge].used < rules.copies and at_s < hedges[hedge].until_s and at_s < rules.end_s:
        hedges[hedge].cause = cause
        hedges[hedge].due = plan(place, heap, at_s, hedge, es.COPY_DUE)


@compiled_uncounted
def bring_forward(
    rules: Records, place: Records, heap: Records, hedges: Records, now_s: float, hedge: int, outcome: int
) -> None:
    """A copy has failed: the next one comes at once, or when the service asked for it."""
    at_s = now_s + (rules.retry_after_s if outcome == es.REJECTED else 0.0)
    _plan_copy(rules, place, heap, hedges, at_s, hedge, cause_of(outcome))


@compiled_uncounted
def copy_ended(state: State, now_s: float, slot: int, outcome: int) -> None:
    """A copy has ended: the others are cancelled, or the next one is brought forward."""
    rules, place, slots, heap = state.rules[0], state.place[0], state.slots, state.heap
    hedges, limit, windows = state.hedges, state.limit, state.windows
    hedge = slots[slot].hedge
    _take_off_wire(slots, hedges, hedge, slot)
    if slots[slot].client == es.HELD:
        return
    hedges[hedge].kept -= 1
    if outcome == es.OK or (is_no(outcome) and rules.on_rejection == _GIVE_UP):
        hedges[hedge].used = rules.copies
        hedges[hedge].due = 0
        while hedges[hedge].wire >= 0:
            copy = hedges[hedge].wire
            hedges[hedge].wire = slots[copy].sibling
            hedges[hedge].kept -= 1
            windows[slots[copy].window].cancelled += 1
            hang_up(rules, place, slots, limit, windows, now_s, copy)
            note_end(state, now_s, copy, es.CANCELLED, outcome == es.OK)
            free_if_over(place, slots, copy)
    else:
        bring_forward(rules, place, heap, hedges, now_s, hedge, outcome)
    free_hedge_if_over(place, hedges, hedge)


@compiled_uncounted
def _take_off_wire(slots: Records, hedges: Records, hedge: int, slot: int) -> None:
    here = hedges[hedge].wire
    if here == slot:
        hedges[hedge].wire = slots[slot].sibling
        return
    while slots[here].sibling != slot:
        here = slots[here].sibling
    slots[here].sibling = slots[slot].sibling


@compiled_uncounted
def free_hedge_if_over(place: Records, hedges: Records, hedge: int) -> None:
    """Free the record of a job that has no copy and waits for none."""
    if hedges[hedge].kept == 0 and hedges[hedge].due == 0:
        hedges[hedge].link = place.free_hedge
        place.free_hedge = hedge
