"""How an attempt can end, and what it is called on the wire."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How an attempt ended."""

    OK = "ok"
    """Answered with a success within its deadline."""
    LATE = "late"
    """Answered with a success, but after its deadline: not goodput."""
    TIMEOUT = "timeout"
    """Its deadline passed without a whole answer; the connection was thrown away."""
    REJECTED = "rejected"
    """The service said no: a status outside the success set, of which 429 and 503 are the usual ones."""
    ERROR = "error"
    """The connection failed: refused, reset, or an answer that is not HTTP."""
    REFUSED = "refused"
    """The client's own budget or breaker said no; it was never sent."""
    ABORTED = "aborted"
    """The run ended while it was open."""
    CANCELLED = "cancelled"
    """Another copy of the request was answered first (hedging); the client hung up on this one."""


REQUEST_ID_HEADER = "X-Request-Id"
ATTEMPT_HEADER = "X-Attempt"
