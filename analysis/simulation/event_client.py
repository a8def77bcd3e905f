"""The clients of the event-driven simulation: what is sent, what a failure leads to, when a job is over.

The compiled twin of ``loadgen``'s jobs: the breaker before an attempt, the account of the budget with it, and
after it ``domain.retry.RetryPolicy.decide`` with the same draws in the same order.
"""

from __future__ import annotations

from analysis.compiled import compiled_rule, compiled_uncounted
from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.event_server import arrive, free_if_over, hang_up, push
from analysis.simulation.event_state import Draws, Records, State
from analysis.simulation.kernel import Floats
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


@compiled_uncounted
def begin_job(state: State, now_s: float, job: int) -> None:
    """A job is due."""
    rules, place, slots, hedges = state.rules[0], state.place[0], state.slots, state.hedges
    until_s = now_s + rules.deadline_s
    if rules.copies == 0:
        slot = _planned(place, slots, job, 1, until_s, 0.0, 0.0)
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
def _planned(
    place: Records, slots: Records, job: int, attempt: int, until_s: float, price: float, previous_s: float
) -> int:
    """The slot of an attempt that is going to be sent."""
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


@compiled_uncounted
def attempt(state: State, now_s: float, slot: int) -> None:
    """An attempt is due: send it, unless it is too late or the breaker says no."""
    rules, place, slots, budget = state.rules[0], state.place[0], state.slots, state.budget
    breaker, windows, trace, draws = state.breaker, state.windows, state.trace, state.draws
    owner = slots[slot].job % rules.clients
    if now_s >= slots[slot].until_s:
        if slots[slot].attempt > 1 and rules.budget != _NO_BUDGET:
            _take_back(rules.budget, rules.budget_rule, budget[owner], slots[slot].price)
        free_if_over(place, slots, slot)
    elif _may_be_sent(rules, budget, breaker, draws, now_s, owner, slots[slot].attempt, slots[slot].price):
        _send(state, now_s, slot)
    else:
        _refuse(rules, place, windows, trace, now_s, slots[slot].job, slots[slot].attempt)
        if not rules.gives_up_on_refusal:
            decide(state, now_s, slot, es.REFUSED)
        free_if_over(place, slots, slot)


@compiled_uncounted
def _may_be_sent(
    rules: Records,
    budget: Floats,
    breaker: Floats,
    draws: Draws,
    now_s: float,
    owner: int,
    attempt: int,
    price: float,
) -> bool:
    """Whether the breaker lets it through; the budget gets back what was paid for one that is not sent."""
    if rules.breaker == _NO_BREAKER:
        return True
    u = draws.breaker.random()
    if _lets_through(rules.breaker, rules.breaker_rule, breaker[owner], now_s, u):
        return True
    if attempt > 1 and rules.budget != _NO_BUDGET:
        _take_back(rules.budget, rules.budget_rule, budget[owner], price)
    return False


@compiled_uncounted
def _send(state: State, now_s: float, slot: int) -> None:
    rules, place, slots, ring = state.rules[0], state.place[0], state.slots, state.ring
    heap, budget, windows = state.heap, state.budget, state.windows
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
        _note_sent(rules.budget, rules.budget_rule, budget[owner], now_s, slots[slot].attempt)
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
        push(heap, place.heap_size, slots[slot].ends_s, order, slot, es.TIMES_OUT)
        place.heap_size += 1
    arrive(state, now_s, slot)


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
        decide(state, now_s, slot, slots[slot].held)
    else:
        hedges[hedge].kept -= 1
        _bring_forward(rules, place, heap, hedges, now_s, hedge, slots[slot].held)
        _free_hedge_if_over(place, hedges, hedge)
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
    _note_end(state, now_s, slot, outcome, outcome == es.OK)
    held = _is_no(outcome) and rules.on_rejection == _AFTER_TIMEOUT and not place.over
    if held:
        slots[slot].client = es.HELD
        slots[slot].held = outcome
    if slots[slot].hedge >= 0:
        _copy_ended(state, now_s, slot, outcome)
    elif not held and not place.over:
        decide(state, now_s, slot, outcome)
    free_if_over(place, slots, slot)


@compiled_uncounted
def _note_end(state: State, now_s: float, slot: int, outcome: int, succeeded: bool) -> None:
    """Whatever an attempt's end means, it is recorded, and budget and breaker are told."""
    rules, place, slots, budget = state.rules[0], state.place[0], state.slots, state.budget
    breaker, trace = state.breaker, state.trace
    slots[slot].client = es.GONE
    place.wire -= 1
    _write(rules, place, trace, slots[slot].job, slots[slot].attempt, slots[slot].sent_s, now_s, outcome)
    owner = slots[slot].job % rules.clients
    if rules.budget != _NO_BUDGET:
        attempt, price = slots[slot].attempt, slots[slot].price
        own = budget[owner]
        _note_ended(rules.budget, rules.budget_rule, own, now_s, attempt, succeeded, price)
    if rules.breaker != _NO_BREAKER:
        _breaker_note_ended(rules.breaker, rules.breaker_rule, breaker[owner], now_s, succeeded)


@compiled_uncounted
def _write(
    rules: Records,
    place: Records,
    trace: Records,
    job: int,
    attempt: int,
    sent_s: float,
    done_s: float,
    outcome: int,
) -> None:
    if not rules.recording:
        return
    row = place.traced
    place.traced += 1
    trace[row].job = job
    trace[row].attempt = attempt
    trace[row].sent_s = sent_s
    trace[row].done_s = done_s
    trace[row].outcome = outcome


@compiled_uncounted
def _refuse(
    rules: Records, place: Records, windows: Records, trace: Records, now_s: float, job: int, attempt: int
) -> None:
    """The client itself says no to an attempt that was due."""
    window = place.window
    if attempt == 1:
        windows[window].refused_first += 1
    else:
        windows[window].refused += 1
    _write(rules, place, trace, job, attempt, now_s, now_s, es.REFUSED)


@compiled_uncounted
def _is_no(outcome: int) -> bool:
    """Whether it was an answer, and no success."""
    return outcome in (es.REJECTED, es.ERROR, es.EXPIRED)


@compiled_uncounted
def _cause(outcome: int) -> int:
    if outcome == es.LATE:
        return _TIMED_OUT
    return _THROTTLED if outcome == es.REJECTED else _FAILED


@compiled_uncounted
def decide(state: State, now_s: float, slot: int, outcome: int) -> None:
    """What an attempt's end leads to: ``domain.retry.RetryPolicy.decide``, step by step."""
    rules, place, slots, heap = state.rules[0], state.place[0], state.slots, state.heap
    budget, windows, trace, draws = state.budget, state.windows, state.trace, state.draws
    u = draws.jitter.random() if rules.jittered else 0.0
    if outcome == es.OK or (_is_no(outcome) and rules.on_rejection == _GIVE_UP):
        return
    attempt = slots[slot].attempt
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
        own = budget[job % rules.clients]
        price = _price(rules.budget, rules.budget_rule, own, now_s, _cause(outcome))
    kind = es.RETRY_DUE
    if price == _PRICE_REFUSED:
        _refuse(rules, place, windows, trace, now_s, job, attempt + 1)
        if rules.gives_up_on_refusal:
            return
        kind, price = es.ASK_AGAIN, 0.0
    if now_s + delay_s < rules.end_s:
        retry_slot = _planned(place, slots, job, attempt + 1, until_s, price, delay_s)
        _plan(place, heap, now_s + delay_s, retry_slot, kind)


@compiled_uncounted
def _plan(place: Records, heap: Records, at_s: float, slot: int, kind: int) -> int:
    place.planned += 1
    order = es.LATER + place.planned
    push(heap, place.heap_size, at_s, order, slot, kind)
    place.heap_size += 1
    return int(order)


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
    if price != _PRICE_REFUSED and _may_be_sent(rules, budget, breaker, draws, now_s, owner, copy, price):
        slot = _planned(place, slots, job, copy, hedges[hedge].until_s, price, 0.0)
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
        _send(state, now_s, slot)
    else:
        _refuse(rules, place, windows, trace, now_s, job, copy)
        if rules.gives_up_on_refusal:
            hedges[hedge].used = rules.copies
    _plan_copy(rules, place, heap, hedges, now_s + rules.copy_delay_s, hedge, _FAILED)
    _free_hedge_if_over(place, hedges, hedge)


@compiled_uncounted
def _plan_copy(
    rules: Records, place: Records, heap: Records, hedges: Records, at_s: float, hedge: int, cause: int
) -> None:
    """The next copy is due then, and not when it was before."""
    hedges[hedge].due = 0
    if hedges[hedge].used < rules.copies and at_s < hedges[hedge].until_s and at_s < rules.end_s:
        hedges[hedge].cause = cause
        hedges[hedge].due = _plan(place, heap, at_s, hedge, es.COPY_DUE)


@compiled_uncounted
def _bring_forward(
    rules: Records, place: Records, heap: Records, hedges: Records, now_s: float, hedge: int, outcome: int
) -> None:
    """A copy has failed: the next one comes at once, or when the service asked for it."""
    at_s = now_s + (rules.retry_after_s if outcome == es.REJECTED else 0.0)
    _plan_copy(rules, place, heap, hedges, at_s, hedge, _cause(outcome))


@compiled_uncounted
def _copy_ended(state: State, now_s: float, slot: int, outcome: int) -> None:
    rules, place, slots, heap = state.rules[0], state.place[0], state.slots, state.heap
    hedges, limit, windows = state.hedges, state.limit, state.windows
    hedge = slots[slot].hedge
    _take_off_wire(slots, hedges, hedge, slot)
    if slots[slot].client == es.HELD:
        return
    hedges[hedge].kept -= 1
    if outcome == es.OK or (_is_no(outcome) and rules.on_rejection == _GIVE_UP):
        hedges[hedge].used = rules.copies
        hedges[hedge].due = 0
        while hedges[hedge].wire >= 0:
            copy = hedges[hedge].wire
            hedges[hedge].wire = slots[copy].sibling
            hedges[hedge].kept -= 1
            windows[slots[copy].window].cancelled += 1
            hang_up(rules, place, slots, limit, windows, now_s, copy)
            _note_end(state, now_s, copy, es.CANCELLED, outcome == es.OK)
            free_if_over(place, slots, copy)
    else:
        _bring_forward(rules, place, heap, hedges, now_s, hedge, outcome)
    _free_hedge_if_over(place, hedges, hedge)


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
def _free_hedge_if_over(place: Records, hedges: Records, hedge: int) -> None:
    if hedges[hedge].kept == 0 and hedges[hedge].due == 0:
        hedges[hedge].link = place.free_hedge
        place.free_hedge = hedge
