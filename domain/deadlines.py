"""Deadlines: how long an attempt may still take, how that is told to the service, when it is too late.

A job may have one absolute deadline, ``deadline_s`` after it was due; an attempt may take the smaller of the
client's timeout and what is left of it, and tells the service that moment. Two notations: ``X-Deadline``, in
seconds since the Unix epoch, absolute; and ``grpc-timeout``, the time left: at most eight digits and a unit
(H M S m u n), as gRPC over HTTP/2 has it.
"""

from __future__ import annotations

from typing import Literal

Propagation = Literal["x-deadline", "grpc-timeout", "none"]
DEADLINE_HEADER = "X-Deadline"
GRPC_TIMEOUT_HEADER = "grpc-timeout"


def attempt_timeout_s(timeout_s: float, until_s: float, now_s: float) -> float:
    """How long an attempt sent at ``now_s`` may take; ``until_s`` is the job's deadline, or inf."""
    return min(timeout_s, until_s - now_s)


def expired(deadline_s: float, now_s: float, least_s: float) -> bool:
    """Whether less than ``least_s`` is left at ``now_s``, or nothing at all: serving it is waste."""
    return deadline_s - now_s <= least_s
