"""What a queue looks like from outside."""

from __future__ import annotations

import math
from typing import NamedTuple, TypeVar

from target_service.gate import Gate

T = TypeVar("T")


class QueueState(NamedTuple):
    """What a queue looks like at one time; see ``docs/run-directory.md`` for each field.

    ``pods`` serve; with those that are ``starting`` they are the ``replicas``. ``draining`` attempts are in
    service beyond the size of the fleet; ``pod_s`` is ∫ pods dt since the start.
    """

    pods: int
    replicas: int
    starting: int
    draining: int
    pod_s: float
    rate_per_pod: float
    capacity_factor: float
    rate_share: float
    queue_depth: int
    in_service: int
    backlog_s: float
    arrived: int
    completed: int
    errors: int
    rejected: int
    shed: int
    expired: int
    cancelled: int
    limit: float | None
    busy_s: float
    saturated_s: float
    saturated_completed: int


def state_of(
    gate: Gate[T],
    *,
    pods: int,
    rate_per_pod: float,
    capacity_factor: float,
    rate_share: float,
    in_service: int,
    draining: int,
    replicas: int,
    pod_s: float,
    work_left: float,
    busy_s: float,
    saturated_s: float,
    saturated_completed: int,
) -> QueueState:
    """The state of whatever holds the gate; ``work_left`` is in service, in mean services."""
    fates, limit = gate.fates, gate.limit
    return QueueState(
        pods=pods,
        replicas=replicas,
        starting=replicas - pods,
        draining=draining,
        pod_s=pod_s,
        rate_per_pod=rate_per_pod,
        capacity_factor=capacity_factor,
        rate_share=rate_share,
        queue_depth=len(gate.line),
        in_service=in_service,
        backlog_s=(gate.line.work + work_left) / (pods * rate_per_pod),
        arrived=gate.arrived,
        completed=gate.completed,
        errors=fates["error"],
        rejected=fates["rejected"],
        shed=fates["shed"],
        expired=fates["expired"],
        cancelled=fates["cancelled"],
        limit=limit if limit < math.inf else None,
        busy_s=busy_s,
        saturated_s=saturated_s,
        saturated_completed=saturated_completed,
    )
