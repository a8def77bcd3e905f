"""The attempt record: what is known of one attempt, and the names its columns have on disk."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


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

    @property
    def succeeded(self) -> bool:
        """Whether the job has its answer in time."""
        return self is Outcome.OK


class Attempt(NamedTuple):
    """One row of the trace.

    Times are seconds from the run's start on one monotonic clock, unscaled. ``planned_s`` is when the
    attempt was due (for a first attempt its arrival, for a retry the end of the backoff), so latency
    is known both from the planned start and from the send. ``status`` is the HTTP status or 0.
    ``outcome`` is None in the row written while the attempt is still open. An attempt that is ``refused``
    was not sent: ``sent_s`` and ``done_s`` are when the client said no.
    """

    job_id: int
    attempt: int
    planned_s: float
    sent_s: float
    done_s: float
    outcome: Outcome | None
    status: int
    worker: int


REQUEST_ID_HEADER = "X-Request-Id"
ATTEMPT_HEADER = "X-Attempt"
