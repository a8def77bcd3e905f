"""The matrix: every mitigation through the storm and every trial, over many seeds, on all cores."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from analysis.mitigations.mitigation import Mitigation
from analysis.mitigations.score import Score, score
from analysis.mitigations.trials import Numbers, Trial, trials
from analysis.result import Outcome
from analysis.seeds import available_cores, expected_attempts, expected_bytes, seeds_of
from analysis.simulation.observed import observe
from analysis.simulation.runs import run_of
from analysis.trap import failing_amplification
from domain.experiment import Experiment

LOW, HIGH = 0.05, 0.95
ATTEMPTS_PER_CORE_S = 1.5e6
"""Attempts that would be made if all failed, per second of a core: measured over the whole catalogue."""
RECOVERY_TOLERANCE = 0.15
_DOWN: dict[Outcome, float] = {"healthy": 0.0, "recovered": 0.0, "undecided": 0.5, "trapped": 1.0}
LIKELY = 0.05
"""An outcome of fewer of the seeds than this is not what a live run should show."""


@dataclass(frozen=True, slots=True)
class LiveRun:
    """The storm under a mitigation on real sockets."""

    directory: str
    valid: bool
    reasons: tuple[str, ...]
    score: Score


@dataclass(frozen=True)
class Row:
    """One mitigation. ``outcomes`` counts seeds of the storm, ``values`` are by the keys of the columns.

    ``recovery_band_s`` are the 5% and 95% quantiles over the seeds that recover.
    """

    mitigation: Mitigation
    experiment: Experiment
    outcomes: Mapping[str, int]
    values: Numbers
    recovery_band_s: tuple[float, float] | None = None
    live: LiveRun | None = None

    @property
    def gets_up(self) -> bool:
        """Whether the service is well again in every seed, or never fell."""
        return set(self.outcomes) <= {"healthy", "recovered"}

    @property
    def agrees(self) -> bool | None:
        """Whether the live run did what the simulated seeds do; None without a valid one."""
        live = self.live
        if live is None or not live.valid:
            return None
        seeds = sum(self.outcomes.values())
        if self.outcomes.get(live.score.outcome, 0) < LIKELY * seeds:
            return False
        if live.score.recovery_s is None or self.recovery_band_s is None:
            return True
        low, high = self.recovery_band_s
        slack = RECOVERY_TOLERANCE * high
        return low - slack <= live.score.recovery_s <= high + slack


@dataclass(frozen=True)
class Matrix:
    """``rows`` in the order of the catalogue; ``experiment`` is the scenario as it came."""

    experiment: Experiment
    seeds: tuple[int, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class _Task:
    """One run: the storm if ``trial`` is None."""

    row: int
    experiment: Experiment
    trial: Trial | None


def expected_cost(
    experiment: Experiment, mitigations: Sequence[Mitigation], seeds: int
) -> tuple[float, float]:
    """About how many seconds on all cores, and bytes of the largest single run if all attempts fail."""
    tasks = _tasks(experiment, mitigations, seeds)
    attempts = sum(expected_attempts(task.experiment) for task in tasks)
    largest = max(expected_bytes(task.experiment) for task in tasks)
    return attempts / (ATTEMPTS_PER_CORE_S * available_cores()), largest


def simulable(
    experiment: Experiment, mitigations: Sequence[Mitigation]
) -> tuple[list[Mitigation], tuple[str, ...]]:
    """The mitigations that can be put on this scenario, and a sentence about each of the others.

    A client that never gives up and does not back off cannot be put before a service that rejects: it would
    ask again and again at one moment.
    """
    able, notes = [], []
    for mitigation in mitigations:
        try:
            run_of(mitigation.apply(experiment))
        except ValueError as error:
            notes.append(f"{mitigation.name} is left out: {error}.")
        else:
            able.append(mitigation)
    return able, tuple(notes)


def runs_needed(experiment: Experiment, mitigations: Sequence[Mitigation], seeds: int) -> int:
    """How many runs ``simulate_matrix`` simulates."""
    return len(_tasks(experiment, mitigations, seeds))


def simulate_matrix(
    experiment: Experiment,
    mitigations: Sequence[Mitigation],
    seeds: int,
    *,
    cores: int | None = None,
    on_done: Callable[[int], None] | None = None,
) -> Matrix:
    """Simulate the storm over ``seeds`` seeds, and the trials, under each mitigation.

    ``on_done`` is told how many runs are finished; what ``simulable`` leaves out must not be asked for.
    Raises ``ValueError`` without seeds or mitigations, or when the capacity is not known.
    """
    if seeds < 1 or not mitigations or experiment.service is None:
        raise ValueError("a matrix needs a seed, a mitigation and a service whose capacity is known")
    tasks = _tasks(experiment, mitigations, seeds)
    storms: list[list[Score]] = [[] for _ in mitigations]
    numbers: list[list[Numbers]] = [[] for _ in mitigations]
    for done, (task, seen) in enumerate(_each(tasks, cores or available_cores()), start=1):
        if isinstance(seen, Score):
            storms[task.row].append(seen)
        else:
            numbers[task.row].append(seen)
        if on_done is not None:
            on_done(done)
    rows = [
        _row(experiment, mitigation, storms[index], numbers[index])
        for index, mitigation in enumerate(mitigations)
    ]
    reference = next((row for row in rows if row.mitigation.name == "none"), None)
    added = tuple(_with_added_latency(row, reference) for row in rows)
    return Matrix(experiment, tuple(seeds_of(experiment, seeds)), added)


def _tasks(experiment: Experiment, mitigations: Sequence[Mitigation], seeds: int) -> list[_Task]:
    tasks = []
    for row, mitigation in enumerate(mitigations):
        mitigated = mitigation.apply(experiment)
        tasks += [_Task(row, mitigated.with_run(seed=s), None) for s in seeds_of(experiment, seeds)]
        for trial in trials():
            made = trial.make(mitigated)
            tasks += [
                _Task(row, made.with_run(seed=s), trial) for s in seeds_of(experiment, trial.seeds(seeds))
            ]
    return tasks


def _each(tasks: Sequence[_Task], cores: int) -> Iterator[tuple[_Task, Score | Numbers]]:
    # Threads are enough: the kernel runs without the GIL.
    with ThreadPoolExecutor(cores) as pool:
        yield from zip(tasks, pool.map(_run, tasks), strict=True)


def _run(task: _Task) -> Score | Numbers:
    run = observe(task.experiment)
    if task.trial is None:
        return score(run.attempts, run.server, task.experiment)
    return task.trial.read(run, task.experiment)


def _row(
    experiment: Experiment, mitigation: Mitigation, storms: Sequence[Score], numbers: Sequence[Numbers]
) -> Row:
    mitigated = mitigation.apply(experiment)
    recoveries = [s.recovery_s for s in storms if s.outcome == "recovered" and s.recovery_s is not None]
    values: Numbers = {
        "down": float(np.mean([_DOWN[s.outcome] for s in storms])),
        "recovery_s": float(np.median(recoveries)) if recoveries else None,
        "storm_answered": _median(s.storm_answered for s in storms),
        "end_goodput": _mean(s.goodput_ratio for s in storms),
        "wasted": _mean(s.wasted for s in storms),
        "storm_refused": _mean(s.watch.refused for s in storms),
        "storm_rejected": _mean(s.watch.rejected for s in storms),
        "storm_amplification": _mean(s.amplification for s in storms),
        "predicted_amplification": failing_amplification(mitigated),
    }
    for key in dict.fromkeys(key for entry in numbers for key in entry):
        values[key] = _mean(entry[key] for entry in numbers if key in entry)
    band = (float(np.quantile(recoveries, LOW)), float(np.quantile(recoveries, HIGH))) if recoveries else None
    return Row(mitigation, mitigated, dict(Counter(s.outcome for s in storms)), values, band)


def _mean(values: Iterator[float | None]) -> float | None:
    """The mean of those that are known."""
    known = _known(values)
    return sum(known) / len(known) if known else None


def _median(values: Iterator[float | None]) -> float | None:
    """The median of those that are known."""
    known = _known(values)
    return float(np.median(known)) if known else None


def _known(values: Iterator[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _with_added_latency(row: Row, reference: Row | None) -> Row:
    """The row with what its healthy latencies are above those without any mitigation."""
    added: Numbers = {}
    for quantile in ("p50", "p99"):
        own = row.values.get(f"latency_{quantile}_s")
        usual = None if reference is None else reference.values.get(f"latency_{quantile}_s")
        added[f"added_{quantile}_s"] = None if own is None or usual is None else own - usual
    return replace(row, values={**row.values, **added})
