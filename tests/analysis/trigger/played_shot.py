"""One shot against a made-up service, judged at every other tick as a protocol would."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval, Method
from analysis.trigger.watch import Judgement, ShotContext, judge
from domain.experiment import Client
from domain.trigger.messages import TICK_EVERY_S, Load, Probe
from domain.trigger.spike import spike_for
from tests.analysis.trigger.fifo_service import FifoService, SteeredService

LOOK_EVERY_S = 2 * TICK_EVERY_S
PROBES_A_TIMEOUT, PROBES_OF_CAPACITY = 4.0, 0.03


@dataclass(frozen=True)
class Played:
    """``decided`` is the time from the end of the spike to the verdict, in timeouts."""

    judgement: Judgement
    decided: float
    seen: Observations
    shot: ShotContext
    service: SteeredService


def play(
    service: FifoService,
    client: Client,
    utilization: float,
    *,
    dose: float = 2.0,
    seed: int = 1,
    method: Method = "probes",
    watch_timeouts: float = 40.0,
    given: float | None = None,
) -> Played:
    """Baseline of six timeouts, the spike of ``dose``, and the watch until the judge has a verdict.

    ``given``: the capacity that is thought, if it is not the service's.
    """
    capacity, timeout_s = given or service.capacity_per_s, client.timeout_s
    rate, steered, seen = utilization * capacity, SteeredService(service, client, seed=seed), Observations()
    probes = min(PROBES_A_TIMEOUT / timeout_s, PROBES_OF_CAPACITY * capacity)
    spike = spike_for(utilization, dose, timeout_s)
    start = 6.0 * timeout_s
    end = start + spike.duration_s

    def advance(until_s: float) -> None:
        for line in steered.advance(until_s):
            seen.take(line)

    steered.obey(Probe(probes))
    steered.obey(Load(rate, "baseline"))
    advance(start)
    steered.obey(Load(rate * spike.factor, "spike"))
    advance(end)
    steered.obey(Load(rate, "watch"))
    shot = ShotContext(
        client=client,
        utilization=utilization,
        arrival_rate_per_s=rate,
        capacity_per_s=Interval(capacity, capacity, capacity),
        spike_start_s=start,
        spike_end_s=end,
        spike_factor=spike.factor,
        method=method,
        probe_rate_per_s=probes,
        watch_timeouts=watch_timeouts,
        received_counts=steered.received,
    )
    looks = 0
    while True:
        looks += 1
        advance(end + looks * LOOK_EVERY_S)
        judgement = judge(seen, shot)
        if judgement.verdict is not None:
            return Played(judgement, (seen.now_s - end) / timeout_s, seen, shot, steered)
