"""The experiment as JSON, for run directories and for handing it from process to process."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from domain.admission import Admission
from domain.backoff import Backoff, ExponentialBackoff, FixedBackoff, FullJitterBackoff, NoBackoff
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service
from domain.service_time import ServiceTime

_BACKOFFS: dict[str, type[Backoff]] = {
    kind.kind: kind for kind in (NoBackoff, FixedBackoff, ExponentialBackoff, FullJitterBackoff)
}


def to_json(experiment: Experiment) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``from_json`` turns back into an equal experiment."""
    data = asdict(experiment)
    client = experiment.client
    data["client"] = {
        "timeout_s": client.timeout_s,
        "max_attempts": "inf" if math.isinf(client.max_attempts) else int(client.max_attempts),
        "backoff": {"kind": client.backoff.kind, **asdict(client.backoff)},  # type: ignore[call-overload]
    }
    data["demand"]["phases"] = list(data["demand"]["phases"])
    return data


def from_json(data: dict[str, Any]) -> Experiment:
    """The experiment that ``to_json`` wrote."""
    client, demand = dict(data["client"]), dict(data["demand"])
    backoff = dict(client.pop("backoff"))
    return Experiment(
        name=data["name"],
        title=data["title"],
        client=Client(
            timeout_s=client["timeout_s"],
            max_attempts=float(client["max_attempts"]),
            backoff=_BACKOFFS[backoff.pop("kind")](**backoff),
        ),
        demand=Demand(
            arrival_rate_per_s=demand["arrival_rate_per_s"],
            phases=tuple(Phase(**phase) for phase in demand["phases"]),
            arrivals=demand["arrivals"],
        ),
        service=_service(data["service"]) if data["service"] else None,
        run=RunSettings(**data["run"]),
        expect=Expectation(**data["expect"]) if data["expect"] else None,
    )


def _service(data: dict[str, Any]) -> Service:
    service_time = data["service_time"]
    if isinstance(service_time, str):  # as runs before 0.2 recorded it
        service_time = {"kind": service_time}
    admission = Admission(**data["admission"]) if "admission" in data else Admission()
    return Service(data["pods"], data["rate_per_pod"], ServiceTime(**service_time), admission)
