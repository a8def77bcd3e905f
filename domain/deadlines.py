"""Deadlines: how long an attempt may still take, how that is told to the service, when it is too late.

A job may have one absolute deadline, ``deadline_s`` after it was due; an attempt may take the smaller of the
client's timeout and what is left of it, and tells the service that moment. Two notations: ``X-Deadline``, in
seconds since the Unix epoch, absolute; and ``grpc-timeout``, the time left: at most eight digits and a unit
(H M S m u n), as gRPC over HTTP/2 has it (grpc ``doc/PROTOCOL-HTTP2.md``).
"""

from __future__ import annotations

import math
import re
from typing import Literal

Propagation = Literal["x-deadline", "grpc-timeout", "none"]
DEADLINE_HEADER = "X-Deadline"
GRPC_TIMEOUT_HEADER = "grpc-timeout"
_EPOCH_SECONDS = re.compile(r"[0-9]{1,11}(?:\.[0-9]{1,9})?")
"""Up to the year 5138, so that milliseconds, two digits longer these days, are not taken for seconds."""
_GRPC_TIMEOUT = re.compile(r"[0-9]{1,8}[HMSmun]")
_MOST = 99_999_999
_UNITS = (
    ("n", 1.0, 1e9),
    ("u", 1.0, 1e6),
    ("m", 1.0, 1e3),
    ("S", 1.0, 1.0),
    ("M", 60.0, 1.0),
    ("H", 3600.0, 1.0),
)
"""A unit's seconds, as a fraction of whole numbers."""
_SECONDS = {unit: (above, below) for unit, above, below in _UNITS}


def attempt_timeout_s(timeout_s: float, until_s: float, now_s: float) -> float:
    """How long an attempt sent at ``now_s`` may take; ``until_s`` is the job's deadline, or inf."""
    return min(timeout_s, until_s - now_s)


def expired(deadline_s: float, now_s: float, least_s: float) -> bool:
    """Whether less than ``least_s`` is left at ``now_s``, or nothing at all: serving it is waste."""
    return deadline_s - now_s <= least_s


def x_deadline(deadline_epoch_s: float) -> str:
    """The value of ``X-Deadline``: seconds since the Unix epoch, to the nearest microsecond."""
    return f"{deadline_epoch_s:.6f}"


def x_deadline_s(text: str) -> float | None:
    """Seconds since the Unix epoch; None for anything but up to 11 digits and up to 9 more after a point."""
    return float(text) if _EPOCH_SECONDS.fullmatch(text) else None


def grpc_timeout(left_s: float) -> str:
    """The value of ``grpc-timeout`` with ``left_s`` seconds left, in the finest unit that eight digits hold.

    Rounded up by less than that unit (from .1 to 100 s a microsecond), as grpc-go does: what is left never
    becomes nothing. The least is 1n, also for a deadline that has passed, since the notation has no zero; the
    most is 99999999H.
    """
    if left_s <= 0.0:
        return "1n"
    for unit, above, below in _UNITS:
        count = left_s * below / above
        if count <= _MOST:
            return f"{math.ceil(count)}{unit}"
    return f"{_MOST}H"


def grpc_timeout_s(text: str) -> float | None:
    """Seconds left; None for anything but one to eight digits and a unit. Zero is taken, as grpc-go does."""
    if not _GRPC_TIMEOUT.fullmatch(text):
        return None
    above, below = _SECONDS[text[-1]]
    return int(text[:-1]) * above / below
