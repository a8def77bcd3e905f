"""The compiled simulation of a call chain: users, services with a queue each, callers that each retry.

Row ``i`` of the tables is one call: a user's job (hop 0) or an attempt at service 1 … H. A call at service
h < H does its own work and then calls service h + 1, up to ``max_attempts`` times; the last service only
works. Nobody hears that a caller has given up: what was called goes on, and calls on, as it would have.
What happens at one moment is a list of actions, done in order.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analysis.compiled import compiled, compiled_rule
from domain.deadlines import attempt_timeout_s, expired
from domain.retry import attempts_left

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Shorts = NDArray[np.int32]

_attempt_timeout_s = compiled_rule(attempt_timeout_s)
_expired = compiled_rule(expired)
_attempts_left = compiled_rule(attempts_left)

NOTHING, REQUEST, ATTEMPT = range(3)
"""What a call tells the service: no deadline, the user's as far as the caller knows it, its own end."""
ARRIVED, STARTED, WAITED, USEFUL, DROPPED, REJECTED = range(6)
"""Counts at the last service: arrivals, works started, seconds they waited, works that ended with the caller
still waiting, calls dropped because they were late, calls turned away by a full queue."""
COUNTS = 6
LEAST_S = 1e-9
"""No caller sends with less left, so that a rounded deadline is not tried once more."""

_HOP, _PARENT, _CHILD, _MADE, _NEXT, _JOB = range(6)
_HEAD, _TAIL, _WAITING, _BUSY = range(4)
_ROWS, _EVENTS, _TODO = range(3)
_CALL, _END, _TELL = range(3)
_TIMEOUT, _WORKED = range(2)


class Rules(NamedTuple):
    """What stays the same throughout a run; arrays by hop have H + 1 entries, the first unused."""

    deadline_s: float
    timeouts_s: Floats
    tells: Ints
    max_attempts: int
    pods: Ints
    held: bool
    """Whether a worker is kept until its calls are over, or only for its own work."""
    mean_s: Floats
    """Mean own work of a call, exponential."""
    places: int
    drops: bool
    """Whether services drop calls that have less than ``least_s`` left when their turn comes."""
    least_s: float
    fault_from_s: float
    fault_until_s: float
    """Between these the last service answers with errors, after working as usual."""
    end_s: float
    bucket_s: float


class Tables(NamedTuple):
    """The calls, their queues, the events ahead (a heap) and what is to be done at this moment."""

    calls: Shorts
    until_s: Floats
    """The deadline a call was told, or inf."""
    since_s: Floats
    services: Ints
    times_s: Floats
    events: Ints
    todo: Ints
    state: Ints


@compiled
def new_tables(most_calls: int, hops: int) -> Tables:
    """Empty tables; memory is taken only as calls are made."""
    return Tables(
        np.empty((most_calls, 6), np.int32),
        np.empty(most_calls),
        np.empty(most_calls),
        np.zeros((hops + 1, 4), np.int64),
        np.empty(2 * most_calls + 2),
        np.empty(2 * most_calls + 2, np.int64),
        np.empty(4 * most_calls + 4, np.int64),
        np.zeros(3, np.int64),
    )


@compiled
def simulate_chain(
    rules: Rules,
    tables: Tables,
    arrivals_s: Floats,
    works: np.random.Generator,
    answered_s: Floats,
    reached: Ints,
    counts: Floats,
) -> tuple[int, int]:
    """Simulate until ``end_s``; returns how many calls were made and how many wait at the last service.

    ``answered_s[job]`` becomes the time at which the user had an answer that was still waited for, or inf;
    ``reached[job]`` how many attempts came to the last service; ``counts`` has a row per bucket.
    """
    job = 0
    while True:
        arrival_s = arrivals_s[job] if job < arrivals_s.size else math.inf
        event_s = tables.times_s[0] if tables.state[_EVENTS] > 0 else math.inf
        now_s = min(arrival_s, event_s)
        if now_s >= rules.end_s:
            return tables.state[_ROWS], tables.services[rules.timeouts_s.size - 1, _WAITING]
        count = counts[int(now_s / rules.bucket_s)]
        if arrival_s <= event_s:
            user = _new_call(tables, 0, -1, job)
            tables.until_s[user] = arrival_s + rules.deadline_s
            answered_s[job], reached[job] = math.inf, 0
            job += 1
            _then(tables, _CALL, user, 0)
        else:
            _happen(rules, tables, works, count, _pop(tables), now_s)
        done = 0
        while done < tables.state[_TODO]:
            _act(rules, tables, works, count, tables.todo[done], now_s, answered_s, reached)
            done += 1
        tables.state[_TODO] = 0


@compiled
def _happen(
    rules: Rules, tables: Tables, works: np.random.Generator, count: Floats, event: int, now_s: float
) -> None:
    """An attempt's time is over, or a worker has done its own work for a call."""
    call, calls = event >> 1, tables.calls
    hop = calls[call, _HOP]
    if event & 1 == _TIMEOUT:
        _then(tables, _TELL, call, 0)
        return
    last = hop == rules.timeouts_s.size - 1
    if last or not rules.held:
        _release(rules, tables, works, count, hop, now_s)
    if not last:
        _then(tables, _CALL, call, 0)
        return
    if calls[calls[call, _PARENT], _CHILD] == call:
        count[USEFUL] += 1
    faulty = rules.fault_from_s <= now_s < rules.fault_until_s
    _then(tables, _TELL, call, 0 if faulty else 1)


@compiled
def _act(
    rules: Rules,
    tables: Tables,
    works: np.random.Generator,
    count: Floats,
    task: int,
    now_s: float,
    answered_s: Floats,
    reached: Ints,
) -> None:
    """Make a call's next attempt, end it, or tell its caller how it ended."""
    ok, action, call = task & 1, (task >> 1) % 3, (task >> 1) // 3
    calls = tables.calls
    if action == _CALL:
        if _expired(tables.until_s[call], now_s, LEAST_S):
            _then(tables, _END, call, 0)
        else:
            if calls[call, _HOP] == rules.timeouts_s.size - 2:
                reached[calls[call, _JOB]] += 1
            _attempt(rules, tables, works, count, call, now_s)
    elif action == _TELL:
        caller = calls[call, _PARENT]
        if calls[caller, _CHILD] != call:
            return
        calls[caller, _CHILD] = -1
        again = ok == 0 and _attempts_left(calls[caller, _MADE], rules.max_attempts)
        _then(tables, _CALL if again else _END, caller, ok)
    elif calls[call, _HOP] == 0:
        answered_s[calls[call, _JOB]] = now_s if ok == 1 else math.inf
    else:
        if rules.held:
            _release(rules, tables, works, count, calls[call, _HOP], now_s)
        _then(tables, _TELL, call, ok)


@compiled
def _attempt(
    rules: Rules, tables: Tables, works: np.random.Generator, count: Floats, caller: int, now_s: float
) -> None:
    calls, until_s = tables.calls, tables.until_s
    hop = calls[caller, _HOP] + 1
    call = _new_call(tables, hop, caller, calls[caller, _JOB])
    calls[caller, _CHILD] = call
    calls[caller, _MADE] += 1
    over_s = now_s + _attempt_timeout_s(rules.timeouts_s[hop], until_s[caller], now_s)
    _push(tables, over_s, call * 2 + _TIMEOUT)
    until_s[call] = math.inf
    if rules.tells[hop] == REQUEST:
        until_s[call] = until_s[caller]
    elif rules.tells[hop] == ATTEMPT:
        until_s[call] = over_s
    _arrive(rules, tables, works, count, call, now_s)


@compiled
def _arrive(
    rules: Rules, tables: Tables, works: np.random.Generator, count: Floats, call: int, now_s: float
) -> None:
    """A call at its service: it is begun, waits, or is turned away by a full queue of the last one."""
    hop = tables.calls[call, _HOP]
    service = tables.services[hop]
    last = hop == rules.timeouts_s.size - 1
    tables.since_s[call] = now_s
    if last:
        count[ARRIVED] += 1
    if service[_BUSY] < rules.pods[hop]:
        _begin(rules, tables, works, count, call, now_s)
    elif last and service[_WAITING] >= rules.places:
        count[REJECTED] += 1
        _then(tables, _TELL, call, 0)
    else:
        if service[_WAITING] == 0:
            service[_HEAD] = call
        else:
            tables.calls[service[_TAIL], _NEXT] = call
        service[_TAIL] = call
        service[_WAITING] += 1


@compiled
def _release(
    rules: Rules, tables: Tables, works: np.random.Generator, count: Floats, hop: int, now_s: float
) -> None:
    """A worker of a service is free: it takes the first that waits, past those it may drop."""
    service = tables.services[hop]
    service[_BUSY] -= 1
    while service[_WAITING] > 0:
        call = service[_HEAD]
        service[_HEAD] = tables.calls[call, _NEXT]
        service[_WAITING] -= 1
        if _begin(rules, tables, works, count, call, now_s):
            return


@compiled
def _begin(
    rules: Rules, tables: Tables, works: np.random.Generator, count: Floats, call: int, now_s: float
) -> bool:
    """A call whose turn has come is begun, or dropped: then the worker is free for another."""
    hop = tables.calls[call, _HOP]
    last = hop == rules.timeouts_s.size - 1
    if rules.drops and _expired(tables.until_s[call], now_s, rules.least_s):
        if last:
            count[DROPPED] += 1
        _then(tables, _TELL, call, 0)
        return False
    tables.services[hop, _BUSY] += 1
    if last:
        count[STARTED] += 1
        count[WAITED] += now_s - tables.since_s[call]
    over_s = now_s + rules.mean_s[hop] * works.standard_exponential()
    _push(tables, over_s, call * 2 + _WORKED)
    return True


@compiled
def _new_call(tables: Tables, hop: int, parent: int, job: int) -> int:
    calls, call = tables.calls, int(tables.state[_ROWS])
    tables.state[_ROWS] = call + 1
    calls[call, _HOP], calls[call, _PARENT], calls[call, _JOB] = hop, parent, job
    calls[call, _CHILD], calls[call, _MADE], calls[call, _NEXT] = -1, 0, -1
    return call


@compiled
def _then(tables: Tables, action: int, call: int, ok: int) -> None:
    """Note what follows at this moment."""
    tables.todo[tables.state[_TODO]] = (call * 3 + action) * 2 + ok
    tables.state[_TODO] += 1


@compiled
def _push(tables: Tables, at_s: float, event: int) -> None:
    times_s, events = tables.times_s, tables.events
    i = tables.state[_EVENTS]
    tables.state[_EVENTS] = i + 1
    while i > 0:
        up = (i - 1) >> 1
        if times_s[up] <= at_s:
            break
        times_s[i], events[i] = times_s[up], events[up]
        i = up
    times_s[i], events[i] = at_s, event


@compiled
def _pop(tables: Tables) -> int:
    """Take the first event off the heap."""
    times_s, events = tables.times_s, tables.events
    first = events[0]
    last = tables.state[_EVENTS] - 1
    tables.state[_EVENTS] = last
    at_s, event = times_s[last], events[last]
    i = 0
    while 2 * i + 1 < last:
        down = 2 * i + 1
        if down + 1 < last and times_s[down + 1] < times_s[down]:
            down += 1
        if times_s[down] >= at_s:
            break
        times_s[i], events[i] = times_s[down], events[down]
        i = down
    times_s[i], events[i] = at_s, event
    return int(first)
