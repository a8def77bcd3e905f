"""Fluid model of an experiment: backlog, lateness and retries as flows, in scenario time.

First-in first-out service, so an attempt sent at t waits until the service given after t equals the
backlog at t. It is late, and its client gives up at t + T, iff the capacity in (t, t+T] is less than
that backlog: known in advance from the phases. Its retry is offered at t + T + backoff, the backoff
spread evenly over its bounds. Abandoned work is served like any other. No retry comes sooner than T
after its cause, so the model advances in blocks of T, whole arrays at a time. Source: seed 002
Prop. 6–8 (fluid model).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from analysis.result import Floats, FluidTrace
from analysis.staircase import Staircase
from domain.backoff import Backoff
from domain.experiment import Experiment, PlacedPhase, Service

STEPS_PER_TIMEOUT = 100
MAX_STEPS_PER_TIMEOUT = 4000
MIN_STEPS_PER_TIMEOUT = 8
MAX_CELLS = 6_000_000
"""Steps times attempt numbers kept in memory."""
QUIET_BLOCK = 1 << 16
NOISE = 1e-9
"""Backlog, relative to what is served in a timeout, that is rounding and not lateness."""


@dataclass(frozen=True, slots=True)
class Layers:
    """Attempts by number. ``delays`` are the (least, most) steps from a late send to its retry.

    ``endless``: the last layer feeds itself, as the attempts of an endless client do once its backoff
    has stopped growing.
    """

    delays: tuple[tuple[float, float], ...]
    endless: bool

    @property
    def longest(self) -> int:
        """Steps of history that retries can reach back."""
        return math.ceil(max((most for _, most in self.delays), default=0.0)) + 2

    @property
    def groups(self) -> list[tuple[slice, float, float]]:
        """Neighbouring layers with the same delays, which are advanced together."""
        found: list[tuple[slice, float, float]] = []
        for delays, members in groupby(range(len(self.delays)), key=lambda n: self.delays[n]):
            numbers = list(members)
            found.append((slice(numbers[0], numbers[-1] + 1), *delays))
        return found


def _layer_bounds(
    backoff: Backoff, max_attempts: float, feasible: int
) -> tuple[list[tuple[float, float]], bool]:
    """Backoff bounds after attempt 1, 2, … as far as the model must tell them apart, and whether the last
    ones stand for all that follow: so it is when the run is too short to use all the attempts."""
    endless = max_attempts - 1 >= feasible
    bounds: list[tuple[float, float]] = []
    for failed in range(1, int(min(max_attempts - 1, feasible)) + 1):
        bounds.append(backoff.bounds_s(failed))
        if endless and backoff.bounds_s(failed + 1) == bounds[-1]:
            break
    return bounds, endless and bool(bounds)


def _layers(
    bounds: list[tuple[float, float]], endless: bool, per_timeout: int, step_s: float, steps: int
) -> Layers:
    def in_steps(delay_s: float) -> float:
        delay = per_timeout + delay_s / step_s
        whole = round(delay)
        return min(float(whole) if abs(delay - whole) < 1e-6 else delay, float(steps + per_timeout))

    return Layers(tuple((in_steps(low), in_steps(high)) for low, high in bounds), endless)


def _steps_per_timeout(shortest_s: float, horizon_s: float, timeout_s: float, layers: int) -> int:
    wanted = min(max(STEPS_PER_TIMEOUT, 10 * timeout_s / shortest_s), MAX_STEPS_PER_TIMEOUT)
    affordable = MAX_CELLS / max(1, layers) * timeout_s / horizon_s
    return max(MIN_STEPS_PER_TIMEOUT, int(min(wanted, affordable)))


class _History:
    """Cumulative late attempts of each layer on the grid, and their running integral."""

    def __init__(self, layers: Layers, steps: int) -> None:
        self.groups = layers.groups
        self.pad = layers.longest
        count = len(layers.delays) + (0 if layers.endless else 1)
        self.count = max(1, count)
        self.late = np.zeros((self.count, self.pad + steps + 1))
        self.area = np.zeros_like(self.late)

    def quiet(self, step: int) -> bool:
        """Whether no retry is still to come of what was sent before ``step``."""
        now, past = self.pad + step, step
        return bool(np.all(self.late[:, now] == self.late[:, past]))

    def _delayed(self, series: Floats, start: int, stop: int, delay: float) -> Floats:
        position = self.pad + start - delay
        base = math.floor(position)
        part = position - base
        window = series[:, base : base + stop - start + 2]
        if part == 0.0:
            return window[:, : stop - start + 1]
        return np.asarray(window[:, :-1] * (1.0 - part) + window[:, 1:] * part)

    def retries(self, start: int, stop: int) -> Floats:
        """Retries offered in the steps, shape (layers, stop − start); row 0 stays 0 unless endless."""
        offered = np.zeros((self.count, stop - start))
        for sources, least, most in self.groups:
            if most - least < 1.0:
                total = self._delayed(self.late[sources], start, stop, (least + most) / 2.0)
            else:
                early = self._delayed(self.area[sources], start, stop, least)
                total = (early - self._delayed(self.area[sources], start, stop, most)) / (most - least)
            due = np.maximum(np.diff(total, axis=1), 0.0)
            first = sources.start + 1
            inner = min(sources.stop, self.count - 1) - sources.start
            offered[first : first + inner] += due[:inner]
            offered[-1] += due[inner:].sum(axis=0)  # only the last layer of an endless client
        return offered

    def record(self, start: int, late: Floats) -> None:
        """Add late attempts per layer and step."""
        first, size = self.pad + start, late.shape[1]
        before = self.late[:, first : first + 1]
        after = before + np.cumsum(late, axis=1)
        self.late[:, first + 1 : first + size + 1] = after
        middles = after - late / 2.0
        self.area[:, first + 1 : first + size + 1] = self.area[:, first : first + 1] + np.cumsum(
            middles, axis=1
        )


def _fraction_above_zero(excess: Floats) -> Floats:
    """Share of each step in which a piecewise linear excess (values at the grid points) is above 0."""
    low, high = np.minimum(excess[:-1], excess[1:]), np.maximum(excess[:-1], excess[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = high / (high - low)
    return np.where(high <= 0, 0.0, np.where(low >= 0, 1.0, crossing))


def _grant(offered: Floats, demand: Floats, budget: float | None) -> Floats:
    """Retries let through when they may be at most ``budget`` per first attempt."""
    if budget is None:
        return offered
    wanted = offered.sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(wanted > 0, np.minimum(1.0, budget * demand / wanted), 0.0)
    return np.asarray(offered * share)


@dataclass(frozen=True, slots=True)
class _Flows:
    ingress: Floats
    good: Floats
    backlog: Floats


def _advance(
    demand: Floats,
    served: Floats,
    allowance: Floats,
    history: _History,
    *,
    per_timeout: int,
    budget: float | None,
) -> _Flows:
    """Step the model: counts per step in, counts per step and the backlog at the grid points out."""
    steps = demand.size
    flows = _Flows(np.zeros(steps), np.zeros(steps), np.zeros(steps + 1))
    start = 0
    while start < steps:
        quiet = history.quiet(start)
        stop = min(steps, start + (max(QUIET_BLOCK, per_timeout) if quiet else per_timeout))
        if quiet:
            attempts = np.zeros((history.count, stop - start))
        else:
            attempts = _grant(history.retries(start, stop), demand[start:stop], budget)
        attempts[0] += demand[start:stop]
        inflow = attempts.sum(axis=0)
        level = flows.backlog[start] + np.cumsum(inflow - served[start:stop])
        level -= np.minimum(np.minimum.accumulate(level), 0.0)
        excess = np.concatenate([[flows.backlog[start]], level]) - allowance[start : stop + 1]
        late_share = _fraction_above_zero(excess)
        first_late = int(np.argmax(late_share > 0)) if late_share.any() else late_share.size
        size = min(stop - start, first_late + per_timeout)
        stop = start + size
        flows.ingress[start:stop] = inflow[:size]
        flows.good[start:stop] = inflow[:size] * (1.0 - late_share[:size])
        flows.backlog[start + 1 : stop + 1] = level[:size]
        history.record(start, attempts[:, :size] * late_share[:size])
        start = stop
    return flows


def fluid_trace(experiment: Experiment, *, retry_budget: float | None = None) -> FluidTrace:
    """Run the fluid model over the whole experiment; times in scenario seconds.

    ``retry_budget`` is β: retries per second are capped at β times the first-attempt rate, and a
    refused retry ends its job (seed 002's rule). ``goodput_per_s`` is counted when the answer arrives.
    Raises ``ValueError`` when the capacity is not known.
    """
    service = experiment.service
    if service is None:
        raise ValueError("service: must be known for the fluid model (got None)")
    client, placed = experiment.client, tuple(p for p in experiment.placed_phases if p.phase.duration_s > 0)
    horizon, timeout = experiment.duration_s, client.timeout_s
    feasible = math.ceil(horizon / timeout) + 1
    bounds, endless = _layer_bounds(client.backoff, client.max_attempts, feasible)
    shortest = min(p.phase.duration_s for p in placed)
    per_timeout = _steps_per_timeout(shortest, horizon, timeout, len(bounds) + 1)
    step = timeout / per_timeout
    grid = np.asarray(step * np.arange(math.ceil(horizon / step - 1e-9) + 1), dtype=np.float64)
    capacity = _capacity(service, placed)
    rate = experiment.demand.arrival_rate_per_s
    demand = np.diff(Staircase.of(placed, [rate * p.phase.factor for p in placed]).at(grid))
    served_by = capacity.at(grid)
    noise = NOISE * service.capacity_per_s * timeout
    allowance = capacity.at(grid + timeout) - served_by + noise
    history = _History(_layers(bounds, endless, per_timeout, step, demand.size), demand.size)
    flows = _advance(
        demand, np.diff(served_by), allowance, history, per_timeout=per_timeout, budget=retry_budget
    )
    wait = np.where(flows.backlog > 0, capacity.when(served_by + flows.backlog) - grid, 0.0)
    return FluidTrace(
        t_s=grid[:-1],
        demand_per_s=demand / step,
        ingress_per_s=flows.ingress / step,
        goodput_per_s=_answers(flows.good, grid, grid + wait) / step,
        backlog=flows.backlog[:-1],
        wait_s=wait[:-1],
        late=(flows.backlog > allowance)[:-1],
    )


def _capacity(service: Service, placed: tuple[PlacedPhase, ...]) -> Staircase:
    return Staircase.of(placed, [service.capacity_per_s * p.phase.capacity_factor for p in placed])


def _answers(good: Floats, grid: Floats, done: Floats) -> Floats:
    """Answers in time per step: what was sent in time, moved to when it is done (FIFO keeps the order)."""
    total = np.concatenate([[0.0], np.cumsum(good)])
    finite = np.isfinite(done)
    arrived = np.interp(grid, np.maximum.accumulate(done[finite]), total[finite])
    return np.diff(arrived)


def first_late_s(trace: FluidTrace, start_s: float = 0.0, end_s: float = math.inf) -> float | None:
    """When the first late attempt of the window is sent; None if there is none."""
    late = trace.t_s[trace.late & (trace.t_s >= start_s) & (trace.t_s < end_s)]
    return float(late[0]) if late.size else None


def last_late_s(trace: FluidTrace, start_s: float = 0.0, end_s: float = math.inf) -> float | None:
    """When the last late attempt of the window is sent; None if there is none.

    Taken from the end of the trigger this is the recovery time by "last late attempt".
    """
    late = trace.t_s[trace.late & (trace.t_s >= start_s) & (trace.t_s < end_s)]
    return float(late[-1]) if late.size else None


def backlog_cleared_s(trace: FluidTrace, after_s: float) -> float | None:
    """When the backlog is first zero at or after ``after_s``, nothing being late later; None if never.

    Taken from the end of the trigger this is the recovery time by "backlog back to zero", which
    reproduces seed 002's figures.
    """
    late = last_late_s(trace)
    begin = after_s if late is None else max(after_s, late)
    empty = trace.t_s[(trace.backlog <= 0) & (trace.t_s >= begin)]
    return float(empty[0]) if empty.size else None
