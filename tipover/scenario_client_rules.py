"""Rules that tie the values of ``[client]`` together, and to what the service does."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from domain.budgets.exhaustion import runs_out
from domain.errors import Fault
from domain.experiment import Client
from domain.presets import PRESETS
from tipover.scenario_raw import Raw, is_number, table
from tipover.scenario_schema import TABLES
from tipover.scenario_tables.backoffs import CAP_IN_TIMEOUTS
from tipover.scenario_tables.base import default
from tipover.scenario_tables.client import REPLACED_BY_HEDGING

_GROWING_FROM_A_TIMEOUT = ("exponential", "full-jitter", "equal-jitter", "finagle-jitter")
_GROWING = (*_GROWING_FROM_A_TIMEOUT, "decorrelated-jitter", "grpc", "envoy")
REJECTING = ("queue_cap", "limit", "codel", "error_rate")
"""Keys of ``[service]`` that make it answer with a rejection or an error."""
MOST_AT_ONCE = 1000
"""More attempts than this of one job, one right after the other, are as good as no end."""
MOST_KEPT_CALLS = 10_000_000
"""Outcomes that the breakers of all clients keep together: 80 MB a process, or a simulated seed."""


def client_faults(raw: Raw) -> Iterator[Fault]:
    """Every fault in ``[client]`` that takes more than one value to see."""
    client = table(raw, "client")
    yield from _backoff_faults(client)
    yield from _deadline_faults(client)
    yield from _hedging_faults(client)
    yield from _budget_faults(client)
    yield from _breaker_faults(client)
    yield from _loop_faults(client, table(raw, "service"))
    yield from _retry_after_faults(client, raw)


def effective(client: Raw, key: str) -> Any:
    """What the client does about ``key``: its own word, that of its preset, or the domain's default."""
    if key in client:
        return client[key]
    preset = client.get("preset")
    settings = PRESETS[preset].settings if isinstance(preset, str) and preset in PRESETS else {}
    return settings.get(key, default(Client, key))


def kind_of(rule: object) -> str:
    """The kind of a rule, be it a table of the file or a value of a preset; empty if it is neither."""
    return str(rule.get("kind") if isinstance(rule, dict) else getattr(rule, "kind", ""))


def _default_of(place: tuple[str, ...], key: str) -> Any:
    """The default of a key of the table at ``place``; None if there is no such table."""
    model = TABLES.get(place)
    return None if model is None else model.model_fields[key].default


def _timeout(client: Raw) -> float | None:
    timeout_s = client.get("timeout_s")
    return timeout_s if is_number(timeout_s) and timeout_s > 0 else None


def _backoff_faults(client: Raw) -> Iterator[Fault]:
    backoff, timeout_s = table(client, "backoff"), _timeout(client)
    if backoff.get("kind") not in _GROWING:
        return
    place = ("client", "backoff", backoff["kind"])
    usual = _default_of(place, "base_s"), _default_of(place, "cap_s")
    if backoff["kind"] in _GROWING_FROM_A_TIMEOUT and timeout_s is not None:
        usual = timeout_s, CAP_IN_TIMEOUTS * timeout_s
    base, cap = backoff.get("base_s", usual[0]), backoff.get("cap_s", usual[1])
    if is_number(base) and is_number(cap) and 0 < cap < base:
        yield Fault("client.backoff.cap_s", f"must be at least base_s, which is {base:g}", cap)


def _deadline_faults(client: Raw) -> Iterator[Fault]:
    deadline_s, timeout_s = client.get("deadline_s"), _timeout(client)
    if not is_number(deadline_s) or deadline_s <= 0:
        return
    if timeout_s is not None and deadline_s < timeout_s:
        rule = f"must be at least timeout_s, which is {timeout_s:g}: it is of the whole job, retries included"
        yield Fault("client.deadline_s", rule, deadline_s)
    wait_s = table(client, "backoff").get("fixed_s")
    if is_number(wait_s) and wait_s >= deadline_s:
        rule = f"must be below deadline_s, which is {deadline_s:g}, or no retry is ever sent"
        yield Fault("client.backoff.fixed_s", rule, wait_s)


def _hedging_faults(client: Raw) -> Iterator[Fault]:
    hedging, timeout_s = table(client, "hedging"), _timeout(client)
    if not isinstance(client.get("hedging"), dict):
        return
    for key in REPLACED_BY_HEDGING:
        if key in client:
            rule = "does not go with hedging, whose copies are the attempts and whose delay_s is the wait"
            yield Fault(f"client.{key}", rule, client[key])
    delay_s = hedging.get("delay_s", _default_of(("client", "hedging"), "delay_s"))
    if timeout_s is not None and is_number(delay_s) and delay_s >= timeout_s:
        rule = f"must be below timeout_s, which is {timeout_s:g}: later copies are retries, not hedges"
        yield Fault("client.hedging.delay_s", rule, delay_s)


def _budget_faults(client: Raw) -> Iterator[Fault]:
    budget = table(client, "budget")
    if client.get("max_attempts") == 1 and budget.get("kind", "none") != "none":
        yield Fault("client.budget", "has nothing to do with max_attempts = 1, which never retries", budget)
    yield from _bucket_faults(budget)
    refuses = any(kind_of(effective(client, key)) != "none" for key in ("budget", "breaker"))
    if "on_refusal" in client and not refuses:
        rule = "needs a budget or a breaker: nothing else refuses"
        yield Fault("client.on_refusal", rule, client["on_refusal"])


def _bucket_faults(budget: Raw) -> Iterator[Fault]:
    place = ("client", "budget", "aws-token-bucket")
    if budget.get("kind") != place[-1]:
        return
    capacity = budget.get("capacity", _default_of(place, "capacity"))
    for key in ("timeout_cost", "error_cost", "throttle_cost"):
        cost = budget.get(key, _default_of(place, key))
        if not (is_number(capacity) and is_number(cost) and cost > capacity):
            continue
        if key in budget:
            rule = f"must be at most capacity, which is {capacity:g}, or no retry is ever paid for"
            yield Fault(f"client.budget.{key}", rule, cost)
        else:
            rule = f"must be at least {key}, which is {cost:g}, or no retry is ever paid for"
            yield Fault("client.budget.capacity", rule, capacity)


def _breaker_faults(client: Raw) -> Iterator[Fault]:
    breaker, clients = table(client, "breaker"), client.get("clients", default(Client, "clients"))
    calls = breaker.get("window_calls")
    if not (is_number(calls) and is_number(clients)) or breaker.get("window_s", 0) != 0:
        return
    if calls * clients > MOST_KEPT_CALLS:
        rule = (
            f"must be at most {MOST_KEPT_CALLS // max(int(clients), 1)} with {clients:g} clients, each of "
            "which keeps the outcomes of so many calls"
        )
        yield Fault("client.breaker.window_calls", rule, calls)


def _loop_faults(client: Raw, service: Raw) -> Iterator[Fault]:
    """A job that comes back at once, without end or as good as, whenever it is turned away at once."""
    attempts, backoff = effective(client, "max_attempts"), effective(client, "backoff")
    waits = kind_of(backoff) != "none" and not (isinstance(backoff, dict) and backoff.get("fixed_s") == 0)
    endless = attempts == math.inf or (is_number(attempts) and attempts > MOST_AT_ONCE)
    if not endless or waits or isinstance(client.get("hedging"), dict):
        return
    budget = effective(client, "budget")
    refuses = kind_of(budget) != "none" or kind_of(effective(client, "breaker")) != "none"
    rejecting = [key for key in (*REJECTING, "least_s") if key in service and service[key] != 0]
    if service.get("queue_cap") == 0:
        rejecting.insert(0, "queue_cap")
    if refuses and effective(client, "on_refusal") == "retry":
        rule = (
            f'must be at most {MOST_AT_ONCE} with on_refusal = "retry" and no backoff: a refused job would '
            "ask again and again at one moment"
        )
        yield Fault("client.max_attempts", rule, attempts)
    elif rejecting and effective(client, "on_rejection") == "retry" and not _can_run_out(budget):
        rule = (
            f"must be at most {MOST_AT_ONCE}, or have a backoff or a budget that runs out, with "
            f"service.{rejecting[0]}: a rejected job would come back at once, again and again"
        )
        yield Fault("client.max_attempts", rule, attempts)


def _can_run_out(budget: Any) -> bool:
    """Whether retries asked for at one moment use it up, be it a table or a preset's; so they say of a table
    that is at fault, which has its own fault already."""
    if isinstance(budget, dict):
        try:
            budget = TABLES["client", "budget", kind_of(budget)].model_validate(budget).value()  # type: ignore[attr-defined]
        except (KeyError, ValidationError):
            return True
    return runs_out(budget) if hasattr(budget, "code") else True


def _retry_after_faults(client: Raw, raw: Raw) -> Iterator[Fault]:
    if client.get("honour_retry_after") is not True or "service" not in raw:
        return  # somebody else's service may well send it
    if "retry_after_s" not in table(raw, "service"):
        rule = "needs service.retry_after_s: nothing else sends a Retry-After"
        yield Fault("client.honour_retry_after", rule, True)
