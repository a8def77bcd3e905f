"""The compiled step of the fluid model: one queue, first in first out, on a uniform grid.

Per step: service by the rate that holds now, lateness of what was sent one timeout ago, the retries
that are due, the queue. Capacity may depend on anything up to now, since nothing is decided before the
clock has reached it. All flows are counts per step; ``backlog`` and ``potential`` (cumulative service,
had there always been work) are values at the grid points. A step is second order: flows are taken as
constant in it, so all cumulative counts are piecewise linear.
"""

from __future__ import annotations

import math

from analysis.compiled import compiled
from analysis.result import Floats
from domain import degradation

GIVE_UP, AFTER_TIMEOUT, AT_ONCE = 0, 1, 2
"""What a rejected attempt does: ends its job, retries as if it had waited in vain, retries now."""

_rate_share = compiled(degradation.rate_share)


@compiled
def _count_at(counts: Floats, position: float) -> float:
    """A cumulative count kept in a ring, between its points; 0 before the beginning."""
    if position <= 0.0:
        return 0.0
    base = int(position)
    part = position - base
    value = float(counts[base % counts.size])
    if part > 0.0:
        value += part * (counts[(base + 1) % counts.size] - value)
    return value


@compiled
def _step_mean(counts: Floats, position: float) -> float:
    """Mean of a cumulative count over the step that begins at ``position``."""
    # There is nothing before the beginning, and a delay may be too large to be a whole number.
    position = max(position, -1.0)
    base = math.floor(position)
    part = position - base
    middle = _count_at(counts, base + 1.0)
    before = _count_at(counts, position) + middle
    after = middle + _count_at(counts, position + 1.0)
    return 0.5 * ((1.0 - part) * before + part * after)


@compiled
def _due(counts: Floats, step: int, least: float, most: float) -> float:
    """What returns in ``step`` of a cumulative count, delays being spread evenly from least to most."""
    if most - least < 1.0:
        delay = 0.5 * (least + most)
        due = _count_at(counts, step + 1.0 - delay) - _count_at(counts, step - delay)
    else:
        due = (_step_mean(counts, step - least) - _step_mean(counts, step - most)) / (most - least)
    return max(due, 0.0)


@compiled
def _share_above_zero(first: float, last: float) -> float:
    """Share of a step in which a linear excess, from ``first`` to ``last``, is above 0."""
    low, high = min(first, last), max(first, last)
    if high <= 0.0:
        return 0.0
    return 1.0 if low >= 0.0 else high / (high - low)


@compiled
def advance(
    start: int,
    stop: int,
    per_timeout: int,
    demand: Floats,
    service: Floats,
    pods: Floats,
    late_delays: Floats,
    rejected_delays: Floats,
    budget: float,
    places: float,
    on_rejection: int,
    floor: float,
    half_queue: float,
    noise: float,
    sent: Floats,
    late: Floats,
    turned_away: Floats,
    due: Floats,
    ingress: Floats,
    rejected: Floats,
    good: Floats,
    backlog: Floats,
    potential: Floats,
) -> None:
    """Step from ``start`` to ``stop``, in place.

    In: ``demand``, ``service`` (nominal) and ``pods`` per step; ``late_delays`` and
    ``rejected_delays`` (layers, 2), the least and most steps from an attempt to its retry. Those that
    never come back come after the last step; the rings reach back to step 0 or for the most steps.
    State: ``sent`` (layers, ring) per step, ``late`` and ``turned_away`` (layers, ring) cumulative,
    ``due`` (layers,) scratch.
    Out: ``ingress``, ``rejected`` and ``good`` per step; ``backlog`` and ``potential`` at grid points.
    """
    count, retrying = sent.shape[0], late_delays.shape[0]
    kept, lates, turned_ring = sent.shape[1], late.shape[1], turned_away.shape[1]
    for step in range(start, stop):
        queue = backlog[step]
        rate = service[step]
        if floor < 1.0:
            ahead = 0.5 * (queue - backlog[step - 1]) if step > 0 else 0.0
            rate *= _rate_share(max(0.0, queue + ahead), floor, half_queue)
        potential[step + 1] = potential[step] + rate

        cause = step - per_timeout
        if cause >= 0:
            share = _share_above_zero(
                backlog[cause] - (potential[step] - potential[cause]) - noise,
                backlog[cause + 1] - (potential[step + 1] - potential[cause + 1]) - noise,
            )
            refused = rejected[cause] / ingress[cause] if rejected[cause] > 0.0 else 0.0
            good[cause] = (ingress[cause] - rejected[cause]) * (1.0 - share)
            failed = share * (1.0 - refused)
            if on_rejection == AFTER_TIMEOUT:
                failed += refused
            for layer in range(count):
                late[layer, (cause + 1) % lates] = (
                    late[layer, cause % lates] + failed * sent[layer, cause % kept]
                )

        wanted = 0.0
        due[:] = 0.0
        for layer in range(retrying):
            back = _due(late[layer], step, late_delays[layer, 0], late_delays[layer, 1])
            if on_rejection == AT_ONCE:
                back += _due(turned_away[layer], step, rejected_delays[layer, 0], rejected_delays[layer, 1])
            due[min(layer + 1, count - 1)] += back
            wanted += back
        granted = 1.0
        if wanted > 0.0 and budget < math.inf:
            granted = min(1.0, budget * demand[step] / wanted)
        inflow = demand[step] + granted * wanted

        level = queue + inflow - rate
        turned = min(inflow, max(0.0, level - places - pods[step]))
        ingress[step] = inflow
        rejected[step] = turned
        backlog[step + 1] = max(0.0, level - turned)
        part = turned / inflow if turned > 0.0 else 0.0
        for layer in range(count):
            attempts = granted * due[layer]
            if layer == 0:
                attempts += demand[step]
            sent[layer, step % kept] = attempts
            turned_away[layer, (step + 1) % turned_ring] = (
                turned_away[layer, step % turned_ring] + part * attempts
            )
