"""What the event-driven simulation keeps: attempts in slots, and the orders in which things happen to them.

Everything is in arrays of records, which compiled code shares without copies. ``slots`` has one record an
attempt, from when it is planned until client and service are both done with it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from analysis.simulation.kernel import Floats
from domain import codel
from domain.rule import PARAMETERS

Records = Any
"""An array of records; mypy knows no fields."""

DONE, FULL_SLOTS, FULL_RING, FULL_HEAP, FULL_HEDGES, FULL_TRACE = range(6)
NOBODY = -1

SLOT = np.dtype(
    [
        ("order", np.int64),  # of sending, from 1 on; 0 while it is not on the wire and when it is free
        ("job", np.int64),
        ("until_s", np.float64),  # the job's deadline
        ("sent_s", np.float64),
        ("ends_s", np.float64),  # when its client gives it up
        ("price", np.float64),  # what the budget was paid for it
        ("previous_s", np.float64),  # the backoff before it
        ("work", np.float64),
        ("start_w", np.float64),
        ("start_u", np.float64),
        ("attempt", np.int64),
        ("in_system", np.int32),  # how many were in the system when it had been admitted
        ("window", np.int32),  # in which it was sent
        ("hedge", np.int64),  # its job's record, if it is a copy
        ("older", np.int32),  # its neighbours among those that wait
        ("newer", np.int32),
        ("older_retry", np.int32),  # and among the retries that wait
        ("newer_retry", np.int32),
        ("sibling", np.int64),  # the next copy on the wire
        ("link", np.int32),  # the next free slot, or outcome to be told
        ("told", np.int64),  # how it ended, to be told to its client; NOBODY: nothing
        ("held", np.int64),  # how it was rejected, if that waits for the timeout
        ("client", np.int8),
        ("server", np.int8),
        ("error", np.int8),  # it will be answered with an error
    ],
    align=True,
)
# client
GONE, ON_WIRE, HELD = range(3)
"""Nobody waits for it; somebody does; rejected, and what that means waits for the timeout."""
# server
NOWHERE, WAITS, RUNS = range(3)

EVENT = np.dtype([("at", np.float64), ("order", np.int64), ("slot", np.int64), ("kind", np.int64)])
"""An entry of a heap or of the ring; ``at`` is a time, of the running ones the end on the work clock."""
TIMES_OUT, RETRY_DUE, ASK_AGAIN, COPY_DUE = range(4)
LATER = 1 << 61
"""Added to the order of what is planned, so that timeouts of the same moment come before it."""

HEDGE = np.dtype(
    [
        ("job", np.int64),
        ("until_s", np.float64),
        ("due", np.int64),  # order of the event of the next copy; 0: none comes
        ("used", np.int64),  # copies sent or refused
        ("kept", np.int64),  # copies on the wire or held
        ("cause", np.int64),  # how the one failed that brought the next forward
        ("wire", np.int64),  # first of the copies on the wire, in the order of sending
        ("link", np.int64),
    ],
    align=True,
)

# How an attempt ended, as ``Trace.outcome`` has it: the first four are the fast kernel's.
OK, LATE, REJECTED, OPEN, ERROR, EXPIRED, REFUSED, CANCELLED = range(8)


_RULE = (np.float64, (PARAMETERS,))
RULES = np.dtype(
    [
        # clients; times in seconds
        ("timeout_s", np.float64),
        ("max_attempts", np.float64),
        ("backoff", np.int64),
        ("base_s", np.float64),
        ("cap_s", np.float64),
        ("multiplier", np.float64),
        ("jittered", np.bool_),
        ("deadline_s", np.float64),
        ("clients", np.int64),
        ("on_rejection", np.int64),
        ("gives_up_on_refusal", np.bool_),
        ("retry_after_s", np.float64),  # what rejections ask for and clients honour; 0: nothing
        ("copies", np.int64),  # 0: no hedging
        ("copy_delay_s", np.float64),
        ("budget", np.int64),
        ("budget_rule", *_RULE),
        ("breaker", np.int64),
        ("breaker_rule", *_RULE),
        ("end_s", np.float64),  # nothing is sent from then on
        # service
        ("pods", np.int64),
        ("work", np.int64),
        ("shape", np.float64),
        ("order", np.int64),
        ("standing", np.int64),
        ("places", np.int64),  # < 0: no queue cap
        ("drops_expired", np.bool_),
        ("least_s", np.float64),
        ("cancels", np.bool_),
        ("first_before_retry", np.bool_),
        ("codel", np.bool_),
        ("codel_target_s", np.float64),
        ("codel_interval_s", np.float64),
        ("limit", np.int64),
        ("limit_rule", *_RULE),
        ("degrades", np.bool_),
        ("floor", np.float64),
        ("half_queue", np.float64),
        ("error_rate", np.float64),
        ("recording", np.bool_),
    ],
    align=True,
)
"""What stays the same throughout a run."""

PLACE = np.dtype(
    [
        ("now_s", np.float64),
        ("arrived", np.int64),  # arrivals of this call, and
        ("earlier", np.int64),  # of calls before: jobs are numbered through
        ("sent", np.int64),
        ("planned", np.int64),
        ("wire", np.int64),  # attempts somebody waits for
        ("window", np.int64),
        ("knot", np.int64),
        ("traced", np.int64),
        ("over", np.bool_),  # nothing is sent any more, and nothing planned
        ("last_started", np.int64),  # when that began, and
        ("left", np.int64),  # how many of those in service then still are
        # lists and lengths
        ("free_slot", np.int64),
        ("free_slots", np.int64),
        ("free_hedge", np.int64),
        ("ring_head", np.int64),
        ("ring_tail", np.int64),
        ("heap_size", np.int64),
        ("out_first", np.int64),
        ("out_last", np.int64),
        # the service
        ("waiting", np.int64),
        ("running", np.int64),
        ("oldest", np.int64),
        ("newest", np.int64),
        ("newest_retry", np.int64),
        ("started", np.int64),
        ("completed", np.int64),
        ("saturated_done", np.int64),
        ("from_s", np.float64),  # where W and U stood last, and the rate since
        ("from_w", np.float64),
        ("from_u", np.float64),
        ("rate", np.float64),
        ("base_rate", np.float64),
        ("waiting_w", np.float64),
        ("started_w", np.float64),
        ("busy_u", np.float64),
        ("abandoned_u", np.float64),
        ("saturated_u", np.float64),
        ("saturated_since_u", np.float64),  # < 0: not saturated
        ("codel", np.float64, (codel.STATE_SIZE,)),
    ],
    align=True,
)
"""Where a run stands."""

WINDOW = np.dtype(
    [
        ("edge_s", np.float64),  # its end; inf after the last edge
        ("jobs", np.int64),
        ("attempts", np.int64),
        ("late", np.int64),
        ("rejected", np.int64),
        ("errors", np.int64),
        ("cancelled", np.int64),
        ("refused", np.int64),
        ("refused_first", np.int64),
        ("answered", np.int64),
        ("dropped", np.int64),
        ("wasted_w", np.float64),
        # at its end, and since the beginning
        ("depth", np.int64),
        ("backlog_w", np.float64),
        ("edge_w", np.float64),
        ("done_w", np.float64),
        ("busy_u", np.float64),
        ("abandoned_u", np.float64),
        ("saturated_u", np.float64),
        ("saturated_done", np.int64),
        ("completed", np.int64),
    ],
    align=True,
)
"""What is counted per window; the first is before the first edge, the last after the last."""

KNOT = np.dtype([("at_s", np.float64), ("rate", np.float64)])
"""The rate of one pod from then on."""

ROW = np.dtype(
    [
        ("job", np.int64),
        ("attempt", np.int32),
        ("outcome", np.int32),
        ("sent_s", np.float64),
        ("done_s", np.float64),
    ]
)
"""One attempt of the trace."""


class Draws(NamedTuple):
    """The random streams, one a purpose."""

    service: np.random.Generator
    errors: np.random.Generator
    jitter: np.random.Generator
    breaker: np.random.Generator


class State(NamedTuple):
    """A whole run; ``rules`` and ``place`` are one record each."""

    rules: Records
    place: Records
    slots: Records
    ring: Records
    """Timeouts of attempts that may take the whole timeout, in the order of sending; a power of two long."""
    heap: Records
    """Other timeouts, and what is planned."""
    running: Records
    """The heap of what is in service."""
    hedges: Records
    budget: Floats
    """Of shape (clients, state size), as is the next."""
    breaker: Floats
    limit: Floats
    windows: Records
    knots: Records
    trace: Records
    draws: Draws
