"""How much of a run is chance: what a live run would measure, over many simulated seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from analysis.estimators import measure
from analysis.result import QUANTITIES, Floats, Values
from analysis.seeds import available_cores
from analysis.simulation.counts import Counts
from analysis.simulation.observed import ObservedRun, observe
from analysis.verdict import judge
from domain.experiment import Experiment

LOW, HIGH = 0.05, 0.95
ENVELOPE_POINTS = 240


@dataclass(frozen=True, slots=True)
class Band:
    """Quantiles of a quantity over the ``count`` seeds in which it has a value."""

    low: float
    median: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Band:
        """The 5%, 50% and 95% quantiles of at least one value."""
        low, median, high = np.quantile(np.asarray(values, dtype=np.float64), [LOW, 0.5, HIGH])
        return cls(float(low), float(median), float(high), len(values))

    def holds(self, value: float) -> bool:
        """Whether the value lies in the band."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Envelope:
    """The backlog over time, in scenario seconds of waiting; arrays of shape (n,)."""

    t_s: Floats
    low_s: Floats
    median_s: Floats
    high_s: Floats


@dataclass(frozen=True)
class Rates:
    """Per second, averaged over the seeds; arrays of shape (n,), over the stretch that begins at ``t_s``."""

    t_s: Floats
    demand_per_s: Floats
    ingress_per_s: Floats
    goodput_per_s: Floats
    capacity_per_s: Floats


@dataclass(frozen=True)
class Bands:
    """Bands of ``QUANTITIES`` in scenario time; ``outcomes`` and ``after_shed`` count seeds."""

    seeds: tuple[int, ...]
    outcomes: Mapping[str, int]
    after_shed: Mapping[str, int]
    values: Mapping[str, Band]
    backlog: Envelope
    rates: Rates | None = None

    def share(self, outcome: str) -> float:
        """Share of the seeds with this outcome."""
        return self.outcomes.get(outcome, 0) / len(self.seeds)


@dataclass(frozen=True, slots=True)
class _Seen:
    outcome: str
    after_shed: str | None
    values: Values
    backlog_s: Floats
    rates: Floats
    """Demand, ingress, goodput and capacity per second, shape (4, ENVELOPE_POINTS)."""


def simulate_bands(
    experiment: Experiment,
    seeds: Sequence[int],
    *,
    cores: int | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Bands:
    """Simulate each seed, measure and judge it like a live run, and take the quantiles.

    ``on_done`` is told how many seeds are finished. Raises ``ValueError`` without seeds or when the
    capacity is not known.
    """
    if not seeds:
        raise ValueError("seeds: must name at least one (got none)")
    seen = []
    for result in _each(experiment, seeds, cores or available_cores()):
        seen.append(result)
        if on_done is not None:
            on_done(len(seen))
    found = {key: [v for s in seen if (v := s.values[key]) is not None] for key in QUANTITIES}
    return Bands(
        seeds=tuple(seeds),
        outcomes=dict(Counter(s.outcome for s in seen)),
        after_shed=dict(Counter(s.after_shed for s in seen if s.after_shed is not None)),
        values={key: Band.of(values) for key, values in found.items() if values},
        backlog=_envelope(experiment, np.stack([s.backlog_s for s in seen])),
        rates=_rates(experiment, np.mean([s.rates for s in seen], axis=0)),
    )


def _each(experiment: Experiment, seeds: Sequence[int], cores: int) -> Iterator[_Seen]:
    with ThreadPoolExecutor(cores) as pool:
        yield from pool.map(lambda seed: _see(experiment.with_run(seed=seed)), seeds)


def _see(experiment: Experiment) -> _Seen:
    run = observe(experiment)
    findings = measure(run.attempts, run.server, experiment)
    measurement = judge(run.attempts, run.server, experiment, findings)
    t, backlog_s = run.counts.edges_s[1:], run.counts.backlog_s[0]
    at = np.linspace(0.0, run.counts.edges_s[-1], ENVELOPE_POINTS)
    return _Seen(
        measurement.outcome,
        measurement.after_shed,
        dict(measurement.values),
        np.interp(at, t, backlog_s),
        np.vstack([_per_second(run.counts), _capacity(experiment, run)]),
    )


def _per_second(counts: Counts) -> Floats:
    edges = np.linspace(0.0, counts.edges_s[-1], ENVELOPE_POINTS + 1)
    rows = []
    for windows in (counts.jobs[0], counts.attempts[0], counts.answered[0]):
        so_far = np.concatenate([[0.0], np.cumsum(windows)])
        rows.append(np.diff(np.interp(edges, counts.edges_s, so_far)) / np.diff(edges))
    return np.stack(rows)


def _rates(experiment: Experiment, means: Floats) -> Rates:
    t_s = np.linspace(0.0, experiment.duration_s, ENVELOPE_POINTS + 1)[:-1]
    demand, ingress, goodput, capacity = means
    return Rates(t_s, demand, ingress, goodput, capacity)


def _capacity(experiment: Experiment, run: ObservedRun) -> Floats:
    """Attempts/s the service could do in each stretch."""
    service, t_s = experiment.service, np.linspace(0.0, experiment.duration_s, ENVELOPE_POINTS + 1)[:-1]
    assert service is not None
    if experiment.fleet is not None:
        scrape = np.searchsorted(run.server["t_s"].to_numpy(), t_s / experiment.run.speedup, side="right")
        given = run.server["capacity_per_s"].to_numpy()
        return np.asarray(np.concatenate([[service.capacity_per_s], given])[scrape], dtype=np.float64)
    ends = [p.end_s for p in experiment.placed_phases]
    factors = np.array([p.phase.capacity_factor for p in experiment.placed_phases])
    phase = np.minimum(np.searchsorted(ends, t_s, side="right"), len(ends) - 1)
    return np.asarray(service.capacity_per_s * factors[phase], dtype=np.float64)


def _envelope(experiment: Experiment, backlog_s: Floats) -> Envelope:
    low, median, high = np.quantile(backlog_s, [LOW, 0.5, HIGH], axis=0) * experiment.run.speedup
    return Envelope(np.linspace(0.0, experiment.duration_s, ENVELOPE_POINTS), low, median, high)
