"""The clients of the event-driven simulation: what is sent, what a failure leads to, when a job is over.

The compiled twin of ``loadgen``'s jobs: the breaker before an attempt, the account of the budget with it, and
after it ``domain.retry.RetryPolicy.decide`` with the same draws in the same order.
"""

from __future__ import annotations

from analysis.compiled import compiled_rule, compiled_uncounted
from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.event_clock import push
from analysis.simulation.event_server import arrive, free_if_over
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
_GIVE_UP = kernel.GIVE_UP


@compiled_uncounted
def planned(
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
    elif may_be_sent(rules, budget, breaker, draws, now_s, owner, slots[slot].attempt, slots[slot].price):
        send(state, now_s, slot)
    else:
        refuse(rules, place, windows, trace, now_s, slots[slot].job, slots[slot].attempt)
        if not rules.gives_up_on_refusal:
            decide(state, now_s, slot, es.REFUSED)
        free_if_over(place, slots, slot)


@compiled_uncounted
def may_be_sent(
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
def send(state: State, now_s: float, slot: int) -> None:
    """The attempt goes out, and arrives at once."""
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
def note_end(state: State, now_s: float, slot: int, outcome: int, succeeded: bool) -> None:
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
def refuse(
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
def is_no(outcome: int) -> bool:
    """Whether it was an answer, and no success."""
    return outcome in (es.REJECTED, es.ERROR, es.EXPIRED)


@compiled_uncounted
def cause_of(outcome: int) -> int:
    """How it failed, as budgets tell it apart: ``domain.retry.cause``."""
    if outcome == es.LATE:
        return _TIMED_OUT
    return _THROTTLED if outcome == es.REJECTED else _FAILED


@compiled_uncounted
def decide(state: State, now_s: float, slot: int, outcome: int) -> None:
    """What an attempt's end leads to: ``domain.retry.RetryPolicy.decide``, step by step."""
    rules, place, slots, heap = state.rules[0], state.place[0], state.slots, state.heap
    budget, windows, trace, draws = state.budget, state.windows, state.trace, state.draws
    u = draws.jitter.random() if rules.jittered else 0.0
    if outcome == es.OK or (is_no(outcome) and rules.on_rejection == _GIVE_UP):
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
        price = _price(rules.budget, rules.budget_rule, own, now_s, cause_of(outcome))
    kind = es.RETRY_DUE
    if price == _PRICE_REFUSED:
        refuse(rules, place, windows, trace, now_s, job, attempt + 1)
        if rules.gives_up_on_refusal:
            return
        kind, price = es.ASK_AGAIN, 0.0
    if now_s + delay_s < rules.end_s:
        retry_slot = planned(place, slots, job, attempt + 1, until_s, price, delay_s)
        plan(place, heap, now_s + delay_s, retry_slot, kind)


@compiled_uncounted
def plan(place: Records, heap: Records, at_s: float, slot: int, kind: int) -> int:
    """Let something happen at ``at_s``; returns the order of the event."""
    place.planned += 1
    order = es.LATER + place.planned
    push(heap, place.heap_size, at_s, order, slot, kind)
    place.heap_size += 1
    return int(order)
