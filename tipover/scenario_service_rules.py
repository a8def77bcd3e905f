"""Rules that tie the values of ``[service]`` together, and to what the client does."""

from __future__ import annotations

from collections.abc import Iterator

from domain.errors import Fault
from tipover.scenario_client_rules import effective
from tipover.scenario_raw import Raw, is_number, table
from tipover.scenario_schema import TABLES

_TURNING_AWAY = ("queue_cap", "limit", "codel")
"""What answers 503, with when to come again: an error is a 500, what has expired a 504."""


def service_faults(raw: Raw) -> Iterator[Fault]:
    """Every fault in ``[service]`` that takes more than one value to see."""
    service, client = table(raw, "service"), table(raw, "client")
    yield from _queue_faults(service)
    yield from _expiry_faults(service, client)
    yield from _limit_faults(service)


def _queue_faults(service: Raw) -> Iterator[Fault]:
    if "standing" in service and service.get("discipline") != "adaptive-lifo":
        yield Fault("service.standing", 'goes with discipline = "adaptive-lifo"', service["standing"])
    if service.get("first_before_retry") is True and not {"queue_cap", "limit"} & set(service):
        rule = "needs a queue_cap or a limit: without one nothing is turned away"
        yield Fault("service.first_before_retry", rule, True)
    if service.get("first_before_retry") is True and service.get("queue_cap") == 0:
        rule = "needs a queue_cap of at least 1: no retry waits whose place could be taken"
        yield Fault("service.first_before_retry", rule, True)
    if "retry_after_s" in service and not any(key in service for key in _TURNING_AWAY):
        rule = f"needs something that turns attempts away with a 503: {', '.join(_TURNING_AWAY)}"
        yield Fault("service.retry_after_s", rule, service["retry_after_s"])


def _expiry_faults(service: Raw, client: Raw) -> Iterator[Fault]:
    drops = service.get("drop_expired") is True
    if "least_s" in service and not drops:
        yield Fault("service.least_s", "needs drop_expired = true", service["least_s"])
    if not drops:
        return
    if effective(client, "propagate") == "none":
        rule = 'needs a deadline to look at: with client.propagate = "none" nothing would ever be dropped'
        yield Fault("service.drop_expired", rule, True)
    least_s, timeout_s = service.get("least_s"), client.get("timeout_s")
    if is_number(least_s) and is_number(timeout_s) and 0 < timeout_s <= least_s:
        rule = f"must be below client.timeout_s, which is {timeout_s:g}, or everything is dropped"
        yield Fault("service.least_s", rule, least_s)


def _limit_faults(service: Raw) -> Iterator[Fault]:
    limit, pods = table(service, "limit"), service.get("pods")
    model = TABLES.get(("service", "limit", str(limit.get("kind"))))
    if model is None or not is_number(pods):
        return
    most = limit.get("most", model.model_fields["most"].default)
    if is_number(most) and most < pods:
        rule = f"must be at least service.pods, which is {pods:g}, or some of them never have work"
        yield Fault("service.limit.most", rule, most)
