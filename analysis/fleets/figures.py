"""The figures of a fleet, predicted or measured, and the pods its demand needs."""

from __future__ import annotations

import math

from analysis.fleets.pod_path import PodPath
from analysis.result import Values
from domain.experiment import Experiment

FLEET_QUANTITIES = (
    "peak_pods",
    "settled_pods",
    "capacity_met_s",
    "over_provisioning",
    "lost_s",
    "pod_seconds",
)
"""Keys of ``QUANTITIES`` that only a fleet has."""


def pods_needed(experiment: Experiment) -> int:
    """N* = ⌈λ/(u*·μ)⌉: pods that carry the demand at the end of the watch at the target utilization.

    Raises ``ValueError`` without a fleet or a known service. Source: seed 002 Definition 9.
    """
    service, fleet = experiment.service, experiment.fleet
    if service is None or fleet is None:
        raise ValueError("fleet, service: both must be known (got None)")
    wanted = experiment.watched_rate_per_s / (fleet.target_utilization * service.rate_per_pod)
    return max(1, math.ceil(wanted - 1e-9 * max(1.0, wanted)))


def fleet_values(experiment: Experiment, path: PodPath | None, lost_jobs: float | None) -> Values:
    """Every key of ``FLEET_QUANTITIES``; None where it does not apply.

    ``path`` is in scenario time; ``lost_jobs`` are those due in the watch and not answered in it, in jobs
    per second of demand times scenario seconds. What counts from the step is None where demand does not
    step up for good.
    """
    values: Values = dict.fromkeys(FLEET_QUANTITIES)
    service, step_s = experiment.service, experiment.step_s
    if path is None or service is None or experiment.fleet is None:
        return values
    start, end = experiment.watch
    begin = start if step_s is not None else 0.0
    most = path.most(begin, end)
    values["peak_pods"] = most
    values["settled_pods"] = path.at(end)
    values["pod_seconds"] = path.pod_seconds(begin, end)
    if step_s is None:
        return values
    rate = experiment.watched_rate_per_s
    met = path.first_at_least(rate / service.rate_per_pod, step_s, end)
    values["capacity_met_s"] = None if met is None else met - step_s
    values["over_provisioning"] = most / pods_needed(experiment)
    values["lost_s"] = None if lost_jobs is None or rate <= 0 else max(0.0, lost_jobs) / rate
    return values
