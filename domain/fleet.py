"""A fleet of pods that an autoscaler sizes: what it sees, how late, and how long a pod takes to start.

Source: seed 002 ("Three Signals", Corollaries 4 and 5); the algorithm is ``domain.autoscaler``'s.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from domain.autoscaler import SYNC_PERIOD_S, TOLERANCE, Autoscaler, History, Pods, by_total, by_utilization

Signal = Literal["cpu", "ingress", "first"]
"""``cpu``: work the pods do, abandoned or not, over their requests; ``ingress``: every attempt sent to
the service per second; ``first``: first attempts per second, what users ask for."""


@dataclass(frozen=True, slots=True)
class Fleet:
    """An autoscaled fleet. It begins with the pods of the experiment's service, all ready.

    Every ``sync_period_s`` the autoscaler reads each of ``signals`` as a mean over a window that ended
    ``metric_lag_s`` ago, ``cpu_window_s`` or ``rate_window_s`` long, never 0 (metrics-server and a Prometheus
    rate over a minute differ), and the largest proposal wins. Pods it orders serve after
    ``dead_time_s``; pods it gives up stop at once, those not ready yet first. The target holds for all
    signals: of a pod's request for CPU, of a pod's rate for the others. A saturated pod uses
    ``limit_over_request`` (ℓ/r) of its request, so CPU multiplies the ready pods by at most ℓ/(r·u*) in one
    round. A pod counts for CPU once a whole window has passed
    since it became ready.
    """

    signals: tuple[Signal, ...]
    target_utilization: float = 0.5
    dead_time_s: float = 90.0
    sync_period_s: float = SYNC_PERIOD_S
    metric_lag_s: float = 0.0
    cpu_window_s: float = 30.0
    rate_window_s: float = 60.0
    limit_over_request: float = 1.0
    tolerance: float = TOLERANCE
    autoscaler: Autoscaler = field(default_factory=Autoscaler)

    def __post_init__(self) -> None:
        if not self.signals:
            raise ValueError("signals: must name at least one (got none)")
        if len(set(self.signals)) < len(self.signals):
            raise ValueError(f"signals: must differ from each other (got {', '.join(self.signals)})")
        positive = (
            "target_utilization",
            "sync_period_s",
            "cpu_window_s",
            "rate_window_s",
            "limit_over_request",
        )
        for name in positive:
            if not 0.0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}: must be positive and finite (got {getattr(self, name)!r})")
        highest = max(1.0, self.limit_over_request)
        if self.target_utilization > highest:
            raise ValueError(
                f"target_utilization: must be at most {highest:g}, a share and no percentage "
                f"(got {self.target_utilization!r})"
            )
        if self.tolerance >= 1.0:
            raise ValueError(
                f"tolerance: must be below 1, a share and no percentage (got {self.tolerance!r})"
            )
        for name in ("dead_time_s", "metric_lag_s", "tolerance"):
            if not 0.0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}: must be finite and at least 0 (got {getattr(self, name)!r})")

    def scaled(self, factor: float) -> Fleet:
        """The same fleet in another unit of time."""
        return replace(
            self,
            dead_time_s=self.dead_time_s * factor,
            sync_period_s=self.sync_period_s * factor,
            metric_lag_s=self.metric_lag_s * factor,
            cpu_window_s=self.cpu_window_s * factor,
            rate_window_s=self.rate_window_s * factor,
            autoscaler=self.autoscaler.scaled(factor),
        )

    def window_s(self, signal: Signal) -> float:
        """The window a signal is averaged over."""
        return self.cpu_window_s if signal == "cpu" else self.rate_window_s

    def proposals(
        self, pods: Pods, readings: Mapping[Signal, float | None], rate_per_pod: float
    ) -> list[int | None]:
        """What each signal asks for. ``readings``: the used share of ready pods for CPU, attempts/s for
        the others; None when there is no metric. ``rate_per_pod`` is what one pod serves per second."""
        return [self._proposal(signal, pods, readings[signal], rate_per_pod) for signal in self.signals]

    def order(
        self,
        pods: Pods,
        readings: Mapping[Signal, float | None],
        rate_per_pod: float,
        history: History,
        now_s: float,
    ) -> tuple[int, History]:
        """The replica count to set now, and what to remember."""
        return self.autoscaler.order(pods.total, self.proposals(pods, readings, rate_per_pod), history, now_s)

    def _proposal(self, signal: Signal, pods: Pods, reading: float | None, rate_per_pod: float) -> int | None:
        if reading is None:
            return None
        if signal == "cpu":
            used = reading * self.limit_over_request
            return by_utilization(pods, used, self.target_utilization, tolerance=self.tolerance)
        return by_total(pods, reading, self.target_utilization * rate_per_pod, tolerance=self.tolerance)


def specimen(*signals: Signal, target_utilization: float = 0.5, max_pods: float = math.inf) -> Fleet:
    """The fleet that reproduces seed 002's figures for its autoscaled service.

    The seed gives the dead time (90 s), the growth factor (2 at a 50% target) and a five-minute
    stabilization window; it does not give the sync period, the metric windows, the tolerance or a limit
    on scale-ups. Kubernetes' 15 s, windows of 30 s (CPU) and 60 s (rates), no tolerance and no limit
    reproduce its table of three signals within 6%.
    """
    return Fleet(
        signals,
        target_utilization=target_utilization,
        tolerance=0.0,
        autoscaler=Autoscaler(max_pods=max_pods),
    )
