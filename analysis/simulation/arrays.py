"""What both simulations make of an experiment before they start, and how their arrays grow."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.simulation.counts import Floats
from analysis.simulation.kernel import Trace
from analysis.staircase import Staircase
from domain.arrivals import ArrivalPlan
from domain.experiment import Experiment, Service

MOST_ARRIVALS_AT_ONCE = 1 << 16


def edges_of(live: Experiment, edges_s: Sequence[float] | Floats | None) -> Floats:
    """The edges of the windows, by default those of the phases; raises ``ValueError`` unless they ascend."""
    if edges_s is None:
        return np.array([0.0, *(p.end_s for p in live.placed_phases if p.phase.duration_s > 0)])
    edges = np.asarray(edges_s, dtype=np.float64)
    within = bool(np.all((edges >= 0) & (edges <= live.duration_s * (1 + 1e-12))))
    edges = np.minimum(edges, live.duration_s)  # an edge computed otherwise may be a rounding beyond
    ascending = edges.size >= 2 and bool(np.all(np.diff(edges) > 0))
    if not (ascending and within):
        raise ValueError(f"edges_s: must ascend from at least 0 to at most the end of the run (got {edges})")
    return edges


def capacity_of(live: Experiment, service: Service) -> Staircase:
    """The work clock of one pod: its rate in every phase."""
    placed = tuple(p for p in live.placed_phases if p.phase.duration_s > 0)
    return Staircase.of(placed, [service.rate_per_pod * p.phase.capacity_factor for p in placed])


def arrival_chunks(plan: ArrivalPlan, rng: np.random.Generator, preload: int) -> Iterator[Floats]:
    """When jobs arrive, in chunks: ``preload`` of them at once at time zero, then the plan's."""
    if preload:
        yield np.zeros(preload)
    jobs = plan.expected_jobs
    yield from plan.offsets(rng, chunk=int(min(jobs + 6 * math.sqrt(jobs) + 16, MOST_ARRIVALS_AT_ONCE)))


def power_of_two(least: float) -> int:
    """The first that is at least so large."""
    return 1 << math.ceil(math.log2(least))


def empty_trace(rows: int) -> Trace:
    """Room for so many attempts."""
    return Trace(
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int32),
        np.zeros(rows),
        np.zeros(rows),
        np.zeros(rows, dtype=np.int32),
    )


def unrolled(column: NDArray[Any], head: int, tail: int) -> NDArray[Any]:
    """A ring of twice the length with the same content under the same running numbers."""
    size = column.size
    longer, index = np.zeros(2 * size, column.dtype), np.arange(head, tail)
    longer[index & (2 * size - 1)] = column[index & (size - 1)]
    return longer


def doubled(column: NDArray[Any]) -> NDArray[Any]:
    """Twice the length, with zeros at the end."""
    return np.concatenate([column, np.zeros_like(column)])
