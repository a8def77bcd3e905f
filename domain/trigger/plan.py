"""A trigger test as one frozen value. All times are seconds of the wall clock."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from domain.experiment import Client
from domain.request_mix import RequestMix
from domain.trigger.assertions import Assertions
from domain.trigger.guards_plan import Guards


@dataclass(frozen=True, slots=True)
class Target:
    """Where the load goes: ``url`` is a base URL without path; ``address`` is what it resolved to when it was
    checked, and what is connected to (None: not resolved yet). ``ca_file`` is a bundle to trust instead of
    the system's. ``probe_url`` is where patient probes go instead, past a gateway."""

    url: str
    address: str | None = None
    ca_file: str | None = None
    probe_url: str | None = None
    probe_address: str | None = None


TRIGGERING_DOSE = 1.0
"""A spike that leaves no more than one timeout of queue is no trigger (seed 002, Proposition 8)."""
CONFIDENCES = (0.5, 0.999)


@dataclass(frozen=True, slots=True)
class Probing:
    """Patient probes: requests that wait up to ``patience_s``, ``rate_per_s`` of them (None: four a timeout,
    at most 3% of the capacity)."""

    rate_per_s: float | None = None
    patience_s: float = 60.0
    most_open: int = 500

    def __post_init__(self) -> None:
        _positive(self, "rate_per_s", "patience_s", "most_open")


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What is never exceeded, whatever the plan: the generator itself stops at it.

    ``rate_per_s``: attempts of any kind in any one second. ``attempts``: in all. ``duration_s``: of the whole
    test, the rescue included."""

    rate_per_s: float = 5000.0
    attempts: int = 200_000
    duration_s: float = 600.0

    def __post_init__(self) -> None:
        _positive(self, "rate_per_s", "attempts", "duration_s")


@dataclass(frozen=True, slots=True)
class TriggerPlan:
    """One trigger test.

    ``utilization`` ρ: first attempts over capacity, asked for. ``capacity_per_s`` C: None to find it.
    ``dose``: (kρ − 1)Δ in timeouts. ``spike_s`` Δ: None for one timeout. ``confidence``: of the verdict.
    ``watch_timeouts``: give up undecided after so many timeouts. ``rescue_s``: longest rescue.
    ``title``: one line for people. ``find_threshold``: bisect the utilization afterwards. ``locustfile``: the
    user's own client, which is then what is sent.
    """

    name: str
    target: Target
    client: Client
    mix: RequestMix = field(default_factory=RequestMix)
    utilization: float = 0.5
    capacity_per_s: float | None = None
    dose: float = 2.0
    spike_s: float | None = None
    baseline_timeouts: float = 6.0
    watch_timeouts: float = 40.0
    rescue_s: float = 120.0
    confidence: float = 0.95
    probing: Probing = field(default_factory=Probing)
    ceiling: Ceiling = field(default_factory=Ceiling)
    seed: int = 1
    guards: Guards = field(default_factory=Guards)
    assertions: Assertions = field(default_factory=Assertions)
    find_threshold: bool = False
    locustfile: str | None = None
    title: str = ""

    def __post_init__(self) -> None:
        _positive(self, "capacity_per_s", "spike_s", "baseline_timeouts", "watch_timeouts", "rescue_s")
        if not 0 < self.utilization < 1:
            raise ValueError(f"utilization: must be above 0 and below 1 (got {self.utilization!r})")
        if not self.dose > TRIGGERING_DOSE:
            raise ValueError(f"dose: {DOSE_RULE} (got {self.dose!r})")
        low, high = CONFIDENCES
        if not low <= self.confidence <= high:
            raise ValueError(f"confidence: must be from {low:g} to {high:g} (got {self.confidence!r})")


DOSE_RULE = f"must be above {TRIGGERING_DOSE:g} timeout, or the spike is no trigger"


def _positive(value: object, *names: str) -> None:
    """Raise ``ValueError`` for the first of these fields that is given and not a finite number above 0."""
    for name in names:
        number = getattr(value, name)
        if number is not None and not (number > 0 and math.isfinite(number)):
            raise ValueError(f"{name}: must be a finite number above 0 (got {number!r})")
