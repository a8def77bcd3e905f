"""What the target is started with, and what ``PUT /control`` may change while it runs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from domain.admission import Admission
from domain.errors import ConfigurationError, Fault
from domain.experiment import MAX_PODS
from domain.routing import Routing
from domain.service_time import ServiceTime

Mode = Literal["sleep", "spin"]

MAX_SPIN_PODS = 256
"""A pod that spins is a thread; of more the machine is busy with nothing but their turns."""
MAX_LATE_S = 10.0
"""How far in the past a change may lie: work that has been answered since then cannot be taken back."""


@dataclass(frozen=True, slots=True)
class TargetSettings:
    """How the target starts: ``pods`` of ``rate_per_pod`` attempts/s each, ``port`` 0 for any free one.

    ``admission`` is its defences, with times in seconds of the clock; ``backlog`` is the listen backlog,
    which the kernel bounds by somaxconn. ``dead_time_s`` is how long a pod ordered by ``PUT /scale`` takes
    until it serves; ``routing`` is one queue before all pods, or how requests come to those of the pods.
    """

    pods: int
    rate_per_pod: float
    service_time: ServiceTime = field(default_factory=ServiceTime)
    seed: int = 1
    mode: Mode = "sleep"
    host: str = "127.0.0.1"
    port: int = 0
    backlog: int = 4096
    admission: Admission = field(default_factory=Admission)
    dead_time_s: float = 0.0
    routing: Routing = "shared"

    def __post_init__(self) -> None:
        faults = [
            *_faults_in_pods(self.pods, most=most_pods(self.mode)),
            *_faults_in_rate(self.rate_per_pod),
            *_faults_unless(isinstance(self.seed, int) and self.seed >= 0, "seed", "at least 0", self.seed),
            *_faults_unless(self.mode in ("sleep", "spin"), "mode", "`sleep` or `spin`", self.mode),
            *_faults_unless(0 <= self.port <= 65535, "port", "from 0 to 65535", self.port),
            *_faults_unless(self.backlog >= 1, "backlog", "at least 1", self.backlog),
            *_faults_unless(
                self.mode != "spin" or self.admission.degradation is None,
                "degradation",
                "none in spin mode, whose pods are as fast as the machine lets them",
                self.admission.degradation,
            ),
            *_faults_unless(
                _finite(self.dead_time_s) and self.dead_time_s >= 0,
                "dead_time_s",
                "a finite number of seconds, at least 0",
                self.dead_time_s,
            ),
            *_faults_in_routing(self.routing, self.mode),
        ]
        if faults:
            raise ConfigurationError("the target cannot be started", faults)


@dataclass(frozen=True, slots=True)
class CapacityChange:
    """New values for what is named; None keeps what is there. ``capacity_factor`` 0 is an outage."""

    pods: int | None = None
    rate_per_pod: float | None = None
    capacity_factor: float | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A change and the absolute monotonic second at which it takes effect."""

    at_s: float
    change: CapacityChange


def most_pods(mode: str) -> int:
    """How many pods a target of this mode can have."""
    return MAX_SPIN_PODS if mode == "spin" else MAX_PODS


def parse_order(body: object, now_s: float, most: int = MAX_PODS) -> Order | list[Fault]:
    """The order that a ``PUT /control`` body gives, effective now unless it says when; or all its faults."""
    if not isinstance(body, Mapping):
        return [Fault("control", "must be a JSON object", body)]
    known = {"pods", "rate_per_pod", "capacity_factor", "at_monotonic_s"}
    faults = [
        Fault(str(key), f"is not one of {', '.join(sorted(known))}", body[key])
        for key in body
        if key not in known
    ]
    if not faults and not known.intersection(body) - {"at_monotonic_s"}:
        faults.append(
            Fault("control", "must name at least one of pods, rate_per_pod, capacity_factor", dict(body))
        )
    if "pods" in body:
        faults += _faults_in_pods(body["pods"], most=most)
    if "rate_per_pod" in body:
        faults += _faults_in_rate(body["rate_per_pod"])
    factor = body.get("capacity_factor", 1.0)
    faults += _faults_unless(
        _finite(factor) and factor >= 0, "capacity_factor", "a number, at least 0", factor
    )
    at = body.get("at_monotonic_s", now_s)
    faults += _faults_unless(
        _finite(at) and at >= now_s - MAX_LATE_S,
        "at_monotonic_s",
        f"a number, at most {MAX_LATE_S:g} s in the past (it is {now_s:.3f} now)",
        at,
    )
    return faults or Order(float(at), _change(body))


def parse_scale(body: object, most: int = MAX_PODS) -> int | list[Fault]:
    """The number of pods that a ``PUT /scale`` body orders; or all its faults."""
    if not isinstance(body, Mapping):
        return [Fault("scale", "must be a JSON object", body)]
    faults = [Fault(str(key), "is not replicas", body[key]) for key in body if key != "replicas"]
    if "replicas" not in body:
        return [*faults, Fault("replicas", "must be given", None)]
    faults += _faults_in_pods(body["replicas"], "replicas", "", most=most)
    return faults or int(body["replicas"])


def _change(body: Mapping[str, Any]) -> CapacityChange:
    rate, factor = body.get("rate_per_pod"), body.get("capacity_factor")
    return CapacityChange(
        pods=body.get("pods"),
        rate_per_pod=None if rate is None else float(rate),
        capacity_factor=None if factor is None else float(factor),
    )


def _finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


def _faults_unless(holds: bool, field: str, rule: str, value: object) -> list[Fault]:
    return [] if holds else [Fault(field, f"must be {rule}", value)]


def _faults_in_pods(
    value: object,
    field: str = "pods",
    hint: str = " (an outage is capacity_factor 0)",
    *,
    most: int = MAX_PODS,
) -> list[Fault]:
    whole = isinstance(value, int) and not isinstance(value, bool)
    holds = whole and 1 <= value <= most  # type: ignore[operator]
    return _faults_unless(holds, field, f"a whole number from 1 to {most}{hint}", value)


def _faults_in_routing(routing: str, mode: str) -> list[Fault]:
    kinds = get_args(Routing)
    if routing not in kinds:
        return _faults_unless(False, "routing", f"one of {', '.join(kinds)}", routing)
    rule = "`shared` in spin mode, whose threads take their work from one queue"
    return _faults_unless(mode != "spin" or routing == "shared", "routing", rule, routing)


def _faults_in_rate(value: object) -> list[Fault]:
    holds = _finite(value) and value > 0  # type: ignore[operator]
    return _faults_unless(holds, "rate_per_pod", "a number over 0", value)
