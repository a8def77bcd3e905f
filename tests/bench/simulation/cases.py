"""What is measured: which simulator, of which experiment, for how long."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from domain.backoff import FullJitterBackoff, NoBackoff
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.queue_cap import QueueCap
from tests.analysis.fifo import kit

TIPOVER, ORACLE, SIMPY, CIW = "Tipover", "plain Python, a heap", "SimPy", "Ciw"
HEAP = "numba, a binary heap"

PLAIN, JITTER, PROTOCOL, KIT, CAPPED, INSTANT = "plain", "jitter", "protocol", "kit", "capped", "instant"
CALM, RETRYING = "calm", "retrying"
PROTOCOL_S = 690.0
"""The collapse law's own horizon at θ = 5: 90(θ + 1) + 150."""


@dataclass(frozen=True)
class Settings:
    """How long and how often; ``quick`` is for looking whether it works, not for numbers to keep."""

    quick: bool
    rounds: int
    scale: float


FULL = Settings(False, 3, 1.0)
QUICK = Settings(True, 1, 0.1)


@dataclass(frozen=True)
class Load:
    """An experiment, and what else ``simulate`` needs to be told; ``runs`` of it make a measurement."""

    title: str
    experiment: Experiment
    options: dict[str, Any] = field(default_factory=dict)
    runs: int = 1


def single_server(load: float, length_s: float, client: Client) -> Experiment:
    """M/M/1 with μ = 1, so that seconds are mean service times."""
    phases = (Phase("steady", length_s, load),)
    return Experiment("bench", "Bench", client, Demand(1.0, phases), Service(1, 1.0), RunSettings())


_NO_RETRIES = Client(5.0, 1)
_STORM = Client(5.0, 6, FullJitterBackoff(5.0, 40.0))

ENGINE_LOADS: dict[str, Callable[[float], Load]] = {
    PLAIN: lambda s: Load("M/M/1 at ρ = 0.9, no retries", single_server(0.9, 2e6 * s, _NO_RETRIES)),
    JITTER: lambda s: Load("M/M/1 storm, full jitter", single_server(0.9, 4e5 * s, _STORM)),
    PROTOCOL: lambda s: Load(
        "the same in runs of 690 s", single_server(0.9, PROTOCOL_S, _STORM), runs=int(500 * s)
    ),
    INSTANT: lambda s: Load(
        "the storm, retries at once", single_server(0.9, 4e5 * s, replace(_STORM, backoff=NoBackoff()))
    ),
    CAPPED: lambda s: Load(
        "the storm, two waiting places", single_server(0.9, 1e6 * s, _STORM), {"queue_cap": QueueCap(2)}
    ),
    KIT: lambda s: Load("four pods (f2-40, m = 3), full jitter", kit(0.4, watch_s=1e5 * s, jitter=True)),
}
"""By the scale of the measurement: each takes a fraction of a second."""

ENGINE_CASES = (*((load, TIPOVER) for load in ENGINE_LOADS), (JITTER, HEAP))

LONG, SHORT = "long", "short"
SEED_LOADS = {
    LONG: (single_server(0.9, 2e4, _STORM), 100),
    SHORT: (single_server(0.9, PROTOCOL_S, _STORM), 1000),
}
"""An experiment and how many seeds of it, for one core and for two."""

PEER_LOADS = {
    CALM: ("M/M/1 at ρ = 0.7, no retries", 0.7, Client(5.0, 1)),
    RETRYING: (
        "M/M/1 at ρ = 0.2, θ = 2, three attempts with full jitter",
        0.2,
        Client(2.0, 3, FullJitterBackoff(2.0, 16.0)),
    ),
}
"""Title, load, client. Both are stable, with relaxation times short enough to compare averages."""

PEER_LENGTHS_S = {TIPOVER: 2e6, ORACLE: 1e5, SIMPY: 4e4, CIW: 4e4}
"""Scaled to the speed of each, so that a measurement takes about a second."""

PEER_CASES = tuple((CALM, peer) for peer in PEER_LENGTHS_S) + tuple(
    (RETRYING, peer) for peer in PEER_LENGTHS_S if peer != CIW
)


def peer_experiment(load: str, peer: str, scale: float) -> Experiment:
    """What every peer simulates, as long as suits it."""
    _, rate, client = PEER_LOADS[load]
    return single_server(rate, PEER_LENGTHS_S[peer] * scale, client)
