"""Is the trace whole? Parts against their numbers, attempts against what each worker says it sent.

A trace with a hole in it shows a service that got less load and fewer answers than it did.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.estimators import retry_span_s
from analysis.trace import TraceFile
from domain.attempts import Outcome
from domain.experiment import Experiment


def trace_faults(trace: TraceFile, workers: tuple[dict[str, Any], ...], live: Experiment) -> Iterator[str]:
    """A sentence for every way in which the trace is not what its workers wrote.

    A worker that did not finish, or that could not record, is a fault already; it is not compared.
    """
    yield from trace.faults
    done = [w for w in workers if w.get("finished") and not w.get("recorder_fault")]
    for worker in done:
        yield from _counts(trace, worker)
    whole = [w.get("worker") for w in done if not w.get("stopped_by")]
    if not trace.faults:
        yield from _retries(trace, whole, live)


def _counts(trace: TraceFile, worker: Mapping[str, Any]) -> Iterator[str]:
    """Distinct attempts and first attempts of a finished worker, against its own counters."""
    frame = trace.attempts
    mine = frame[(frame["worker"] == worker.get("worker")) & (frame["outcome"] != Outcome.REFUSED.value)]
    kinds = (
        ("attempts", "attempts", len(mine)),
        ("sent", "first attempts", int((mine["attempt"] == 1).sum())),
    )
    for key, words, seen in kinds:
        said = worker.get(key)
        if isinstance(said, int | float) and seen != said:
            yield (
                f"The trace holds {seen:,} {words} of generator worker {worker.get('worker')}, which sent "
                f"{int(said):,}: none may be missing."
            )


def _retries(trace: TraceFile, workers: list[Any], live: Experiment) -> Iterator[str]:
    """Jobs that were never answered and had the time for all m attempts must have made m, no more, no less.

    Jobs that the client's own budget or breaker refused anything made as many as they could; how many fit
    before a deadline of the job, or after what a service asks clients to wait, is not known. A timeout is
    left for the lateness of timers: nothing is sent after the last phase, but what is open then may take
    until its deadline.
    """
    attempts, client = trace.arrays, live.client
    most = client.policy.max_attempts
    if math.isinf(most) or math.isfinite(client.deadline_s) or not attempts.planned_s.size:
        return
    if client.honours_retry_after:
        return
    frame = trace.attempts
    jobs = attempts.job_planned_s.size
    refused = np.bincount(attempts.job[~attempts.sent], minlength=jobs) > 0
    judged = np.bincount(attempts.job[frame["worker"].isin(workers).to_numpy()], minlength=jobs) > 0
    in_time = attempts.job_planned_s <= min(attempts.end_s, live.duration_s) - retry_span_s(live)
    given_up = np.zeros(jobs, dtype=np.bool_)
    if client.on_rejection == "give-up":
        given_up = (
            np.bincount(attempts.job[(frame["outcome"] == Outcome.REJECTED.value).to_numpy()], minlength=jobs)
            > 0
        )
    hopeless = judged & in_time & ~refused & ~given_up & (attempts.job_failed == attempts.job_sent)
    wrong = int((hopeless & (attempts.job_sent != most)).sum())
    if wrong:
        yield (
            f"{wrong:,} of {int(hopeless.sum()):,} jobs that failed to the last did not make exactly "
            f"{most:g} attempts, although they had the time and no budget refused them."
        )
