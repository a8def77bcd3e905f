"""A simulated run as a live one would be seen: its attempts and what the target tells of itself.

The same estimators and the same verdict then read both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.run_directory import SERVER_COLUMNS
from analysis.simulation import event_state, kernel
from analysis.simulation.choice import needs_events
from analysis.simulation.counts import Counts
from analysis.simulation.event_run import EventRun
from analysis.simulation.fleet import FleetSimulation
from analysis.simulation.run import SimulatedRun
from analysis.trace import FAILING, OUTCOMES, Attempts
from domain.attempts import Outcome
from domain.budgets import codes as budgets
from domain.experiment import Experiment, Service
from domain.fleet import Fleet

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

    ``counts`` are the windows between two scrapes; its backlog is over the capacity then.
    """

    attempts: Attempts
    server: pd.DataFrame
    counts: Counts


def observe(experiment: Experiment) -> ObservedRun:
    """Simulate the experiment at its own seed and look at it; the capacity must be known."""
    live = experiment.live()
    scrapes = min(max(2, math.ceil(live.duration_s / SCRAPE_S)), MOST_SCRAPES)
    if experiment.fleet is not None:
        return _observed_fleet(experiment, experiment.fleet, scrapes)
    # The fast kernel cannot tell what was wasted of a budget's run.
    wholly = needs_events(experiment) or experiment.client.budget.code != budgets.NONE
    kind = EventRun if wholly else SimulatedRun
    run = kind(experiment, edges_s=np.linspace(0.0, live.duration_s, scrapes + 1), recording=True)
    run.advance(math.inf)
    attempts, counts = _attempts(run.recorded()), run.finish()
    assert live.service is not None
    return ObservedRun(attempts, _server(run, counts, live, live.service), counts)


def _observed_fleet(experiment: Experiment, fleet: Fleet, scrapes: int) -> ObservedRun:
    """The same of a fleet that its autoscaler sizes; nothing is known of the work that was wasted."""
    live = experiment.live()
    edges = np.linspace(0.0, live.duration_s, scrapes + 1)
    simulation = FleetSimulation(experiment, fleet, edges_s=edges, recording=True)
    fleet_run, run, service = simulation.run(), simulation.simulated, live.service
    assert service is not None
    capacity = fleet_run.capacity.rate_at(edges[1:])
    work = fleet_run.counts.backlog_s * service.capacity_per_s
    counts = replace(fleet_run.counts, backlog_s=work / capacity)
    frame = _server(run, counts, live, service)
    pods = np.round(capacity / service.rate_per_pod)
    # What the one server did in its own time, in seconds of the pods that there were: the mean of a window.
    given = np.diff(fleet_run.capacity.at(edges)) / np.diff(edges)
    busy_work = np.diff(run.saturated()[0]) * service.rate_per_pod
    decided = np.searchsorted(fleet_run.t_s, edges[1:], side="right") - 1
    replicas = np.where(decided >= 0, fleet_run.ordered[np.maximum(decided, 0)], service.pods)
    depth = counts.depth[0]
    return ObservedRun(
        _attempts(run.recorded()),
        frame.assign(
            pods=pods,
            replicas=replicas,
            starting=np.maximum(0.0, replicas - pods),
            capacity_per_s=capacity,
            queue_depth=np.maximum(0, depth - pods),
            in_service=np.minimum(depth, pods),
            saturated_s=np.cumsum(busy_work / given),
            abandoned_s=np.nan,
        ),
        counts,
    )


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
