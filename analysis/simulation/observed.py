"""A simulated run as a live one would be seen: its attempts and what the target tells of itself.

The same estimators and the same verdict then read both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.run_directory import SERVER_COLUMNS
from analysis.simulation import event_state, kernel
from analysis.simulation.choice import needs_events
from analysis.simulation.counts import Counts
from analysis.simulation.event_run import EventRun
from analysis.simulation.run import SimulatedRun
from analysis.trace import FAILING, OUTCOMES, Attempts
from domain.attempts import Outcome
from domain.budgets import codes as budgets
from domain.experiment import Experiment, Service

SCRAPE_S = 0.5
MOST_SCRAPES = 4000
_SEEN: dict[int, tuple[Outcome, int]] = {
    event_state.OK: (Outcome.OK, 200),
    event_state.LATE: (Outcome.TIMEOUT, 0),
    event_state.REJECTED: (Outcome.REJECTED, 503),
    event_state.OPEN: (Outcome.ABORTED, 0),
    event_state.ERROR: (Outcome.REJECTED, 500),
    event_state.EXPIRED: (Outcome.REJECTED, 504),
    event_state.REFUSED: (Outcome.REFUSED, 0),
    event_state.CANCELLED: (Outcome.CANCELLED, 0),
}
"""Outcome and HTTP status, as the client of a live run would have recorded them."""


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
    # The fast kernel cannot tell what was wasted of a budget's run.
    wholly = needs_events(experiment) or experiment.client.budget.code != budgets.NONE
    kind = EventRun if wholly else SimulatedRun
    run = kind(experiment, edges_s=np.linspace(0.0, live.duration_s, scrapes + 1), recording=True)
    run.advance(math.inf)
    attempts, counts = _attempts(run.recorded()), run.finish()
    assert live.service is not None
    return ObservedRun(attempts, _server(run, counts, live, live.service), counts)


def _attempts(trace: kernel.Trace) -> Attempts:
    order = np.argsort(trace.sent_s, kind="stable")
    job, sent_s = trace.job[order], trace.sent_s[order]
    first = trace.attempt[order] == 1
    jobs = int(job.max()) + 1 if job.size else 0
    planned = np.zeros(jobs)
    planned[job[first]] = sent_s[first]
    outcomes, statuses = np.zeros((2, len(_SEEN)), dtype=np.int64)
    for code, (outcome, status) in _SEEN.items():
        outcomes[code], statuses[code] = OUTCOMES.index(outcome), status
    codes = outcomes[trace.outcome[order]]
    ok = codes == OUTCOMES.index(Outcome.OK)
    failing = np.isin(codes, [OUTCOMES.index(outcome) for outcome in FAILING])
    sent = codes != OUTCOMES.index(Outcome.REFUSED)
    return Attempts(
        planned_s=sent_s,
        sent_s=sent_s,
        done_s=trace.done_s[order],
        ok=ok,
        failing=failing,
        sent=sent,
        first=first,
        job=job,
        job_planned_s=planned,
        job_answered=np.bincount(job[ok], minlength=jobs) > 0,
        job_sent=np.bincount(job[sent], minlength=jobs),
        job_failed=np.bincount(job[failing], minlength=jobs),
        outcome=codes.astype(np.int8),
        status=statuses[trace.outcome[order]],
    )


def _server(run: SimulatedRun | EventRun, counts: Counts, live: Experiment, service: Service) -> pd.DataFrame:
    t, depth = counts.edges_s[1:], counts.depth[0]
    saturated_s, saturated_completed = run.saturated()
    busy_s, abandoned_s = run.served()
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
            "arrived": np.cumsum(counts.attempts[0]),
            "completed": run.completed()[1:],
            "busy_s": busy_s[1:],
            "abandoned_s": abandoned_s[1:],
            "saturated_s": saturated_s[1:],
            "saturated_completed": saturated_completed[1:],
        }
    )
    return frame.reindex(columns=list(SERVER_COLUMNS)).astype("float64")
