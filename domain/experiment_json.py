"""The experiment as JSON, for run directories and for handing it, or a part of it, to another process."""

from __future__ import annotations

from typing import Any

from domain.admission import Admission
from domain.backoff import Backoff
from domain.errors import ConfigurationError, Fault
from domain.experiment import Experiment
from domain.fleet import Fleet
from domain.rule import Rule
from domain.value_json import BACKOFFS, BREAKERS, BUDGETS, LIMITS, decoded, encoded

__all__ = [
    "BACKOFFS",
    "BREAKERS",
    "BUDGETS",
    "LIMITS",
    "admission_from_json",
    "admission_to_json",
    "fleet_from_json",
    "fleet_to_json",
    "from_json",
    "rule_to_json",
    "to_json",
]


def to_json(experiment: Experiment) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``from_json`` turns back into an equal experiment."""
    data: dict[str, Any] = encoded(experiment)
    return data


def from_json(data: dict[str, Any]) -> Experiment:
    """The experiment that ``to_json`` wrote, in this version or an older one.

    Raises ``ValueError`` that names everything that cannot be one.
    """
    faults: list[Fault] = []
    experiment: Experiment = decoded(Experiment, _in_todays_words(data), "", faults)
    if not faults and not experiment.duration_s > 0:
        faults.append(Fault("demand.phases", "must last longer than 0 s in all", experiment.duration_s))
    if faults:
        raise ValueError("; ".join(map(str, faults)))
    return experiment


def rule_to_json(rule: Backoff | Rule) -> dict[str, Any]:
    """A backoff, budget, breaker or limit: its kind, and its settings."""
    data: dict[str, Any] = encoded(rule)
    return data


def admission_to_json(admission: Admission) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``admission_from_json`` turns back into an equal one."""
    data: dict[str, Any] = encoded(admission)
    return data


def admission_from_json(data: object) -> Admission:
    """The defences that ``admission_to_json`` wrote; raises ``ConfigurationError`` with all faults."""
    faults: list[Fault] = []
    admission: Admission = decoded(Admission, data, "admission", faults)
    if faults:
        raise ConfigurationError("these are no defences of a service", faults)
    return admission


def fleet_to_json(fleet: Fleet) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``fleet_from_json`` turns back into an equal one."""
    data: dict[str, Any] = encoded(fleet)
    return data


def fleet_from_json(data: object) -> Fleet:
    """The fleet that ``fleet_to_json`` wrote; raises ``ConfigurationError`` with all faults."""
    faults: list[Fault] = []
    fleet: Fleet = decoded(Fleet, data, "fleet", faults)
    if faults:
        raise ConfigurationError("this is no autoscaled fleet", faults)
    return fleet


def _in_todays_words(data: object) -> object:
    """What older versions wrote otherwise: the kind of service time alone, the discipline in the service."""
    if not isinstance(data, dict) or not isinstance(data.get("service"), dict):
        return data
    service = dict(data["service"])
    if isinstance(service.get("service_time"), str):
        service["service_time"] = {"kind": service["service_time"]}
    if "discipline" in service:
        service.setdefault("admission", {"discipline": service["discipline"]})
        del service["discipline"]
    return {**data, "service": service}
