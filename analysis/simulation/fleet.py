"""An autoscaled fleet, request by request: simulated from one decision of the autoscaler to the next.

The fleet is one queue served at the speed of all its ready pods together, as in the fluid model; the
decisions are those of ``domain.fleet``. Everything is in seconds of the wall clock, as in every simulation:
the durations of experiment and fleet are divided by the speed-up.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np

from analysis.seeds import available_cores
from analysis.simulation.counts import Counts, Floats
from analysis.simulation.run import SimulatedRun
from analysis.staircase import Staircase
from domain.autoscaler import History
from domain.experiment import Experiment, Service
from domain.fleet import Fleet, Signal
from domain.roster import Roster


@dataclass(frozen=True)
class FleetRun:
    """One seed: the counts per window, and the fleet at each decision.

    ``t_s``, ``serving`` (ready pods then) and ``ordered`` (replicas from then on) have shape
    (decisions,); ``capacity`` is the integral of the attempts/s that the ready pods give.
    ``counts.backlog_s`` is over the capacity of the fleet at the start, and ``counts.busy_s`` in seconds
    of one pod.
    """

    counts: Counts
    t_s: Floats
    serving: Floats
    ordered: Floats
    capacity: Staircase


def simulate_fleet(
    experiment: Experiment,
    fleet: Fleet,
    seeds: Sequence[int],
    *,
    edges_s: Sequence[float] | Floats | None = None,
    retry_budget: float | None = None,
    cores: int | None = None,
) -> tuple[FleetRun, ...]:
    """Simulate the experiment at each of the seeds with its pods sized by ``fleet``.

    The experiment's own pods are those at the start. Raises ``ValueError`` when the capacity is not
    known, or when a phase cuts it.
    """

    def one(seed: int) -> FleetRun:
        return FleetSimulation(
            experiment.with_run(seed=seed), fleet, edges_s=edges_s, retry_budget=retry_budget
        ).run()

    with ThreadPoolExecutor(cores or available_cores()) as pool:
        return tuple(pool.map(one, seeds))


class FleetSimulation:
    """One seed on its way from decision to decision; ``fleet`` is in scenario time, like the experiment.

    With ``recording`` every attempt is kept, for ``simulated.recorded``.
    """

    def __init__(
        self,
        experiment: Experiment,
        fleet: Fleet,
        *,
        edges_s: Sequence[float] | Floats | None = None,
        retry_budget: float | None = None,
        recording: bool = False,
    ) -> None:
        service = _checked(experiment)
        live = experiment.live()
        self._end_s = live.duration_s
        self._fleet = fleet.scaled(1.0 / experiment.run.speedup)
        self._pods, self._rate = service.pods, service.rate_per_pod
        together = replace(live, service=replace(service, pods=1), fleet=None)
        self.simulated = SimulatedRun(
            together,
            edges_s=edges_s,
            retry_budget=retry_budget,
            recording=recording,
            capacity_may_change=True,
        )
        self._roster = Roster.of(service.pods)
        self._knots, self._rates, self._totals = [0.0], [service.capacity_per_s], [0.0]
        # What the metrics are read from: cumulative, one entry per decision.
        self._at, self._done, self._possible = [0.0], [0.0], [0.0]
        self._first, self._all = [0.0], [0.0]

    def run(self) -> FleetRun:
        """To the end of the phases."""
        decided, serving, ordered = [], [], []
        history = History()
        now_s = 0.0
        while now_s < self._end_s:
            now_s = min(now_s + self._fleet.sync_period_s, self._end_s)
            self._advance(now_s)
            readings = {signal: self._reading(signal, now_s) for signal in self._fleet.signals}
            seen = self._roster.seen(now_s - self._fleet.metric_lag_s - self._fleet.cpu_window_s)
            replicas, history = self._fleet.order(seen, readings, self._rate, history, now_s)
            self._roster.set(replicas, now_s + self._fleet.dead_time_s)
            decided.append(now_s)
            serving.append(self._roster.ready(now_s))
            ordered.append(replicas)
        counts = self.simulated.finish()
        start = replace(counts, backlog_s=counts.backlog_s / self._pods)
        return FleetRun(
            start,
            np.array(decided),
            np.array(serving, float),
            np.array(ordered, float),
            self._capacity(),
        )

    def _capacity(self) -> Staircase:
        return Staircase(np.array(self._knots), np.array(self._rates), np.array(self._totals))

    def _advance(self, until_s: float) -> None:
        """To the next decision: until then, which pods become ready when is settled."""
        now_s = self._at[-1]
        for at_s in [now_s, *self._roster.ready_between(now_s, until_s)]:
            self._totals.append(self._totals[-1] + self._rates[-1] * (at_s - self._knots[-1]))
            self._knots.append(at_s)
            self._rates.append(self._rate * self._roster.ready(at_s))
        capacity = self._capacity()
        self.simulated.set_capacity(capacity)
        self.simulated.advance(until_s)
        first, all_sent = self.simulated.sent
        self._at.append(until_s)
        self._first.append(float(first))
        self._all.append(float(all_sent))
        self._done.append(self.simulated.done_work(until_s))
        self._possible.append(float(capacity.at(np.array([until_s]))[0]))

    def _reading(self, signal: Signal, now_s: float) -> float | None:
        """The signal's mean over its window; None before there is one."""
        stop = now_s - self._fleet.metric_lag_s
        start = max(0.0, stop - self._fleet.window_s(signal))
        if stop <= start:
            return None
        if signal == "cpu":
            possible = self._between(self._possible, start, stop)
            return self._between(self._done, start, stop) / possible if possible > 0 else None
        sent = self._first if signal == "first" else self._all
        return self._between(sent, start, stop) / (stop - start)

    def _between(self, series: list[float], start_s: float, stop_s: float) -> float:
        low, high = np.interp([start_s, stop_s], self._at, series)
        return float(high - low)


def _checked(experiment: Experiment) -> Service:
    """The service of an experiment whose fleet can be simulated."""
    if experiment.service is None:
        raise ValueError("service: must be known for a simulation (got None)")
    if any(phase.capacity_factor != 1.0 for phase in experiment.demand.phases):
        raise ValueError("capacity_factor: must be 1 for an autoscaled fleet")
    return experiment.service
