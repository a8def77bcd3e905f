"""The clients of the event-driven simulation: what is sent, what a failure leads to, when a job is over.

The compiled twin of ``loadgen``'s jobs: the breaker before an attempt, the account of the budget with it, and
after it ``domain.retry.RetryPolicy.decide`` with the same draws in the same order.
"""

from __future__ import annotations

from analysis.compiled import compiled, compiled_rule
from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.event_server import arrive, free_if_over, hang_up, push
from analysis.simulation.event_state import State
from domain import backoff, deadlines, retry
from domain.breakers import decide as breakers
from domain.budgets import decide as budgets

_delay_s = compiled_rule(backoff.delay_s)
_attempts_left = compiled_rule(retry.attempts_left)
_attempt_timeout_s = compiled_rule(deadlines.attempt_timeout_s)
_price = compiled_rule(budgets.price)
_note_sent = compiled_rule(budgets.note_sent)
_note_ended = compiled_rule(budgets.note_ended)
_take_back = compiled_rule(budgets.take_back)
_lets_through = compiled_rule(breakers.lets_through)
_breaker_note_ended = compiled_rule(breakers.note_ended)

_NO_BUDGET, _NO_BREAKER, _PRICE_REFUSED = budgets.NONE, breakers.NONE, budgets.REFUSED
_TIMED_OUT, _FAILED, _THROTTLED = budgets.TIMED_OUT, budgets.FAILED, budgets.THROTTLED
_AFTER_TIMEOUT, _GIVE_UP = kernel.AFTER_TIMEOUT, kernel.GIVE_UP


@compiled
def begin_job(state: State, now_s: float, job: int) -> None:
    """A job is due."""
    rules, place, hedges = state.rules[0], state.place[0], state.hedges
    until_s = now_s + rules.deadline_s
    if rules.copies == 0:
        slot = _planned(state, job, 1, until_s, 0.0, 0.0)
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


@compiled
def _planned(state: State, job: int, attempt: int, until_s: float, price: float, previous_s: float) -> int:
    """The slot of an attempt that is going to be sent."""
    place, slots = state.place[0], state.slots
    slot = place.free_slot
    place.free_slot = slots[slot].link
    place.free_slots -= 1
    slots[slot].job = job
    slots[slot].attempt = attempt
    slots[slot].until_s = until_s
    slots[slot].price = price
    slots[slot].previous_s = previous_s
    slots[slot].order = 0
    slots[slot].hedge = es.NOBODY
    slots[slot].told = es.NOBODY
    slots[slot].error = 0
    slots[slot].client = es.GONE
    slots[slot].server = es.NOWHERE
    return int(slot)


@compiled
def attempt(state: State, now_s: float, slot: int) -> None:
    """An attempt is due: send it, unless it is too late or the breaker says no."""
    rules, slots = state.rules[0], state.slots
    owner = slots[slot].job % rules.clients
    if now_s >= slots[slot].until_s:
        if slots[slot].attempt > 1 and rules.budget != _NO_BUDGET:
            _take_back(rules.budget, rules.budget_rule, state.budget[owner], slots[slot].price)
        free_if_over(state, slot)
    elif _may_be_sent(state, now_s, owner, int(slots[slot].attempt), slots[slot].price):
        _send(state, now_s, slot)
    else:
        _refuse(state, now_s, slots[slot].job, int(slots[slot].attempt))
        if not rules.gives_up_on_refusal:
            decide(state, now_s, slot, es.REFUSED)
        free_if_over(state, slot)


@compiled
def _may_be_sent(state: State, now_s: float, owner: int, attempt: int, price: float) -> bool:
    """Whether the breaker lets it through; the budget gets back what was paid for one that is not sent."""
    rules = state.rules[0]
    if rules.breaker == _NO_BREAKER:
        return True
    u = state.draws.breaker.random()
    if _lets_through(rules.breaker, rules.breaker_rule, state.breaker[owner], now_s, u):
        return True
    if attempt > 1 and rules.budget != _NO_BUDGET:
        _take_back(rules.budget, rules.budget_rule, state.budget[owner], price)
    return False


@compiled
def _send(state: State, now_s: float, slot: int) -> None:
    rules, place, slots = state.rules[0], state.place[0], state.slots
    windows, ring = state.windows, state.ring
    place.sent += 1
    place.wire += 1
    window, order = place.window, place.sent
    slots[slot].order = order
    slots[slot].sent_s = now_s
    slots[slot].window = window
    slots[slot].client = es.ON_WIRE
    windows[window].attempts += 1
    if slots[slot].attempt == 1:
        windows[window].jobs += 1
    if rules.budget != _NO_BUDGET:
        owner = slots[slot].job % rules.clients
        _note_sent(rules.budget, rules.budget_rule, state.budget[owner], now_s, int(slots[slot].attempt))
    timeout_s = _attempt_timeout_s(rules.timeout_s, slots[slot].until_s, now_s)
    if timeout_s >= rules.timeout_s:
        slots[slot].ends_s = now_s + timeout_s
        here = place.ring_tail & (ring.size - 1)
        place.ring_tail += 1
        ring[here].at = slots[slot].ends_s
        ring[here].order = order
        ring[here].slot = slot
    else:
        slots[slot].ends_s = slots[slot].until_s  # exactly: a sum could be a rounding before it
        push(state.heap, place.heap_size, slots[slot].ends_s, order, slot, es.TIMES_OUT)
        place.heap_size += 1
    arrive(state, now_s, slot)


@compiled
def time_out(state: State, now_s: float, slot: int) -> None:
    """The timeout of an attempt is over, whether it still waited for an answer or for just that."""
    slots = state.slots
    if slots[slot].client == es.ON_WIRE:
        hang_up(state, now_s, slot)
        ended(state, now_s, slot, es.LATE)
        return
    slots[slot].client = es.GONE
    hedge = int(slots[slot].hedge)
    if hedge < 0:
        decide(state, now_s, slot, int(slots[slot].held))
    else:
        state.hedges[hedge].kept -= 1
        _bring_forward(state, now_s, hedge, int(slots[slot].held))
        _free_hedge_if_over(state, hedge)
    free_if_over(state, slot)


@compiled
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
    _note_end(state, now_s, slot, outcome, outcome == es.OK)
    held = _is_no(outcome) and rules.on_rejection == _AFTER_TIMEOUT and not place.over
    if held:
        slots[slot].client = es.HELD
        slots[slot].held = outcome
    if slots[slot].hedge >= 0:
        _copy_ended(state, now_s, slot, outcome)
    elif not held and not place.over:
        decide(state, now_s, slot, outcome)
    free_if_over(state, slot)


@compiled
def _note_end(state: State, now_s: float, slot: int, outcome: int, succeeded: bool) -> None:
    """Whatever an attempt's end means, it is recorded, and budget and breaker are told."""
    rules, place, slots = state.rules[0], state.place[0], state.slots
    slots[slot].client = es.GONE
    place.wire -= 1
    _write(state, slots[slot].job, int(slots[slot].attempt), slots[slot].sent_s, now_s, outcome)
    owner = slots[slot].job % rules.clients
    if rules.budget != _NO_BUDGET:
        attempt, price = int(slots[slot].attempt), slots[slot].price
        own = state.budget[owner]
        _note_ended(rules.budget, rules.budget_rule, own, now_s, attempt, succeeded, price)
    if rules.breaker != _NO_BREAKER:
        _breaker_note_ended(rules.breaker, rules.breaker_rule, state.breaker[owner], now_s, succeeded)


@compiled
def _write(state: State, job: int, attempt: int, sent_s: float, done_s: float, outcome: int) -> None:
    rules, place, trace = state.rules[0], state.place[0], state.trace
    if not rules.recording:
        return
    row = place.traced
    place.traced += 1
    trace[row].job = job
    trace[row].attempt = attempt
    trace[row].sent_s = sent_s
    trace[row].done_s = done_s
    trace[row].outcome = outcome


@compiled
def _refuse(state: State, now_s: float, job: int, attempt: int) -> None:
    """The client itself says no to an attempt that was due."""
    windows, window = state.windows, state.place[0].window
    if attempt == 1:
        windows[window].refused_first += 1
    else:
        windows[window].refused += 1
    _write(state, job, attempt, now_s, now_s, es.REFUSED)


@compiled
def _is_no(outcome: int) -> bool:
    """Whether it was an answer, and no success."""
    return outcome in (es.REJECTED, es.ERROR, es.EXPIRED)


@compiled
def _cause(outcome: int) -> int:
    if outcome == es.LATE:
        return _TIMED_OUT
    return _THROTTLED if outcome == es.REJECTED else _FAILED


@compiled
def decide(state: State, now_s: float, slot: int, outcome: int) -> None:
    """What an attempt's end leads to: ``domain.retry.RetryPolicy.decide``, step by step."""
    rules, slots = state.rules[0], state.slots
    u = state.draws.jitter.random() if rules.jittered else 0.0
    if outcome == es.OK or (_is_no(outcome) and rules.on_rejection == _GIVE_UP):
        return
    attempt = int(slots[slot].attempt)
    if not _attempts_left(attempt, rules.max_attempts):
        return
    delay_s = _delay_s(
        rules.backoff, rules.base_s, rules.cap_s, rules.multiplier, slots[slot].previous_s, attempt, u
    )
    if outcome == es.REJECTED:
        delay_s = max(delay_s, rules.retry_after_s)
    until_s = slots[slot].until_s
    if now_s + delay_s >= until_s:
        return
    price = 0.0
    job = slots[slot].job
    if rules.budget != _NO_BUDGET:
        own = state.budget[job % rules.clients]
        price = _price(rules.budget, rules.budget_rule, own, now_s, _cause(outcome))
    kind = es.RETRY_DUE
    if price == _PRICE_REFUSED:
        _refuse(state, now_s, job, attempt + 1)
        if rules.gives_up_on_refusal:
            return
        kind, price = es.ASK_AGAIN, 0.0
    if now_s + delay_s < rules.end_s:
        retry_slot = _planned(state, job, attempt + 1, until_s, price, delay_s)
        _plan(state, now_s + delay_s, retry_slot, kind)


@compiled
def _plan(state: State, at_s: float, slot: int, kind: int) -> int:
    place = state.place[0]
    place.planned += 1
    order = es.LATER + place.planned
    push(state.heap, place.heap_size, at_s, order, slot, kind)
    place.heap_size += 1
    return int(order)


@compiled
def next_copy(state: State, now_s: float, hedge: int) -> None:
    """A copy is due: send it, unless budget or breaker says no."""
    rules, slots, hedges = state.rules[0], state.slots, state.hedges
    job = hedges[hedge].job
    owner = job % rules.clients
    copy = int(hedges[hedge].used) + 1
    hedges[hedge].used = copy
    hedges[hedge].due = 0
    price = 0.0
    if copy > 1 and rules.budget != _NO_BUDGET:
        own = state.budget[owner]
        price = _price(rules.budget, rules.budget_rule, own, now_s, int(hedges[hedge].cause))
    if price != _PRICE_REFUSED and _may_be_sent(state, now_s, owner, copy, price):
        slot = _planned(state, job, copy, hedges[hedge].until_s, price, 0.0)
        slots[slot].hedge = hedge
        slots[slot].sibling = es.NOBODY
        hedges[hedge].kept += 1
        last = int(hedges[hedge].wire)
        if last < 0:
            hedges[hedge].wire = slot
        else:
            while slots[last].sibling >= 0:
                last = int(slots[last].sibling)
            slots[last].sibling = slot
        _send(state, now_s, slot)
    else:
        _refuse(state, now_s, job, copy)
        if rules.gives_up_on_refusal:
            hedges[hedge].used = rules.copies
    _plan_copy(state, now_s + rules.copy_delay_s, hedge, _FAILED)
    _free_hedge_if_over(state, hedge)


@compiled
def _plan_copy(state: State, at_s: float, hedge: int, cause: int) -> None:
    """The next copy is due then, and not when it was before."""
    rules, hedges = state.rules[0], state.hedges
    hedges[hedge].due = 0
    if hedges[hedge].used < rules.copies and at_s < hedges[hedge].until_s and at_s < rules.end_s:
        hedges[hedge].cause = cause
        hedges[hedge].due = _plan(state, at_s, hedge, es.COPY_DUE)


@compiled
def _bring_forward(state: State, now_s: float, hedge: int, outcome: int) -> None:
    """A copy has failed: the next one comes at once, or when the service asked for it."""
    rules = state.rules[0]
    at_s = now_s + (rules.retry_after_s if outcome == es.REJECTED else 0.0)
    _plan_copy(state, at_s, hedge, _cause(outcome))


@compiled
def _copy_ended(state: State, now_s: float, slot: int, outcome: int) -> None:
    rules, slots, hedges, windows = state.rules[0], state.slots, state.hedges, state.windows
    hedge = int(slots[slot].hedge)
    _take_off_wire(state, hedge, slot)
    if slots[slot].client == es.HELD:
        return
    hedges[hedge].kept -= 1
    if outcome == es.OK or (_is_no(outcome) and rules.on_rejection == _GIVE_UP):
        hedges[hedge].used = rules.copies
        hedges[hedge].due = 0
        while hedges[hedge].wire >= 0:
            copy = int(hedges[hedge].wire)
            hedges[hedge].wire = slots[copy].sibling
            hedges[hedge].kept -= 1
            windows[slots[copy].window].cancelled += 1
            hang_up(state, now_s, copy)
            _note_end(state, now_s, copy, es.CANCELLED, outcome == es.OK)
            free_if_over(state, copy)
    else:
        _bring_forward(state, now_s, hedge, outcome)
    _free_hedge_if_over(state, hedge)


@compiled
def _take_off_wire(state: State, hedge: int, slot: int) -> None:
    slots, hedges = state.slots, state.hedges
    here = int(hedges[hedge].wire)
    if here == slot:
        hedges[hedge].wire = slots[slot].sibling
        return
    while slots[here].sibling != slot:
        here = int(slots[here].sibling)
    slots[here].sibling = slots[slot].sibling


@compiled
def _free_hedge_if_over(state: State, hedge: int) -> None:
    place, hedges = state.place[0], state.hedges
    if hedges[hedge].kept == 0 and hedges[hedge].due == 0:
        hedges[hedge].link = place.free_hedge
        place.free_hedge = hedge
