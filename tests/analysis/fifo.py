"""An exact first-in first-out service with retrying clients, one event at a time, in plain Python.

One server as fast as the whole fleet: an attempt's completion is D = max(D before, arrival) + S, so
whether it is late is known when it arrives, and only retries need a heap. It makes the raw rows and the
server's scrapes that a live run would leave behind, in seconds of the wall clock.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.run_directory import SERVER_COLUMNS
from analysis.staircase import Staircase
from analysis.trace import resolve
from domain.backoff import FullJitterBackoff, NoBackoff
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service
from domain.streams import stream
from domain.trace import TRACE_SCHEMA


@dataclass(frozen=True)
class Simulated:
    """``rows`` as on disk (null outcome for what was open at the end), ``attempts`` as read back."""

    rows: pd.DataFrame
    server: pd.DataFrame

    @property
    def attempts(self) -> pd.DataFrame:
        return resolve(self.rows)


def simulate(experiment: Experiment, *, until_s: float = math.inf) -> Simulated:
    """Run to the end of the phases, or to a kill at ``until_s`` of the wall clock."""
    live = experiment.live()
    service, client, seed = live.service, live.client, live.run.seed
    assert service is not None
    end = min(live.duration_s, until_s)
    capacity = Staircase.of(
        live.placed_phases, [service.capacity_per_s * p.phase.capacity_factor for p in live.placed_phases]
    )
    planned = live.arrival_plan.draw(stream(seed, "arrivals"))
    work = stream(seed, "service")
    jitter = stream(seed, "jitter")
    queue = [(float(t), job, 1) for job, t in enumerate(planned)]
    rows, starts, ends = [], [], []
    free = 0.0
    steady = all(p.phase.capacity_factor == 1.0 for p in live.placed_phases)
    draws = iter(())
    while queue and queue[0][0] < end:
        sent, job, attempt = heapq.heappop(queue)
        size = next(draws, None)
        if size is None:
            draws = iter(work.exponential(1.0, 4096).tolist())
            size = next(draws)
        start = max(free, sent)
        free = start + size / service.capacity_per_s if steady else _finish(capacity, start, size)
        starts.append(start)
        ends.append(free)
        late = free - sent > client.timeout_s
        done = sent + client.timeout_s if late else free
        if done >= end:
            rows.append((job, attempt, sent, sent, math.nan, None, 0, 0))
            continue
        rows.append((job, attempt, sent, sent, done, "timeout" if late else "ok", 0 if late else 200, 0))
        if late and attempt < client.max_attempts:
            delay = client.backoff.delay_s(attempt, float(jitter.random()))
            heapq.heappush(queue, (done + delay, job, attempt + 1))
    frame = pd.DataFrame(rows, columns=TRACE_SCHEMA.names)
    return Simulated(frame, _scrapes(live, capacity, np.array(starts), np.array(ends), frame, end))


def _finish(capacity: Staircase, start: float, size: float) -> float:
    # Beyond a day nothing of a test happens, and infinities have no differences.
    return min(start + 86_400.0, float(capacity.when(capacity.at(np.array([start])) + size)[0]))


def _scrapes(live, capacity, starts, ends, rows, end) -> pd.DataFrame:
    t = np.arange(0.5, end, 0.5)
    finished = np.searchsorted(ends, t, side="right")
    arrived = np.searchsorted(rows["sent_s"].to_numpy(), t, side="right")
    served = np.concatenate([[0.0], np.cumsum(ends - starts)])
    now = np.append(starts, math.inf)[np.minimum(finished, starts.size)]
    busy = served[finished] + np.maximum(0.0, t - now)
    last_end = np.where(arrived > 0, np.append(0.0, ends)[arrived], 0.0)
    left = np.maximum(0.0, capacity.at(np.maximum(last_end, t)) - capacity.at(t))
    factors = np.array([p.phase.capacity_factor for p in live.placed_phases])
    phase = np.searchsorted([p.end_s for p in live.placed_phases], t, side="right")
    nominal = live.service.capacity_per_s
    frame = pd.DataFrame(
        {
            "t_s": t,
            "pods": live.service.pods,
            "rate_per_pod": live.service.rate_per_pod,
            "capacity_factor": factors[np.minimum(phase, factors.size - 1)],
            "capacity_per_s": nominal,
            "backlog_s": left / nominal,
            "completed": finished,
            "saturated_s": busy,
            "saturated_completed": finished,
            "clock_lag_p99_s": 0.001,
            "clock_lag_max_s": 0.002,
            "refused_sockets": 0,
        }
    )
    return frame.reindex(columns=list(SERVER_COLUMNS)).astype("float64")


EMPTY_SERVER = pd.DataFrame(columns=list(SERVER_COLUMNS), dtype="float64")


def kit(
    utilization: float,
    *,
    factor: float = 5.0,
    watch_s: float = 1200.0,
    spike_s: float = 300.0,
    max_attempts: float = 3,
    speedup: float = 10.0,
    seed: int = 1,
    expect: Expectation | None = None,
    after: tuple[Phase, ...] = (),
    jitter: bool = False,
    rate_per_pod: float = 40.0,
) -> Experiment:
    """The four-pod kit of seed 002: a spike after 100 s of baseline, then the watch."""
    backoff = FullJitterBackoff(10.0, 80.0) if jitter else NoBackoff()
    phases = (Phase("baseline", 100.0), Phase("spike", spike_s, factor), Phase("watch", watch_s), *after)
    if spike_s == 0:
        phases = (Phase("baseline", 100.0), Phase("watch", watch_s), *after)
    service = Service(4, rate_per_pod)
    return Experiment(
        name="kit",
        title="A kit",
        client=Client(10.0, max_attempts, backoff),
        demand=Demand(utilization * service.capacity_per_s, phases),
        service=service,
        run=RunSettings(speedup, seed),
        expect=expect,
    )


def outage(utilization: float, *, watch_s: float = 600.0, outage_s: float = 60.0) -> Experiment:
    """The kit with its capacity gone for a while, demand as ever."""
    base = kit(utilization)
    phases = (
        Phase("baseline", 100.0),
        Phase("outage", outage_s, capacity_factor=0.0),
        Phase("watch", watch_s),
    )
    return Experiment(
        "outage",
        "An outage",
        base.client,
        Demand(base.demand.arrival_rate_per_s, phases),
        base.service,
        base.run,
    )


def demo() -> Experiment:
    """A small laptop run: one pod, a short timeout, a minute or so."""
    phases = (Phase("calm", 10.0), Phase("spike", 10.0, 4.0), Phase("watch", 40.0))
    return Experiment(
        "demo",
        "A demo",
        Client(0.5, 3),
        Demand(50.0, phases),
        Service(1, 100.0),
        RunSettings(1.0, 3),
        Expectation("trapped"),
    )
