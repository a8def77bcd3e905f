"""An event-driven run before it begins: its rules as numbers, its arrays, its random streams."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from analysis.simulation import event_state as es
from analysis.simulation.arrays import capacity_of
from analysis.simulation.counts import Floats
from analysis.simulation.event_state import Records
from analysis.simulation.run import REJECTIONS
from domain.breakers import decide as breakers
from domain.budgets import decide as budgets
from domain.budgets.exhaustion import runs_out
from domain.experiment import Client, Experiment, Service
from domain.limits import codes as limit_codes
from domain.limits import decide as limits
from domain.queue_order import CODES
from domain.rule import padded
from domain.streams import Purpose, stream

_SLOTS, _RING, _HEAP, _HEDGES, _ROWS = 1024, 1024, 256, 256, 1024
_PURPOSES: tuple[Purpose, ...] = ("service", "errors", "jitter", "breaker")


def check_ends(client: Client, service: Service) -> None:
    """A client that never gives up and does not back off must not be told no at once."""
    if math.isfinite(client.max_attempts) or client.hedging is not None or client.backoff.bounds_s(1)[1] > 0:
        return
    if client.on_rejection == "retry" and service.admission.may_reject and not runs_out(client.budget):
        raise ValueError(
            "on_rejection: must not be 'retry' for clients that never give up and do not back off "
            "(got 'retry'): a service that rejects would be asked again and again at one moment"
        )
    if client.on_refusal == "retry" and client.may_refuse:
        raise ValueError(
            "on_refusal: must not be 'retry' for clients that never give up and do not back off "
            "(got 'retry'): a budget or breaker would be asked again and again at one moment"
        )


def initial_state(live: Experiment, service: Service, edges_s: Floats, recording: bool) -> es.State:
    """A run of an experiment in seconds of the wall clock, of which nothing has happened."""
    client, seed = live.client, live.run.seed
    knots = _knots(live, service)
    budget, breaker = _accounts(client)
    return es.State(
        rules=_rules(live, service, client, recording),
        place=_place(knots["rate"][0]),
        slots=free_slots(0, _SLOTS, es.NOBODY),
        ring=np.zeros(_RING, dtype=es.EVENT),
        heap=np.zeros(_HEAP, dtype=es.EVENT),
        running=np.zeros(service.pods, dtype=es.EVENT),
        hedges=free_hedges(0, _HEDGES if client.hedging is not None else 1),
        budget=budget,
        breaker=breaker,
        limit=_limit(service),
        windows=_windows(edges_s),
        knots=knots,
        trace=np.zeros(_ROWS if recording else 1, dtype=es.ROW),
        draws=es.Draws(*(stream(seed, purpose) for purpose in _PURPOSES)),
    )


def _rules(live: Experiment, service: Service, client: Client, recording: bool) -> Records:
    rules = np.zeros(1, dtype=es.RULES)
    for name, value in {
        **_client_numbers(client, service),
        **_server_numbers(client, service),
        "end_s": live.duration_s,
        "recording": recording,
    }.items():
        rules[name] = value
    return rules


def _client_numbers(client: Client, service: Service) -> dict[str, Any]:
    rule, base_s, cap_s, multiplier = client.backoff.numbers
    asked_s = service.admission.retry_after_s if client.honours_retry_after else None
    return {
        "timeout_s": client.timeout_s,
        "max_attempts": client.max_attempts,
        "backoff": rule,
        "base_s": base_s,
        "cap_s": cap_s,
        "multiplier": multiplier,
        "jittered": client.backoff.is_random and client.hedging is None,
        "deadline_s": client.deadline_s,
        "clients": client.clients,
        "on_rejection": REJECTIONS[client.on_rejection],
        "gives_up_on_refusal": client.on_refusal == "give-up",
        "retry_after_s": 0.0 if asked_s is None else asked_s,
        "copies": 0 if client.hedging is None else client.hedging.copies,
        "copy_delay_s": 0.0 if client.hedging is None else client.hedging.delay_s,
        "budget": client.budget.code,
        "budget_rule": client.budget.parameters,
        "breaker": client.breaker.code,
        "breaker_rule": client.breaker.parameters,
    }


def _server_numbers(client: Client, service: Service) -> dict[str, Any]:
    admission = service.admission
    slowing, shedding, limit = admission.degradation, admission.codel, admission.limit
    return {
        "pods": service.pods,
        "work": service.service_time.code,
        "shape": service.service_time.parameter,
        "order": CODES[admission.discipline],
        "standing": service.pods if admission.standing is None else admission.standing,
        "places": -1 if admission.queue_cap is None else admission.queue_cap,
        "drops_expired": admission.drop_expired and client.propagate != "none",
        "least_s": admission.least_s,
        "cancels": admission.cancel_on_disconnect,
        "first_before_retry": admission.first_before_retry,
        "codel": shedding is not None,
        "codel_target_s": 0.0 if shedding is None else shedding.target_s,
        "codel_interval_s": 0.0 if shedding is None else shedding.interval_s,
        "limit": limit_codes.NONE if limit is None else limit.code,
        "limit_rule": padded() if limit is None else limit.parameters,
        "degrades": slowing is not None,
        "floor": 1.0 if slowing is None else slowing.floor,
        "half_queue": 1.0 if slowing is None else slowing.half_queue,
        "error_rate": admission.error_rate,
    }


def _place(first_rate: float) -> Records:
    place = np.zeros(1, dtype=es.PLACE)
    for nobody in ("oldest", "newest", "newest_retry", "out_first", "out_last"):
        place[nobody] = es.NOBODY
    place["free_slots"] = _SLOTS
    place["base_rate"] = place["rate"] = first_rate
    place["saturated_since_u"] = -1.0
    return place


def _windows(edges_s: Floats) -> Records:
    windows = np.zeros(edges_s.size + 1, dtype=es.WINDOW)
    windows["edge_s"] = np.append(edges_s, math.inf)
    return windows


def _knots(live: Experiment, service: Service) -> Records:
    capacity = capacity_of(live, service)
    knots = np.zeros(capacity.knots_s.size, dtype=es.KNOT)
    knots["at_s"], knots["rate"] = capacity.knots_s, capacity.rates
    return knots


def _accounts(client: Client) -> tuple[Floats, Floats]:
    """The states of the budgets and of the breakers, one row a client."""
    budget = np.zeros((client.clients, client.budget.state_size))
    breaker = np.zeros((client.clients, client.breaker.state_size))
    for row in budget:
        budgets.begin(client.budget.code, client.budget.parameters, row)
    for row in breaker:
        breakers.begin(client.breaker.code, client.breaker.parameters, row)
    return budget, breaker


def _limit(service: Service) -> Floats:
    limit = service.admission.limit
    if limit is None:
        return np.zeros(1)
    state = np.zeros(limit.state_size)
    limits.begin(limit.code, limit.parameters, state)
    return state


def free_slots(first: int, count: int, last: int) -> Records:
    """``count`` free slots in a list, the first with the number ``first``; after them comes ``last``."""
    slots = np.zeros(count, dtype=es.SLOT)
    slots["link"] = np.arange(first + 1, first + count + 1)
    slots["link"][-1] = last
    slots["told"] = es.NOBODY
    return slots


def free_hedges(first: int, count: int) -> Records:
    """``count`` free records of hedged jobs in a list, the first with the number ``first``."""
    hedges = np.zeros(count, dtype=es.HEDGE)
    hedges["link"] = np.arange(first + 1, first + count + 1)
    hedges["link"][-1] = es.NOBODY
    return hedges
