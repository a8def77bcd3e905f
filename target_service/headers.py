"""What a request says of itself: which attempt it is, and by when its answer is wanted."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping

from domain.deadlines import DEADLINE_HEADER, GRPC_TIMEOUT_HEADER, grpc_timeout_s, x_deadline_s


def attempt_number(header: str | None) -> int:
    """The attempt (1-based) that an ``X-Attempt`` header names; 1 if it is absent or makes no sense."""
    if header is None or not (header.isascii() and header.isdigit()) or len(header) > 6:
        return 1
    return int(header) or 1


def deadline_s(headers: Mapping[str, str], arrived_s: float) -> float:
    """The earlier of the deadlines a request carries, on the clock of ``arrived_s``; inf without one.

    A deadline on the wall clock is placed by what the wall clock says now, at its arrival, since that
    clock may be set at any time.
    """
    found = math.inf
    at = headers.get(DEADLINE_HEADER)
    if at is not None and (epoch_s := x_deadline_s(at)) is not None:
        found = arrived_s + (epoch_s - time.time())
    left = headers.get(GRPC_TIMEOUT_HEADER)
    if left is not None and (left_s := grpc_timeout_s(left)) is not None:
        found = min(found, arrived_s + left_s)
    return found
