"""The fluid model over a whole experiment."""

from __future__ import annotations

import math

import numpy as np

from analysis.fluid.fleet import advance_fleet
from analysis.fluid.run import Rules, Run
from analysis.result import FluidTrace
from domain.degradation import NO_DEGRADATION, Degradation
from domain.experiment import Experiment
from domain.fleet import Fleet
from domain.queue_cap import QueueCap


def fluid_trace(
    experiment: Experiment,
    *,
    retry_budget: float | None = None,
    queue_cap: QueueCap | None = None,
    degradation: Degradation = NO_DEGRADATION,
    fleet: Fleet | None = None,
) -> FluidTrace:
    """Run the fluid model over the whole experiment; times in scenario seconds.

    ``retry_budget`` is β: retries per second are capped at β times the first-attempt rate, and a
    refused retry ends its job (seed 002's rule). ``queue_cap`` bounds the attempts in the system to
    its places plus one in service per pod; a retry of a rejected attempt comes no sooner than the next
    step of the grid. ``degradation`` lowers the service rate with the attempts in the system.
    ``fleet``, by default the experiment's own, sizes the service, which begins with its own number of
    pods; without one they stay.
    ``goodput_per_s`` is counted when the answer arrives. Raises ``ValueError`` when the capacity is not
    known, and for an endless client that retries rejections at once without backoff;
    ``ConfigurationError``, before anything large is made, for what would take seconds or a gigabyte.
    """
    service = experiment.service
    if service is None:
        raise ValueError("service: must be known for the fluid model (got None)")
    fleet = experiment.fleet if fleet is None else fleet
    rules = Rules(retry_budget, queue_cap, degradation)
    if fleet is None:
        run = Run(experiment, service, rules, math.inf)
        run.advance(0, run.steps, np.full(run.steps, float(service.pods)))
    else:
        run = Run(experiment, service, rules, fleet.sync_period_s)
        advance_fleet(run, fleet, service.pods, service.rate_per_pod)
    return run.trace()
