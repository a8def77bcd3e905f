"""What is known of a shot besides what is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.trigger import offer
from analysis.trigger.result import Interval, Method
from analysis.trigger.settling import settling_s
from domain.experiment import Client

CLEARLY_TRAPPED = 1.1
"""A plain service is clearly trapped from this Aρ on."""


@dataclass(frozen=True, slots=True)
class ShotContext:
    """What is known of a shot besides what is seen. Times are those of the lines.

    ``utilization`` and ``arrival_rate_per_s`` as asked; ``baseline_answered`` the share answered before
    the spike. ``method``: where probes go, or "prometheus", with the counter's values so far in
    ``received_counts``.
    """

    client: Client
    utilization: float
    arrival_rate_per_s: float
    capacity_per_s: Interval | None
    spike_start_s: float
    spike_end_s: float
    spike_factor: float
    baseline_answered: float = 1.0
    method: Method = "probes"
    probe_rate_per_s: float = 0.0
    watch_timeouts: float = 40.0
    confidence: float = 0.95
    received_counts: Sequence[tuple[float, float]] = ()

    @property
    def timeout_s(self) -> float:
        """T of the client."""
        return self.client.timeout_s

    @property
    def dose(self) -> float:
        """(kρ − 1)Δ in timeouts."""
        spike_s = self.spike_end_s - self.spike_start_s
        return (self.spike_factor * self.utilization - 1.0) * spike_s / self.timeout_s

    @property
    def settled_s(self) -> float:
        """When the retries of the spike have gone."""
        return self.spike_end_s + settling_s(self.client)

    @property
    def client_amplification(self) -> float:
        """A of the client alone, by the law of its rules; ∞ for an endless one."""
        return offer.law_amplification(self.client, self.arrival_rate_per_s)

    @property
    def traps_a_plain_service(self) -> bool:
        """Whether Aρ of the client alone is clearly above 1, at all capacities of the interval."""
        amplification, capacity = self.client_amplification, self.capacity_per_s
        return amplification * self.utilization >= CLEARLY_TRAPPED and (
            capacity is None or amplification * self.arrival_rate_per_s > capacity.high
        )
