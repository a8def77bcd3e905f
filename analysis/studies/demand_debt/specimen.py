"""The seed's specimen, what is done to it, and how its recovery is read off.

Ten pods of 100 attempts/s (the kit: four), clients that give up after 10 s and make three attempts. A
service has recovered when its backlog is back to zero and nothing is late any more: in the simulation,
the first look after the last late attempt at which nobody waits for a pod.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis import laws
from analysis.fluid import backlog_cleared_s, fluid_trace
from analysis.result import FluidTrace
from analysis.simulation import Counts, simulate_seeds
from analysis.studies.sample import Sample
from domain.backoff import Backoff, NoBackoff
from domain.experiment import Client, Demand, Experiment, Phase, Service

TIMEOUT_S = 10.0
PODS, KIT_PODS = 10, 4
RATE_PER_POD = 100.0
ATTEMPTS = 3
CALM_S, SPIKE_S = 100.0, 300.0
TRAPPED_WATCH_S = 3000.0
MOST_LOOKS = 20_000


def scaled_rate(effort: float) -> float:
    """Rate of a pod in a simulation: the seed's own, or slower pods, and so fewer requests, below effort 1.

    Utilizations and durations stay, so the fluid is the same and only chance grows.
    """
    return RATE_PER_POD * min(1.0, max(0.05, effort))


def seeds(effort: float, at_one: int, fewest: int = 3) -> list[int]:
    """Seeds 1, 2, …: ``at_one`` of them at effort 1, never fewer than ``fewest``."""
    return list(range(1, max(fewest, round(at_one * effort)) + 1))


def experiment(
    utilization: float,
    phases: Sequence[Phase],
    *,
    pods: int = PODS,
    max_attempts: int = ATTEMPTS,
    rate_per_pod: float = RATE_PER_POD,
    backoff: Backoff | None = None,
) -> Experiment:
    """The specimen at this first-attempt utilization."""
    return Experiment(
        name="specimen",
        title="Seed 002",
        client=Client(TIMEOUT_S, max_attempts, backoff or NoBackoff()),
        demand=Demand(utilization * pods * rate_per_pod, tuple(phases)),
        service=Service(pods, rate_per_pod),
    )


@dataclass(frozen=True, slots=True)
class Spike:
    """A spike of ``factor`` for 300 s over a service at ``utilization``; ``budget`` is β, None for none."""

    utilization: float
    factor: float
    max_attempts: int = ATTEMPTS
    pods: int = PODS
    budget: float | None = None

    @property
    def amplification(self) -> float:
        """A: m, or 1 + β where that is less."""
        m = float(self.max_attempts)
        return m if self.budget is None else min(m, laws.budget_amplification(self.budget))

    @property
    def amplified_utilization(self) -> float:
        """Aρ."""
        return self.amplification * self.utilization

    @property
    def law_s(self) -> float:
        """Prop. 7, full form."""
        return laws.recovery_time_s(
            amplification=self.amplification,
            spike_factor=self.factor,
            utilization=self.utilization,
            spike_duration_s=SPIKE_S,
            timeout_s=TIMEOUT_S,
        )

    @property
    def long_law_s(self) -> float:
        """Prop. 7, long-spike form."""
        return laws.long_spike_recovery_time_s(
            amplification=self.amplification,
            spike_factor=self.factor,
            utilization=self.utilization,
            spike_duration_s=SPIKE_S,
        )

    @property
    def end_s(self) -> float:
        """When the spike ends."""
        return CALM_S + SPIKE_S

    def experiment(self, rate_per_pod: float = RATE_PER_POD) -> Experiment:
        """The experiment, watched for well over the time that Prop. 7 gives."""
        watch_s = TRAPPED_WATCH_S if math.isinf(self.law_s) else math.ceil(1.25 * self.law_s + 500.0)
        phases = (
            Phase("calm", CALM_S),
            Phase("spike", SPIKE_S, self.factor),
            Phase("watch", watch_s),
        )
        return experiment(
            self.utilization,
            phases,
            pods=self.pods,
            max_attempts=self.max_attempts,
            rate_per_pod=rate_per_pod,
        )

    def fluid(self) -> FluidTrace:
        """The fluid model's path."""
        return fluid_trace(self.experiment(), retry_budget=self.budget)

    def fluid_s(self) -> float:
        """Seconds from the end of the spike to an empty queue in the fluid; infinite if it never empties."""
        cleared = backlog_cleared_s(self.fluid(), self.end_s)
        return math.inf if cleared is None else cleared - self.end_s

    def counts(
        self, rate_per_pod: float, chosen: Sequence[int], on_done: Callable[[int], None] | None = None
    ) -> Counts:
        """Simulated runs, looked at every second, or less often if that is over ``MOST_LOOKS`` times."""
        wanted = self.experiment(rate_per_pod)
        every_s = max(1, math.ceil(wanted.duration_s / MOST_LOOKS))
        edges = looks_s(wanted.duration_s, every_s)
        return simulate_seeds(wanted, chosen, edges_s=edges, retry_budget=self.budget, on_done=on_done)

    def recovered_s(self, counts: Counts) -> Sample:
        """Recovery times, one per seed; infinite for a run that ended failing, 0 where nothing was late."""
        at = [recovered_at_s(counts, row, self.pods) for row in range(len(counts.seeds))]
        return Sample.of(max(0.0, t - self.end_s) for t in at)


def looks_s(duration_s: float, every_s: float) -> list[float]:
    """Every ``every_s`` from zero on, and at the end of the run, which is never passed."""
    return [*np.arange(0.0, duration_s - 1e-6, every_s).tolist(), duration_s]


def recovered_at_s(counts: Counts, row: int, pods: int) -> float:
    """When a simulated run is well for good: 0 if nothing was late, infinite if it ended failing."""
    late = np.flatnonzero(counts.late[row])
    if late.size == 0:
        return 0.0
    looks = np.flatnonzero(counts.depth[row] <= pods)
    looks = looks[looks >= late[-1]]
    if looks.size == 0 or late[-1] == counts.late.shape[1] - 1:
        return math.inf
    return float(counts.edges_s[looks[0] + 1])
