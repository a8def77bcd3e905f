"""How many sockets a plan needs, worked out before anything is sent.

An attempt holds one descriptor and one local port while it is open, so outstanding attempts are the
attempt rate times the timeout. A connection thrown away on a timeout leaves its port in TIME_WAIT.
"""

from __future__ import annotations

from dataclasses import dataclass

from domain.errors import Fault
from domain.experiment import Experiment


@dataclass(frozen=True, slots=True)
class SocketLimits:
    """What the machine offers: descriptors a process may hold, local ports, how long a port rests."""

    descriptors: int
    ports: int
    port_rest_s: float


@dataclass(frozen=True, slots=True)
class SocketNeed:
    """What a plan needs at its worst: every attempt times out."""

    jobs_per_s: float
    attempts_per_s: float
    timeout_s: float
    workers: int

    @property
    def open_attempts(self) -> float:
        """Attempts open at once over all workers: rate × timeout."""
        return self.attempts_per_s * self.timeout_s

    @property
    def arithmetic(self) -> str:
        """The sum, to show to whoever is refused."""
        return (
            f"{self.jobs_per_s:g} jobs/s × {self.attempts_per_s / self.jobs_per_s:g} attempts "
            f"= {self.attempts_per_s:g} attempts/s at worst; × {self.timeout_s:g} s timeout "
            f"= {self.open_attempts:.0f} open at once"
        )


DESCRIPTOR_RESERVE = 200
"""Descriptors kept for libraries, logs, pipes and the trace."""


def worst_need(experiment: Experiment, workers: int = 1) -> SocketNeed | None:
    """The worst case of a live experiment: peak arrivals, every one making all its attempts.

    An endless client is counted by the attempts it can make before the run ends; the attempts of one that
    hedges are its copies.
    """
    live = experiment.live()
    client = live.client
    peak = max((s.rate_per_s for s in live.arrival_plan.segments), default=0.0)
    if peak <= 0:
        return None
    endless = 1 + live.duration_s / client.timeout_s
    attempts = min(client.max_attempts, endless) if client.hedging is None else client.hedging.copies
    return SocketNeed(peak, peak * attempts, client.timeout_s, workers)


def faults_in_need(need: SocketNeed, limits: SocketLimits) -> list[Fault]:
    """Which limits the plan breaks, each with the arithmetic."""
    faults = []
    per_worker = need.open_attempts / need.workers + DESCRIPTOR_RESERVE
    if per_worker > limits.descriptors:
        faults.append(
            Fault(
                "file descriptors",
                f"{need.arithmetic}; over {need.workers} worker(s) and with {DESCRIPTOR_RESERVE} in reserve "
                f"that is {per_worker:.0f} a process, over the limit of {limits.descriptors} "
                "(raise `ulimit -n`, add workers, shorten the timeout or raise the speed-up)",
                round(per_worker),
            )
        )
    ports = need.attempts_per_s * (need.timeout_s + limits.port_rest_s)
    if ports > limits.ports:
        faults.append(
            Fault(
                "local ports",
                f"{need.arithmetic}; a port rests {limits.port_rest_s:g} s after a timeout, so "
                f"{ports:.0f} ports are needed and {limits.ports} exist",
                round(ports),
            )
        )
    return faults
