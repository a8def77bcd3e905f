"""Which seeds are simulated, and how many of them a given amount of work allows."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING

from domain.budgets.none import NoBudget
from domain.budgets.ratio import RATIO_RESERVE, RatioBudget
from domain.experiment import Experiment

if TYPE_CHECKING:
    from analysis.result import FluidTrace

MOST_SEEDS = 40
FEWEST_SEEDS = 10
"""Below this many seeds a 5–95% band would be hardly more than the range of what was seen."""
ATTEMPTS_PER_CORE_S = 2e6
"""Attempts that one core simulates, measures and judges in a second."""
_MANY_FAILURES = 10
"""By then a backoff that grows has grown."""
BYTES_PER_ATTEMPT = 140
"""Measured over a run of 15 million attempts, all of which are kept until they have been measured."""


def expected_attempts(experiment: Experiment) -> float:
    """Attempts of one simulated run if all of them fail: what a seed costs at most.

    A job makes at most one a timeout, or, where it is told no at once, one a backoff; clients that never give
    up and do not back off have a budget that runs out, or nobody may tell them no.
    """
    return experiment.live().arrival_plan.expected_jobs * _most_attempts(experiment)


def _most_attempts(experiment: Experiment) -> float:
    client, service = experiment.client, experiment.service
    if client.hedging is not None:
        return client.amplification
    rejected = service is not None and service.admission.may_reject and client.on_rejection == "retry"
    turn_s = client.timeout_s
    if rejected or (client.may_refuse and client.on_refusal == "retry"):
        turn_s = min(turn_s, sum(client.backoff.bounds_s(_MANY_FAILURES)) / 2)
    if turn_s == 0.0:
        if math.isfinite(client.amplification):
            return client.amplification
        turn_s = client.timeout_s
    return min(client.amplification, 1.0 + experiment.duration_s / turn_s)


def fluid_attempts(experiment: Experiment, trace: FluidTrace | None) -> float:
    """Attempts of one simulated run if it goes as the fluid model says; all that are possible without it."""
    if trace is None or trace.t_s.size < 2:
        return expected_attempts(experiment)
    # The rates hold over the step that begins at each moment; the last step has no length.
    sent = float((trace.ingress_per_s[:-1] * (trace.t_s[1:] - trace.t_s[:-1])).sum())
    return min(sent / experiment.run.speedup, expected_attempts(experiment))


def affordable_seeds(experiment: Experiment, attempts: float) -> int:
    """How many seeds ``attempts`` in all allow: ``FEWEST_SEEDS`` to ``MOST_SEEDS``, or 0.

    Also 0 when nothing can be simulated. Of a defended experiment the seeds are the prediction, so it is
    never 0 where they can be.
    """
    if not can_be_simulated(experiment):
        return 0
    seeds = int(min(MOST_SEEDS, attempts / max(expected_attempts(experiment), 1.0)))
    if experiment.is_defended:
        return max(seeds, FEWEST_SEEDS)
    return seeds if seeds >= FEWEST_SEEDS else 0


def can_be_simulated(experiment: Experiment) -> bool:
    """Whether the capacity is known and the simulation knows such a service: all pods behind one queue, and
    of a fleet no cuts of capacity and no defence but one ratio budget of all clients together."""
    service = experiment.service
    if service is None or service.routing != "shared":
        return False
    cut = any(phase.capacity_factor != 1.0 for phase in experiment.demand.phases)
    if experiment.fleet is None:
        return True
    return not cut and not (experiment.is_defended and not _has_ratio_only(experiment))


def _has_ratio_only(experiment: Experiment) -> bool:
    """Whether a ratio budget, as the fast kernel has it, is all that client and service defend with."""
    client = experiment.client
    if not isinstance(client.budget, RatioBudget) or client.budget.reserve != RATIO_RESERVE:
        return False
    unbounded = replace(experiment, client=replace(client, budget=NoBudget()))
    return client.clients == 1 and client.on_refusal == "give-up" and not unbounded.is_defended


def seeds_of(experiment: Experiment, count: int) -> range:
    """The experiment's seed and those that follow it, ``count`` in all."""
    return range(experiment.run.seed, experiment.run.seed + count)


def available_cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def simulation_s(attempts: float, seeds: int, cores: int) -> float:
    """About how long it takes to simulate so many seeds of so many attempts each on so many cores."""
    return seeds * attempts / (ATTEMPTS_PER_CORE_S * min(seeds, cores))


def expected_bytes(experiment: Experiment) -> float:
    """Memory that one seed takes, if all of its attempts fail."""
    return BYTES_PER_ATTEMPT * max(expected_attempts(experiment), 1.0)


def cores_that_fit(bytes_a_run: float) -> int:
    """How many runs of such a size memory holds at a time, up to the cores there are; 0 if not even one."""
    return min(available_cores(), int(available_bytes() / bytes_a_run))


def available_bytes() -> float:
    """Memory that is free."""
    import psutil

    return float(psutil.virtual_memory().available)
