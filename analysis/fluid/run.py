"""One run of the fluid model: the arrays on its grid, stepped from one moment to another."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.fluid import stepper
from analysis.fluid.layers import Layers
from analysis.result import Floats, FluidTrace
from analysis.staircase import Staircase
from domain.degradation import Degradation
from domain.experiment import Experiment, Service
from domain.queue_cap import QueueCap

NOISE = 1e-9
"""Backlog, relative to what is served in a timeout, that is rounding and not lateness."""
ON_REJECTION = {
    "retry": stepper.AT_ONCE,
    "after-timeout": stepper.AFTER_TIMEOUT,
    "give-up": stepper.GIVE_UP,
}


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds for the whole run besides the experiment itself."""

    retry_budget: float | None
    queue_cap: QueueCap | None
    degradation: Degradation


class Run:
    """The state of a run. Per-step arrays have ``steps`` entries: the experiment's own steps, then one
    timeout more, in which the lateness of the last attempts is decided."""

    def __init__(self, experiment: Experiment, service: Service, rules: Rules, shortest_s: float) -> None:
        client, horizon = experiment.client, experiment.duration_s
        placed = tuple(p for p in experiment.placed_phases if p.phase.duration_s > 0)
        shortest = min(shortest_s, *(p.phase.duration_s for p in placed))
        # What is sent after the end matters only if capacity answers to it before the last is decided.
        given = math.isinf(shortest_s) and rules.degradation.floor >= 1.0
        layers = Layers.of(client, horizon if given else horizon + client.timeout_s, rules.queue_cap)
        self.per_timeout = layers.steps_per_timeout(shortest, horizon, client)
        self.step_s = client.timeout_s / self.per_timeout
        self.shown = max(1, math.ceil(horizon / self.step_s - 1e-9))
        self.steps = self.shown + self.per_timeout
        self.grid_s: Floats = self.step_s * np.arange(self.steps + 1, dtype=np.float64)
        rate = experiment.demand.arrival_rate_per_s
        self.demand = np.diff(Staircase.of(placed, [rate * p.phase.factor for p in placed]).at(self.grid_s))
        one_pod = [service.rate_per_pod * p.phase.capacity_factor for p in placed]
        self.pod_service = np.diff(Staircase.of(placed, one_pod).at(self.grid_s))
        """What one pod can serve in each step."""
        self.pods = np.zeros(self.steps)
        self.service = np.zeros(self.steps)
        self.ingress, self.rejected, self.good = np.zeros((3, self.steps))
        self.backlog, self.potential = np.zeros((2, self.steps + 1))
        self.noise = NOISE * service.capacity_per_s * client.timeout_s
        self._rules = rules
        self._layers = _LayerState.of(layers, client.timeout_s, self.step_s, self.per_timeout, self.steps)

    def advance(self, start: int, stop: int, pods: Floats) -> None:
        """Step from ``start`` to ``stop`` with so many pods on average in each of these steps."""
        self.pods[start:stop] = pods
        self.service[start:stop] = pods * self.pod_service[start:stop]
        rules, layers = self._rules, self._layers
        cap = rules.queue_cap
        stepper.advance(
            start,
            stop,
            self.per_timeout,
            self.demand,
            self.service,
            self.pods,
            layers.late_delays,
            layers.rejected_delays,
            math.inf if rules.retry_budget is None else rules.retry_budget,
            math.inf if cap is None else float(cap.places),
            stepper.GIVE_UP if cap is None else ON_REJECTION[cap.on_rejection],
            rules.degradation.floor,
            rules.degradation.half_queue,
            self.noise,
            layers.sent,
            layers.late,
            layers.turned_away,
            layers.due,
            self.ingress,
            self.rejected,
            self.good,
            self.backlog,
            self.potential,
        )

    def busy(self, start: int, stop: int) -> Floats:
        """Share of the pods' time spent serving, per step; 1 where there is work and no capacity."""
        queued, capacity = self.backlog[start : stop + 1], np.diff(self.potential[start : stop + 1])
        admitted = self.ingress[start:stop] - self.rejected[start:stop]
        served = queued[:-1] + admitted - queued[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(capacity > 0, np.clip(served / capacity, 0.0, 1.0), queued[1:] > 0)
        return np.asarray(share, dtype=np.float64)

    def trace(self) -> FluidTrace:
        """The paths over the experiment's own time, once every step is done."""
        n, ahead, step = self.shown, self.per_timeout, self.step_s
        potential, backlog, grid = self.potential, self.backlog, self.grid_s
        allowance = potential[ahead : ahead + n] - potential[:n] + self.noise
        done = self._when(potential[: n + 1] + backlog[: n + 1])
        wait = np.where(backlog[:n] > 0, done[:n] - grid[:n], 0.0)
        return FluidTrace(
            t_s=grid[:n],
            demand_per_s=self.demand[:n] / step,
            ingress_per_s=self.ingress[:n] / step,
            goodput_per_s=self._answers(np.maximum(done, grid[: n + 1])) / step,
            backlog=backlog[:n],
            wait_s=wait,
            late=backlog[:n] > allowance,
            rejected_per_s=self.rejected[:n] / step,
            capacity_per_s=np.diff(potential)[:n] / step,
            pods=self.pods[:n],
        )

    def _when(self, total: Floats) -> Floats:
        """The first time at which potential service reaches each total; the last rate holds for ever."""
        i = np.clip(np.searchsorted(self.potential, total, side="left") - 1, 0, self.steps - 1)
        rate = np.diff(self.potential)[i] / self.step_s
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = np.where(total <= self.potential[i], 0.0, (total - self.potential[i]) / rate)
        return np.asarray(self.grid_s[i] + wait, dtype=np.float64)

    def _answers(self, done: Floats) -> Floats:
        """Answers in time per step: what was sent in time, moved to when it is done (FIFO keeps order)."""
        total = np.concatenate([[0.0], np.cumsum(self.good[: self.shown])])
        finite = np.isfinite(done)
        arrived = np.interp(self.grid_s[: self.shown + 1], np.maximum.accumulate(done[finite]), total[finite])
        return np.diff(arrived)


@dataclass(frozen=True, slots=True)
class _LayerState:
    """Delays from attempt to retry, and the rings that remember what failed for as long as that takes."""

    late_delays: Floats
    rejected_delays: Floats
    sent: Floats
    late: Floats
    turned_away: Floats
    due: Floats

    @classmethod
    def of(cls, layers: Layers, timeout_s: float, step_s: float, per_timeout: int, steps: int) -> _LayerState:
        never = float(steps + per_timeout)
        late = layers.delays(timeout_s, step_s, least=float(per_timeout), never=never)
        rejected = layers.delays(0.0, step_s, least=1.0, never=never)
        late_ring = math.ceil(min(never, late.max(initial=float(per_timeout)))) - per_timeout + 4
        rejected_ring = math.ceil(min(never, rejected.max(initial=0.0))) + 4 if layers.at_once else 1
        return cls(
            late,
            rejected,
            np.zeros((layers.kinds, per_timeout + 1)),
            np.zeros((layers.kinds, late_ring)),
            np.zeros((layers.kinds, rejected_ring)),
            np.zeros(layers.kinds),
        )
