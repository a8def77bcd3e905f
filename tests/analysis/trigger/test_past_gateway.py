"""Aρ behind a layer that tries again on its own, from probes past it: exact services, unknown gateways."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.trigger.hidden_tries import SentSoFar, Stretches, attempts_arrived
from analysis.trigger.observations import Observations
from domain.experiment import Client
from domain.service_time import ServiceTime
from domain.trigger.messages import TICK_EVERY_S, Tick
from tests.analysis.trigger.fifo_service import FifoService, Gateway
from tests.analysis.trigger.played_shot import Played, play

TIMEOUT_S, ATTEMPTS, SLACK = 0.4, 3, 60.0
SEEDS = (1, 2, 3, 4)


def behind(amplified: float, seed: int, kind: str = "deterministic", tries: int = 2) -> Played:
    """A shot at Aρ, the gateway's tries included; C·T is 60."""
    times = ServiceTime("deterministic") if kind == "deterministic" else ServiceTime()
    service = FifoService(SLACK / TIMEOUT_S, times, gateway=Gateway(tries, 0.15 * 2 / tries))
    utilization = amplified / (ATTEMPTS * tries)
    return play(service, Client(TIMEOUT_S, ATTEMPTS), utilization, seed=seed, method="direct probes")


@pytest.mark.parametrize(("amplified", "verdict"), [(0.75, "recovers"), (1.3, "trapped"), (1.5, "trapped")])
def test_the_verdict_is_right_within_twenty_timeouts_in_most_runs(amplified: float, verdict: str) -> None:
    """Although the push is fifteen timeouts deep; and A is close to the product."""
    played = [behind(amplified, seed) for seed in SEEDS]
    assert {one.judgement.verdict for one in played} == {verdict}
    assert np.mean([one.decided <= 20.0 for one in played]) >= 0.75
    for one in played:
        assert one.judgement.amplification is not None
        assert one.judgement.amplification.value == pytest.approx(6.0, rel=0.15)


@pytest.mark.parametrize("tries", [2, 3])
def test_at_the_edge_nothing_is_claimed(tries: int) -> None:
    """Of 100 to 150 watches of many services at most 2% claimed anything; these show a gross error."""
    for seed in SEEDS[:2]:
        assert behind(1.0, seed, "exponential", tries).judgement.verdict == "undecided"


def test_waves_show_how_far_apart_the_tries_are() -> None:
    """Two tries .15 s apart, in waves of .5 s: with them works are explained, without them they are not."""
    seen = Observations()
    per_tick = [60 if int(i * TICK_EVERY_S / 0.5) % 2 else 10 for i in range(400)]
    for i, sent in enumerate(np.cumsum(per_tick)):
        seen.take(Tick(i * TICK_EVERY_S, 0, int(sent), *[0] * 12, lag_p99_s=0.0, lag_max_s=0.0))
    counted = SentSoFar(seen, 0.0)
    starts = np.arange(2.0, 18.0, 0.35)
    ends = starts + 0.35
    works = 0.01 * sum(counted(ends - lag) - counted(starts - lag) for lag in (0.0, 0.15))
    found = attempts_arrived(Stretches(starts, ends, works), counted, TIMEOUT_S)
    assert found is not None
    attempts, variation = found
    assert works / attempts == pytest.approx(0.02, rel=0.15)
    plain = counted(ends) - counted(starts)
    without = np.mean((works / 0.02 - plain) ** 2 / plain)
    assert variation < 0.2 * without


def test_too_few_stretches_tell_nothing() -> None:
    few = Stretches(np.array([1.0, 2.0]), np.array([2.0, 3.0]), np.array([0.5, 0.5]))
    assert attempts_arrived(few, SentSoFar(Observations(), 0.0), TIMEOUT_S) is None
