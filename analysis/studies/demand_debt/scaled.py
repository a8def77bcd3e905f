"""An autoscaled service under a sustained step of demand, and what the seed reads off it."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from analysis.fluid import backlog_cleared_s, fluid_trace
from analysis.result import FluidTrace
from analysis.simulation import simulate_fleet
from analysis.studies.demand_debt.specimen import (
    ATTEMPTS,
    PODS,
    RATE_PER_POD,
    experiment,
    looks_s,
    recovered_at_s,
    scaled_rate,
    seeds,
)
from analysis.studies.sample import Sample
from analysis.wording import percent
from domain.backoff import Backoff
from domain.experiment import Experiment, Phase
from domain.fleet import Fleet, specimen

CALM_S = 300.0
WATCH_S = 2000.0
SIMULATED_WATCH_S = 1200.0
SEEDS = 3
LOSS_OVER_S = 900.0
"""The source states losses as a share of "the run" and not how long that is; chosen because over 900 s they
come out as it prints them, so that a loss which agrees is fitted."""
LOSS_FITTED = f"the length of the run, {LOSS_OVER_S:g} s, over which losses are counted"
DELAYS_S = ((0.0, 15.0), (0.0, 30.0), (15.0, 15.0), (15.0, 30.0), (30.0, 15.0))
"""Lags and windows of the metrics other than ours: the source gives none."""

METRICS = "metric windows, sync period and tolerance"
"""What ``domain.fleet.specimen`` chose so that the source's table of three signals comes out."""
_FLEET = specimen("cpu")
SETTING = (
    f"windows of {_FLEET.cpu_window_s:g} s (CPU) and {_FLEET.rate_window_s:g} s (rates), a sync period of"
    f" {_FLEET.sync_period_s:g} s and a tolerance of {percent(_FLEET.tolerance)}"
)


@dataclass(frozen=True, slots=True)
class Step:
    """Demand times ``factor`` for good, on a fleet at rest at its target."""

    fleet: Fleet
    factor: float = 10.0
    pods: int = PODS
    max_attempts: int = ATTEMPTS
    budget: float | None = None
    backoff: Backoff | None = None
    watch_s: float = WATCH_S

    @property
    def demand_per_s(self) -> float:
        """First attempts per second after the step."""
        return self.fleet.target_utilization * self.pods * RATE_PER_POD * self.factor

    @property
    def needed(self) -> int:
        """N*: pods that carry the stepped demand at the target."""
        return math.ceil(round(self.demand_per_s / (self.fleet.target_utilization * RATE_PER_POD), 9))

    def experiment(self, rate_per_pod: float = RATE_PER_POD) -> Experiment:
        """The experiment; the step is a phase that lasts to the end."""
        phases = (Phase("calm", CALM_S), Phase("step", self.watch_s, self.factor))
        return experiment(
            self.fleet.target_utilization,
            phases,
            pods=self.pods,
            max_attempts=self.max_attempts,
            rate_per_pod=rate_per_pod,
            backoff=self.backoff,
        )

    def run(self) -> Scaled:
        """The fluid model's answer."""
        return Scaled(self, fluid_trace(self.experiment(), fleet=self.fleet, retry_budget=self.budget))

    def runs(self) -> list[Scaled]:
        """The fluid model's answer, and the same over metrics of other lags and windows."""
        others = [
            replace(
                self,
                fleet=replace(self.fleet, metric_lag_s=lag, cpu_window_s=window, rate_window_s=window),
            ).run()
            for lag, window in DELAYS_S
        ]
        return [self.run(), *others]

    def simulated_s(self, effort: float) -> Sample:
        """When it is healthy again request by request, one time per seed; infinite for never."""
        short = replace(self, watch_s=SIMULATED_WATCH_S)
        wanted = short.experiment(scaled_rate(effort))
        edges = looks_s(wanted.duration_s, 1.0)
        runs = simulate_fleet(
            wanted, self.fleet, seeds(effort, SEEDS), edges_s=edges, retry_budget=self.budget
        )
        return Sample.of(recovered_at_s(run.counts, 0, self.pods) - CALM_S for run in runs)


@dataclass(frozen=True, slots=True, eq=False)
class Scaled:
    """What became of it; times in seconds after the step."""

    step: Step
    trace: FluidTrace

    @property
    def meets_load_s(self) -> float:
        """When the pods can first serve all first attempts; infinite if never."""
        enough = (self.trace.pods * RATE_PER_POD >= self.step.demand_per_s) & self._after
        return float(self.trace.t_s[np.argmax(enough)]) - CALM_S if enough.any() else math.inf

    @property
    def peak_over_needed(self) -> float:
        """max N / N*."""
        return float(self.trace.pods[self._after].max()) / self.step.needed

    @property
    def lost_s(self) -> float:
        """First attempts never answered, in seconds of the stepped demand."""
        return self._lost(math.inf) / self.step.demand_per_s

    @property
    def lost_share(self) -> float:
        """The same as a share of the demand, over the stretch that the source seems to mean."""
        return self._lost(LOSS_OVER_S) / (self.step.demand_per_s * LOSS_OVER_S)

    @property
    def healthy_after_s(self) -> float:
        """When the backlog is back to zero for good; infinite if never."""
        cleared = backlog_cleared_s(self.trace, CALM_S)
        return math.inf if cleared is None else cleared - CALM_S

    @property
    def last_pods(self) -> float:
        """Pods at the end."""
        return float(self.trace.pods[-1])

    def pods_at(self, t_s: float) -> float:
        """Pods ready so long after the step."""
        return float(self.trace.pods[np.searchsorted(self.trace.t_s, CALM_S + t_s)])

    @property
    def _after(self) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        return np.asarray(self.trace.t_s >= CALM_S)

    def _lost(self, until_s: float) -> float:
        part = self._after & (self.trace.t_s < CALM_S + until_s)
        step_s = self.trace.t_s[1] - self.trace.t_s[0]
        return float((self.trace.demand_per_s[part] - self.trace.goodput_per_s[part]).sum() * step_s)
