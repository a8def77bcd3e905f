"""One event-driven run of an experiment: its arrays, its streams, and its way through the compiled loop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analysis.simulation import event_state as es
from analysis.simulation import kernel
from analysis.simulation.arrays import arrival_chunks, doubled, edges_of, unrolled
from analysis.simulation.counts import DefendedCounts, Floats, Ints
from analysis.simulation.event_setup import check_ends, free_hedges, free_slots, initial_state
from analysis.simulation.events import advance
from domain.experiment import Experiment
from domain.streams import stream


class EventRun:
    """A run that can be taken forward bit by bit.

    Everything is in seconds of the wall clock. With ``recording`` every attempt is kept, for ``recorded``.
    Raises ``ValueError`` when the capacity is not known, the edges do not ascend, or a client would ask
    again and again at one moment.
    """

    def __init__(
        self,
        experiment: Experiment,
        *,
        edges_s: Sequence[float] | Floats | None = None,
        preload: int = 0,
        recording: bool = False,
    ) -> None:
        live = experiment.live()
        service, client, seed = live.service, live.client, live.run.seed
        if service is None:
            raise ValueError("service: must be known for a simulation (got None)")
        if preload < 0:
            raise ValueError(f"preload: must be at least 0 (got {preload!r})")
        check_ends(client, service)
        self._service, self._seed, self._end_s = service, seed, live.duration_s
        self._edges_s = edges_of(live, edges_s)
        self._chunks = arrival_chunks(live.arrival_plan, stream(seed, "arrivals"), preload)
        self._arrivals = next(self._chunks, np.empty(0))
        self._ahead = next(self._chunks, None)
        self._state = initial_state(live, service, self._edges_s, recording)

    def advance(self, until_s: float) -> None:
        """Run every event before ``until_s``, or to the end of the phases."""
        until_s = min(until_s, self._end_s)
        while True:
            if self._ahead is None or self._arrivals[-1] >= until_s:
                self._run_to(until_s)
                return
            self._run_to(self._arrivals[-1])
            self._read_ahead()

    def finish(self) -> DefendedCounts:
        """The counts, once the run has been taken to its end."""
        self._follow_open_attempts()
        windows, rate = self._state.windows, self._service.rate_per_pod
        inner = windows[1:-1]

        def row(name: str) -> Ints:
            return np.asarray(inner[name])[np.newaxis, :].copy()

        return DefendedCounts(
            seeds=(self._seed,),
            edges_s=self._edges_s,
            jobs=row("jobs"),
            attempts=row("attempts"),
            late=row("late"),
            rejected=row("rejected"),
            refused=row("refused"),
            answered=row("answered"),
            busy_s=np.diff(windows["done_w"][:-1] / rate)[np.newaxis, :],
            depth=row("depth"),
            backlog_s=(inner["backlog_w"] / self._service.capacity_per_s)[np.newaxis, :],
            wasted_s=(inner["wasted_w"] / rate)[np.newaxis, :],
            dropped=row("dropped"),
            refused_first=row("refused_first"),
            errors=row("errors"),
            cancelled=row("cancelled"),
        )

    def recorded(self) -> kernel.Trace:
        """Every attempt of a finished run, in the order they ended, those that were refused too.

        ``outcome`` is one of ``event_state``'s. What has not ended by the end of the phases is open: NaN
        ``done_s``. Needs ``recording``.
        """
        self._follow_open_attempts()
        rows = self._state.trace[: self._state.place["traced"][0]]
        is_open = rows["done_s"] > self._end_s
        return kernel.Trace(
            job=rows["job"].copy(),
            attempt=rows["attempt"].copy(),
            sent_s=rows["sent_s"].copy(),
            done_s=np.where(is_open, np.nan, rows["done_s"]),
            outcome=np.where(is_open, np.int32(es.OPEN), rows["outcome"]),
        )

    def saturated(self) -> tuple[Floats, Ints]:
        """Seconds in which every pod was busy at a rate above 0, and completions meanwhile, up to each edge.

        Shape (windows + 1,).
        """
        at_edges = self._state.windows[:-1]
        return at_edges["saturated_u"], at_edges["saturated_done"]

    def served(self) -> tuple[Floats, Floats]:
        """Seconds of service given up to each edge, and those of work that had ended and nobody waited for.

        Shape (windows + 1,). As the target counts them: in time, not in work.
        """
        at_edges = self._state.windows[:-1]
        return at_edges["busy_u"], at_edges["abandoned_u"]

    def completed(self) -> Ints:
        """Attempts served to the end up to each edge, shape (windows + 1,)."""
        return np.asarray(self._state.windows["completed"][:-1])

    def _run_to(self, until_s: float) -> None:
        while True:
            status = advance(self._state, self._arrivals, until_s)
            if status == es.DONE:
                return
            self._enlarge(status)

    def _read_ahead(self) -> None:
        assert self._ahead is not None
        place = self._state.place
        used = int(place["arrived"][0])
        self._arrivals = np.concatenate([self._arrivals[used:], self._ahead])
        self._ahead = next(self._chunks, None)
        place["earlier"] += used
        place["arrived"] = 0

    def _follow_open_attempts(self) -> None:
        """Go on until every attempt has ended, and all work that was in service; nothing more is sent."""
        place = self._state.place
        if place["over"][0]:
            return
        place["over"] = True
        place["last_started"] = place["started"]
        place["left"] = place["running"]
        self._run_to(math.inf)

    def _enlarge(self, status: int) -> None:
        state, place = self._state, self._state.place
        if status == es.FULL_SLOTS:
            size = state.slots.size
            more = free_slots(size, size, int(place["free_slot"][0]))
            place["free_slot"] = size
            place["free_slots"] += size
            self._state = state._replace(slots=np.concatenate([state.slots, more]))
        elif status == es.FULL_RING:
            head, tail = int(place["ring_head"][0]), int(place["ring_tail"][0])
            self._state = state._replace(ring=unrolled(state.ring, head, tail))
        elif status == es.FULL_HEAP:
            self._state = state._replace(heap=doubled(state.heap))
        elif status == es.FULL_HEDGES:
            size = state.hedges.size
            place["free_hedge"] = size
            self._state = state._replace(hedges=np.concatenate([state.hedges, free_hedges(size, size)]))
        else:
            self._state = state._replace(trace=doubled(state.trace))
