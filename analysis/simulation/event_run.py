"""One event-driven run of an experiment: its arrays, its streams, and its way through the compiled loop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.arrays import (
    arrival_chunks,
    capacity_of,
    doubled,
    edges_of,
    unrolled,
)
from analysis.simulation.counts import DefendedCounts, Floats, Ints
from analysis.simulation.event_state import Records
from analysis.simulation.events import advance
from analysis.simulation.run import REJECTIONS
from domain.breakers import codes as breaker_codes
from domain.breakers import decide as breakers
from domain.budgets import codes as budget_codes
from domain.budgets import decide as budgets
from domain.experiment import Client, Experiment, Service
from domain.limits import codes as limit_codes
from domain.limits import decide as limits
from domain.queue_order import CODES
from domain.rule import padded
from domain.streams import Purpose, stream

_SLOTS, _RING, _HEAP, _HEDGES, _ROWS = 1024, 1024, 256, 256, 1024
_PURPOSES: tuple[Purpose, ...] = ("service", "errors", "jitter", "breaker")


class EventRun:
    """A run that can be taken forward bit by bit.

    Everything is in seconds of the wall clock. With ``recording`` every attempt is kept, for ``recorded``.
    Raises ``ValueError`` when the capacity is not known, the edges do not ascend, or a client would ask
    again and again at one moment.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        edges_s: Sequence[float] | Floats | None = None,
        preload: int = 0,
        recording: bool = False,
    ) -> None:
        live = experiment.live()
        service, client, seed = live.service, live.client, live.run.seed
        if service is None:
            raise ValueError("service: must be known for a simulation (got None)")
        if preload < 0:
            raise ValueError(f"preload: must be at least 0 (got {preload!r})")
        _check_ends(client, service)
        self._service, self._seed, self._end_s = service, seed, live.duration_s
        self._edges_s = edges_of(live, edges_s)
        self._chunks = arrival_chunks(live.arrival_plan, stream(seed, "arrivals"), preload)
        self._arrivals = next(self._chunks, np.empty(0))
        self._ahead = next(self._chunks, None)
        knots = _knots(live, service)
        budget, breaker = _accounts(client)
        self._state = es.State(
            rules=_rules(live, service, client, recording),
            place=_place(knots["rate"][0]),
            slots=_free_slots(0, _SLOTS, es.NOBODY),
            ring=np.zeros(_RING, dtype=es.EVENT),
            heap=np.zeros(_HEAP, dtype=es.EVENT),
            running=np.zeros(service.pods, dtype=es.EVENT),
            hedges=_free_hedges(0, _HEDGES if client.hedging is not None else 1),
            budget=budget,
            breaker=breaker,
            limit=_limit(service),
            windows=_windows(self._edges_s),
            knots=knots,
            trace=np.zeros(_ROWS if recording else 1, dtype=es.ROW),
            draws=es.Draws(*(stream(seed, purpose) for purpose in _PURPOSES)),
        )

    def advance(self, until_s: float) -> None:
        """Run every event before ``until_s``, or to the end of the phases."""
        until_s = min(until_s, self._end_s)
        while True:
            if self._ahead is None or self._arrivals[-1] >= until_s:
                self._run_to(until_s)
                return
            self._run_to(self._arrivals[-1])
            self._read_ahead()

    def finish(self) -> DefendedCounts:
        """The counts, once the run has been taken to its end."""
        self._follow_open_attempts()
        windows, rate = self._state.windows, self._service.rate_per_pod
        inner = windows[1:-1]

        def row(name: str) -> Ints:
            return np.asarray(inner[name])[np.newaxis, :].copy()

        return DefendedCounts(
            seeds=(self._seed,),
            edges_s=self._edges_s,
            jobs=row("jobs"),
            attempts=row("attempts"),
            late=row("late"),
            rejected=row("rejected"),
            refused=row("refused"),
            answered=row("answered"),
            busy_s=np.diff(windows["done_w"][:-1] / rate)[np.newaxis, :],
            depth=row("depth"),
            backlog_s=(inner["backlog_w"] / self._service.capacity_per_s)[np.newaxis, :],
            wasted_s=(inner["wasted_w"] / rate)[np.newaxis, :],
            dropped=row("dropped"),
            refused_first=row("refused_first"),
            errors=row("errors"),
            cancelled=row("cancelled"),
        )

    def recorded(self) -> kernel.Trace:
        """Every attempt of a finished run, in the order they ended, those that were refused too.

        ``outcome`` is one of ``event_state``'s. What has not ended by the end of the phases is open: NaN
        ``done_s``. Needs ``recording``.
        """
        self._follow_open_attempts()
        rows = self._state.trace[: self._state.place["traced"][0]]
        is_open = rows["done_s"] > self._end_s
        return kernel.Trace(
            job=rows["job"].copy(),
            attempt=rows["attempt"].copy(),
            sent_s=rows["sent_s"].copy(),
            done_s=np.where(is_open, np.nan, rows["done_s"]),
            outcome=np.where(is_open, np.int32(es.OPEN), rows["outcome"]),
        )

    def saturated(self) -> tuple[Floats, Ints]:
        """Seconds in which every pod was busy at a rate above 0, and completions meanwhile, up to each edge.

        Shape (windows + 1,).
        """
        at_edges = self._state.windows[:-1]
        return at_edges["saturated_u"], at_edges["saturated_done"]

    def served(self) -> tuple[Floats, Floats]:
        """Seconds of service given up to each edge, and those of work that had ended and nobody waited for.

        Shape (windows + 1,). As the target counts them: in time, not in work.
        """
        at_edges = self._state.windows[:-1]
        return at_edges["busy_u"], at_edges["abandoned_u"]

    def completed(self) -> Ints:
        """Attempts served to the end up to each edge, shape (windows + 1,)."""
        return np.asarray(self._state.windows["completed"][:-1])

    def _run_to(self, until_s: float) -> None:
        while True:
            status = advance(self._state, self._arrivals, until_s)
            if status == es.DONE:
                return
            self._enlarge(status)

    def _read_ahead(self) -> None:
        assert self._ahead is not None
        place = self._state.place
        used = int(place["arrived"][0])
        self._arrivals = np.concatenate([self._arrivals[used:], self._ahead])
        self._ahead = next(self._chunks, None)
        place["earlier"] += used
        place["arrived"] = 0

    def _follow_open_attempts(self) -> None:
        """Go on until every attempt has ended, and all work that was in service; nothing more is sent."""
        place = self._state.place
        if place["over"][0]:
            return
        place["over"] = True
        place["last_started"] = place["started"]
        place["left"] = place["running"]
        self._run_to(math.inf)

    def _enlarge(self, status: int) -> None:
        state, place = self._state, self._state.place
        if status == es.FULL_SLOTS:
            size = state.slots.size
            more = _free_slots(size, size, int(place["free_slot"][0]))
            place["free_slot"] = size
            place["free_slots"] += size
            self._state = state._replace(slots=np.concatenate([state.slots, more]))
        elif status == es.FULL_RING:
            head, tail = int(place["ring_head"][0]), int(place["ring_tail"][0])
            self._state = state._replace(ring=unrolled(state.ring, head, tail))
        elif status == es.FULL_HEAP:
            self._state = state._replace(heap=doubled(state.heap))
        elif status == es.FULL_HEDGES:
            size = state.hedges.size
            place["free_hedge"] = size
            self._state = state._replace(hedges=np.concatenate([state.hedges, _free_hedges(size, size)]))
        else:
            self._state = state._replace(trace=doubled(state.trace))


def _check_ends(client: Client, service: Service) -> None:
    """A client that never gives up and does not back off must not be told no at once."""
    if math.isfinite(client.max_attempts) or client.hedging is not None or client.backoff.bounds_s(1)[1] > 0:
        return
    admission = service.admission
    rejects = admission.queue_cap is not None or admission.limit is not None or admission.codel is not None
    if client.on_rejection == "retry" and (rejects or (admission.drop_expired and admission.least_s > 0)):
        raise ValueError(
            "on_rejection: must not be 'retry' for clients that never give up and do not back off "
            "(got 'retry'): a service that rejects would be asked again and again at one moment"
        )
    refuses = client.budget.code != budget_codes.NONE or client.breaker.code != breaker_codes.NONE
    if client.on_refusal == "retry" and refuses:
        raise ValueError(
            "on_refusal: must not be 'retry' for clients that never give up and do not back off "
            "(got 'retry'): a budget or breaker would be asked again and again at one moment"
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


def _free_slots(first: int, count: int, last: int) -> Records:
    """``count`` free slots in a list, the first with the number ``first``; after them comes ``last``."""
    slots = np.zeros(count, dtype=es.SLOT)
    slots["link"] = np.arange(first + 1, first + count + 1)
    slots["link"][-1] = last
    slots["told"] = es.NOBODY
    return slots


def _free_hedges(first: int, count: int) -> Records:
    hedges = np.zeros(count, dtype=es.HEDGE)
    hedges["link"] = np.arange(first + 1, first + count + 1)
    hedges["link"][-1] = es.NOBODY
    return hedges
