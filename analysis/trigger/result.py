"""What a trigger test found, as values: everything that pages, JSON and CI say is one of these."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Word = Literal["not vulnerable", "recovers", "trapped", "undecided"]
Method = Literal["probes", "direct probes", "prometheus", "threshold", "drain", "client", "none"]
"""How the amplification was measured: by patient probes through the same door, by probes past the gateway
(``--probe-url``), by what a Prometheus query says the service received, as one over the highest utilization
at which it came back (bisected), by how long it took to drain,
as what the client alone does, or not at all."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its interval at the plan's confidence."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Interval:
        """All three in another unit."""
        return Interval(self.value * factor, self.low * factor, self.high * factor)


@dataclass(frozen=True, slots=True)
class PhaseDone:
    """A stretch of the test as it was: capacity, baseline, spike, watch, rescue, check."""

    name: str
    start_s: float
    end_s: float
    rate_per_s: float
    """First attempts asked for."""
    said: str = ""
    """What came of it, in a sentence."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One push at one utilization, and what the service did."""

    utilization: float
    dose: float
    spike_end_s: float
    verdict: Word
    decided_s: float | None
    """Seconds from the end of the spike to the verdict."""
    recovered_s: float | None
    """Seconds from the end of the spike to the last failing attempt, if it came back by itself."""
    amplified_utilization: Interval | None
    """Aρ while failing."""
    amplification: Interval | None
    method: Method
    predicted_recovery_s: float | None
    evidence: tuple[str, ...]
    rescued_s: float | None = None
    """Seconds from the start of the rescue until it answered again; None if no rescue was needed."""
    deepest_wait_s: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing that would change the finding, with its number."""

    change: str
    """For example "at most 1 retry" or "a retry budget of 10%"."""
    threshold: float | None
    """The highest utilization at which the service would come back then."""
    why: str


@dataclass(frozen=True, slots=True)
class TriggerResult:
    """The finding. ``shots``: one, or several when the threshold was looked for; the first is at the asked
    utilization and the verdict is its. ``threshold``: the highest utilization at which the service comes
    back, 1/A (at most 1), or bisected."""

    name: str
    verdict: Word
    slowly: bool
    """For ``recovers``: whether it takes more than 20 timeouts."""
    confidence: float
    capacity_per_s: Interval | None
    capacity_given: bool
    client_amplification: float
    shots: tuple[Shot, ...]
    threshold: Interval | None
    threshold_method: Method
    advice: tuple[Advice, ...]
    phases: tuple[PhaseDone, ...]
    attempts_sent: int
    left_healthy: bool | None
    """None: nothing was sent, or the test ended before it could be seen."""
    invalid_reasons: tuple[str, ...] = ()
    safety_stop: str | None = None
    """Why the test stopped itself before the verdict, if it did."""
    interrupted_by: str | None = None
    warnings: tuple[str, ...] = ()
    capacity_after_per_s: Interval | None = None
    """Measured again at the end, if it had been found: what changed meanwhile changes A with it."""
    error_reasons: Mapping[str, int] = field(default_factory=dict)
    """Why attempts of any kind ended as errors (not: timeouts, or statuses), and how many did."""
