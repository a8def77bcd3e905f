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
"""One row per event of an attempt: a row with null ``outcome`` and NaN ``done_s`` says it was open when
the part was closed, and a later row with the same (worker, job_id, attempt) completes it."""

ATTEMPTS_DIRECTORY = "attempts"
