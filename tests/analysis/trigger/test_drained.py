"""A from how long a service stays busy, where a gateway answers the probes."""

from __future__ import annotations

import pytest

from analysis.trigger.observations import Observations
from analysis.trigger.protocol import Protocol
from analysis.trigger.result import TriggerResult
from domain.experiment import Client
from domain.trigger.messages import TICK_EVERY_S
from domain.trigger.plan import Target, TriggerPlan
from tests.analysis.trigger.fifo_service import FifoService, Gateway, SteeredService

TIMEOUT_S, ATTEMPTS, TRIES = 0.4, 3, 2


def run_hidden(amplified: float, seed: int, *, capacity_per_s: float = 150.0) -> TriggerResult:
    """A whole test at Aρ of client and gateway together; the queue is the gateway's secret."""
    client = Client(TIMEOUT_S, ATTEMPTS)
    rho = amplified / (ATTEMPTS * TRIES)
    plan = TriggerPlan(
        "hidden", Target("http://127.0.0.1:1"), client, utilization=rho, seed=seed, capacity_per_s=150.0
    )
    service = FifoService(capacity_per_s, gateway=Gateway(TRIES, 0.15, probes_pass=True))
    made, seen, protocol = SteeredService(service, client, seed=seed), Observations(), Protocol(plan)
    while not protocol.finished:
        for line in made.advance(made.now_s + TICK_EVERY_S):
            seen.take(line)
        for command in protocol.next(seen, seen.now_s):
            made.obey(command)
    return protocol.result(seen)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(("amplified", "verdict"), [(0.75, "recovers"), (1.4, "trapped")])
def test_the_time_to_drain_tells_what_a_gateway_hides(amplified: float, verdict: str, seed: int) -> None:
    """A within 15%, its interval holds it, and the shot says how it knows and how soon."""
    result = run_hidden(amplified, seed)
    shot = result.shots[0]
    assert result.verdict == verdict
    assert shot.method == "drain"
    assert shot.amplification is not None
    assert shot.amplification.value == pytest.approx(ATTEMPTS * TRIES, rel=0.15)
    assert shot.amplification.low < ATTEMPTS * TRIES < shot.amplification.high
    assert shot.decided_s is not None
    assert any("hides the queue" in said for said in shot.evidence)
    assert result.left_healthy is True


def test_at_the_edge_it_does_not_tell() -> None:
    assert {run_hidden(1.0, seed).verdict for seed in (1, 2, 3)} == {"undecided"}
