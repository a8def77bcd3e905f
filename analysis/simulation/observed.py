"""A simulated run as a live one would be seen: its attempts and what the target tells of itself.

The same estimators and the same verdict then read both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.run_directory import SERVER_COLUMNS
from analysis.simulation import kernel
from analysis.simulation.counts import Counts, Floats, Ints
from analysis.simulation.run import SimulatedRun
from analysis.trace import OUTCOMES, Attempts
from domain.attempts import Outcome
from domain.experiment import Experiment, Service

SCRAPE_S = 0.5
MOST_SCRAPES = 4000
_CODES = {
    kernel.OK: OUTCOMES.index(Outcome.OK),
    kernel.LATE: OUTCOMES.index(Outcome.TIMEOUT),
    kernel.REJECTED: OUTCOMES.index(Outcome.REJECTED),
    kernel.OPEN: OUTCOMES.index(Outcome.ABORTED),
}
_REJECTED_STATUS = 503


@dataclass(frozen=True)
class ObservedRun:
    """``attempts`` and ``server`` as read from a run directory, in seconds of the wall clock.

    ``counts`` are the windows between two scrapes.
    """

    attempts: Attempts
    server: pd.DataFrame
    counts: Counts


def observe(experiment: Experiment) -> ObservedRun:
    """Simulate the experiment at its own seed and look at it; the capacity must be known."""
    live = experiment.live()
    scrapes = min(max(2, math.ceil(live.duration_s / SCRAPE_S)), MOST_SCRAPES)
    run = SimulatedRun(experiment, edges_s=np.linspace(0.0, live.duration_s, scrapes + 1), recording=True)
    run.advance(math.inf)
    attempts, counts = _attempts(run.recorded()), run.finish()
    assert live.service is not None
    return ObservedRun(attempts, _server(counts, *run.saturated(), live, live.service), counts)


def _attempts(trace: kernel.Trace) -> Attempts:
    order = np.argsort(trace.sent_s, kind="stable")
    job, sent_s, outcome = trace.job[order], trace.sent_s[order], trace.outcome[order]
    first = trace.attempt[order] == 1
    jobs = int(job.max()) + 1 if job.size else 0
    planned = np.zeros(jobs)
    planned[job[first]] = sent_s[first]
    ok = outcome == kernel.OK
    failing = (outcome == kernel.LATE) | (outcome == kernel.REJECTED)
    codes = np.zeros(len(_CODES), dtype=np.int8)
    codes[list(_CODES)] = list(_CODES.values())
    status = np.where(ok, 200, np.where(outcome == kernel.REJECTED, _REJECTED_STATUS, 0))
    return Attempts(
        planned_s=sent_s,
        sent_s=sent_s,
        done_s=trace.done_s[order],
        ok=ok,
        failing=failing,
        sent=np.ones(job.size, dtype=np.bool_),
        first=first,
        job=job,
        job_planned_s=planned,
        job_answered=np.bincount(job[ok], minlength=jobs) > 0,
        job_sent=np.bincount(job, minlength=jobs),
        job_failed=np.bincount(job[failing], minlength=jobs),
        outcome=codes[outcome],
        status=status.astype(np.int64),
    )


def _server(
    counts: Counts, saturated_s: Floats, saturated_completed: Ints, live: Experiment, service: Service
) -> pd.DataFrame:
    t = counts.edges_s[1:]
    depth = counts.depth[0]
    completed = np.cumsum(counts.attempts[0] - counts.rejected[0]) - depth
    ends = np.array([p.end_s for p in live.placed_phases])
    factors = np.array([p.phase.capacity_factor for p in live.placed_phases])
    phase = np.minimum(np.searchsorted(ends, t, side="left"), ends.size - 1)
    frame = pd.DataFrame(
        {
            "t_s": t,
            "pods": service.pods,
            "rate_per_pod": service.rate_per_pod,
            "capacity_factor": factors[phase],
            "capacity_per_s": service.capacity_per_s,
            "queue_depth": np.maximum(0, depth - service.pods),
            "in_service": np.minimum(depth, service.pods),
            "backlog_s": counts.backlog_s[0],
            "arrived": np.cumsum(counts.attempts[0] - counts.rejected[0]),
            "completed": completed,
            "saturated_s": saturated_s[1:],
            "saturated_completed": saturated_completed[1:],
        }
    )
    return frame.reindex(columns=list(SERVER_COLUMNS)).astype("float64")
