"""A trigger test as one frozen value. All times are seconds of the wall clock."""

from __future__ import annotations

from dataclasses import dataclass, field

from domain.experiment import Client
from domain.request_mix import RequestMix


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


@dataclass(frozen=True, slots=True)
class Probing:
    """Patient probes: requests that wait up to ``patience_s``, ``rate_per_s`` of them (None: four a timeout,
    at most 3% of the capacity)."""

    rate_per_s: float | None = None
    patience_s: float = 60.0
    most_open: int = 500


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What is never exceeded, whatever the plan: the generator itself stops at it.

    ``rate_per_s``: attempts of any kind in any one second. ``attempts``: in all. ``duration_s``: of the whole
    test, the rescue included."""

    rate_per_s: float = 2000.0
    attempts: int = 200_000
    duration_s: float = 600.0


@dataclass(frozen=True, slots=True)
class TriggerPlan:
    """One trigger test.

    ``utilization`` ρ: first attempts over capacity, asked for. ``capacity_per_s`` C: None to find it.
    ``dose``: (kρ − 1)Δ in timeouts. ``spike_s`` Δ: None for one timeout. ``confidence``: of the verdict.
    ``watch_timeouts``: give up undecided after so many timeouts. ``rescue_s``: longest rescue.
    """

    name: str
    target: Target
    client: Client
    mix: RequestMix = RequestMix()
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
