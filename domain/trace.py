"""The columns of the trace on disk, shared by whoever writes it and whoever reads it."""

from __future__ import annotations

import pyarrow as pa

TRACE_SCHEMA = pa.schema(
    [
        ("job_id", pa.int64()),
        ("attempt", pa.int32()),
        ("planned_s", pa.float64()),
        ("sent_s", pa.float64()),
        ("done_s", pa.float64()),
        ("outcome", pa.dictionary(pa.int8(), pa.string())),
        ("status", pa.int16()),
        ("worker", pa.int16()),
    ],
    metadata={b"tipover_trace": b"1"},
)
"""What every part has. One row per event of an attempt: a row with null ``outcome`` and NaN ``done_s`` says
it was open when the part was closed, and a later row with the same (worker, job_id, attempt) completes it.

Times are seconds from the run's start on one monotonic clock, unscaled. ``planned_s`` is when the attempt was
due (a first one at its arrival, a retry at the end of its backoff), so latency is known from there and from
the send. ``status`` is the HTTP status, or 0."""

REFUSAL_SCHEMA = pa.schema([("reason", pa.dictionary(pa.int8(), pa.string())), ("terminal", pa.bool_())])
"""What parts have besides, except those that earlier versions wrote; null unless the outcome is ``refused``.

``reason`` is who said no: one of ``REFUSAL_REASONS``. ``terminal``: because of it the job sends nothing more.
A refusal that counts as a failed attempt is not terminal, even if it was the last attempt the job had."""

WRITTEN_SCHEMA = pa.schema([*TRACE_SCHEMA, *REFUSAL_SCHEMA], metadata=TRACE_SCHEMA.metadata)
"""What a part is written with."""

BUDGET_REASON, BREAKER_REASON = REFUSAL_REASONS = ("budget", "breaker")

ATTEMPTS_DIRECTORY = "attempts"
