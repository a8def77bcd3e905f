"""Heaps of events, and the two clocks of the service.

Work is kept on the work clock W(t) = ∫ rate of one pod dt, so that a change of capacity, or of the number in
the system with degradation, touches nothing in service; U is the time during which the rate is not 0.
"""

from __future__ import annotations

from analysis.compiled import compiled_uncounted
from analysis.simulation.event_state import Records


@compiled_uncounted
def push(heap: Records, size: int, at: float, order: int, slot: int, kind: int) -> None:
    """Add an entry to a heap of ``size`` entries, least ``at`` first, then least ``order``."""
    here = size
    while here > 0:
        parent = (here - 1) >> 1
        if heap[parent].at < at or (heap[parent].at == at and heap[parent].order < order):
            break
        heap[here] = heap[parent]
        here = parent
    heap[here].at = at
    heap[here].order = order
    heap[here].slot = slot
    heap[here].kind = kind


@compiled_uncounted
def pop(heap: Records, size: int) -> None:
    """Take the first entry off a heap of ``size`` entries."""
    last = size - 1
    at, order = heap[last].at, heap[last].order
    here = 0
    while True:
        child = 2 * here + 1
        if child >= last:
            break
        right = child + 1
        if right < last and (
            heap[right].at < heap[child].at
            or (heap[right].at == heap[child].at and heap[right].order < heap[child].order)
        ):
            child = right
        if at < heap[child].at or (at == heap[child].at and order < heap[child].order):
            break
        heap[here] = heap[child]
        here = child
    heap[here] = heap[last]


@compiled_uncounted
def work_at(place: Records, now_s: float) -> float:
    """W."""
    return float(place.from_w + place.rate * (now_s - place.from_s))


@compiled_uncounted
def uptime_at(place: Records, now_s: float) -> float:
    """U."""
    if place.rate > 0.0:
        return float(place.from_u + (now_s - place.from_s))
    return float(place.from_u)
