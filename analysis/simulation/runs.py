"""One seed of an experiment, by whichever simulation can do it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.simulation.choice import needs_events
from analysis.simulation.counts import Counts, Floats
from analysis.simulation.event_run import EventRun
from analysis.simulation.run import SimulatedRun
from domain.experiment import Experiment
from domain.queue_cap import QueueCap


def run_of(
    experiment: Experiment,
    *,
    edges_s: Sequence[float] | Floats | None = None,
    preload: int = 0,
    recording: bool = False,
) -> SimulatedRun | EventRun:
    """A run that has not begun, of the fast kernel wherever that can do it."""
    kind = EventRun if needs_events(experiment) else SimulatedRun
    return kind(experiment, edges_s=edges_s, preload=preload, recording=recording)


def simulate(
    experiment: Experiment,
    *,
    edges_s: Sequence[float] | Floats | None = None,
    queue_cap: QueueCap | None = None,
    retry_budget: float | None = None,
    preload: int = 0,
) -> Counts:
    """Simulate the experiment at its own seed, in seconds of the wall clock; one row of counts.

    ``edges_s`` are the ascending edges of the windows, by default those of the phases. A ``queue_cap`` or a
    ``retry_budget`` (β: each first attempt earns β of a retry) takes the place of what the experiment says
    of it. ``preload`` jobs more arrive together at time zero. The counts are ``DefendedCounts`` where the
    experiment needs the event-driven simulation. Raises ``ValueError`` when the capacity is not known.
    """
    run: SimulatedRun | EventRun
    if queue_cap is None and retry_budget is None:
        run = run_of(experiment, edges_s=edges_s, preload=preload)
    else:
        run = SimulatedRun(
            experiment, edges_s=edges_s, queue_cap=queue_cap, retry_budget=retry_budget, preload=preload
        )
    run.advance(math.inf)
    return run.finish()
