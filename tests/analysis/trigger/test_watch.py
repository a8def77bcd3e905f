"""The sequential judge, played against services whose every work is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.trigger.watch import judge
from domain.backoff import FullJitterBackoff
from domain.budgets.ratio import RatioBudget
from domain.experiment import Client
from domain.service_time import ServiceTime
from tests.analysis.trigger.fifo_service import FifoService, Gateway
from tests.analysis.trigger.played_shot import Played, play

TIMEOUT_S = 0.4
SEEDS = (1, 2, 3)


def plain(
    amplified: float, *, slack: float = 100.0, attempts: int = 3, seed: int = 1, **how: object
) -> Played:
    """A shot at Aρ = ``amplified`` at a service of C·T = ``slack``, of the kind that ``how`` says."""
    service = FifoService(slack / TIMEOUT_S, **how)  # type: ignore[arg-type]
    return play(service, Client(TIMEOUT_S, attempts), amplified / attempts, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("amplified", [0.6, 0.75, 0.85, 1.15, 1.25, 1.5, 2.5])
def test_both_sides_of_the_edge(amplified: float, seed: int) -> None:
    """The verdict is right, taken within the 20 timeouts, and A is measured."""
    for slack in (75.0, 200.0):
        played = plain(amplified, slack=slack, seed=seed)
        assert played.judgement.verdict == ("trapped" if amplified > 1 else "recovers")
        assert played.decided <= 25.0
        measured = played.judgement.amplified_utilization
        assert measured is not None
        assert measured.value == pytest.approx(amplified, rel=0.15)
        assert measured.low < amplified < measured.high


def test_most_are_quick_and_exact() -> None:
    played = [
        plain(amplified, slack=100.0, attempts=attempts, seed=seed)
        for seed in (11, 12)
        for attempts in (3, 4)
        for amplified in (0.6, 0.85, 1.15, 1.5, 2.5)
    ]
    quick = [one.decided <= 20.0 for one in played]
    assert np.mean(quick) >= 0.9
    measured = [one.judgement.amplification for one in played]
    errors = [
        abs(a.value / one.shot.client.max_attempts - 1.0)
        for one, a in zip(played, measured, strict=True)
        if a
    ]
    assert len(errors) == len(played)
    assert np.mean(np.array(errors) <= 0.1) >= 0.9


def test_says_when_it_will_be_back_and_is() -> None:
    played = plain(0.85, slack=200.0)
    predicted = played.judgement.predicted_recovery_s
    assert predicted is not None
    later = played.seen.now_s
    while judge(played.seen, played.shot).recovered_s is None and later < 60.0:
        later += 0.1
        for line in played.service.advance(later):
            played.seen.take(line)
    recovered = judge(played.seen, played.shot).recovered_s
    assert recovered is not None
    assert recovered == pytest.approx(predicted, rel=0.4)


@pytest.mark.parametrize("amplified", [1.25, 1.5])
@pytest.mark.parametrize(
    "how",
    [{"discipline": "lifo"}, {"drops_abandoned": True}, {"places": 50}],
    ids=["lifo", "drops", "capped"],
)
def test_a_service_without_a_second_state_is_not_vulnerable(amplified: float, how: dict[str, object]) -> None:
    played = plain(amplified, **how)
    assert played.judgement.verdict == "not vulnerable"
    assert played.judgement.recovered_s is not None


def test_a_cap_outside_the_timeout_changes_nothing() -> None:
    assert plain(1.5, places=300).judgement.verdict == "trapped"
    assert plain(0.75, places=300).judgement.verdict == "recovers"


@pytest.mark.parametrize(("amplified", "verdict"), [(0.75, "recovers"), (1.5, "trapped")])
def test_other_services_and_backoffs(amplified: float, verdict: str) -> None:
    assert plain(amplified, workers=8).judgement.verdict == verdict
    assert plain(amplified, service_time=ServiceTime("lognormal", 2.0)).judgement.verdict == verdict
    assert plain(amplified, service_time=ServiceTime("deterministic")).judgement.verdict == verdict
    client = Client(TIMEOUT_S, 3, FullJitterBackoff(0.1, 1.0))
    assert play(FifoService(250.0), client, amplified / 3).judgement.verdict == verdict


def test_a_budget_counts_by_what_it_lets_through() -> None:
    def budgeted(ratio: float) -> Played:
        return play(FifoService(250.0), Client(TIMEOUT_S, 3, budget=RatioBudget(ratio)), 0.8)

    kept, lost = budgeted(0.1).judgement, budgeted(0.5).judgement
    assert kept.verdict == "recovers"
    assert lost.verdict == "trapped"
    assert lost.amplification is not None
    assert lost.amplification.value == pytest.approx(1.5, rel=0.1)


def test_an_endless_client_is_trapped_and_one_without_retries_is_not() -> None:
    assert play(FifoService(250.0), Client(TIMEOUT_S, math.inf), 0.4).judgement.verdict == "trapped"
    assert play(FifoService(250.0), Client(TIMEOUT_S, 1), 0.8).judgement.verdict == "not vulnerable"


def test_a_spike_that_is_no_trigger_says_so() -> None:
    judgement = play(FifoService(250.0), Client(TIMEOUT_S, 3), 0.5, dose=0.5).judgement
    assert not judgement.pushed
    assert judgement.verdict == "undecided"


def gateway(rho: float, method: str, *, probes_pass: bool) -> Played:
    """Two tries of T/2 each behind a client of two attempts: A is 4."""
    service = FifoService(500.0, gateway=Gateway(2, TIMEOUT_S / 2, probes_pass))
    return play(service, Client(TIMEOUT_S, 2), rho, method=method)  # type: ignore[arg-type]


def test_a_gateway_that_hides_the_queue_is_told_and_what_to_do() -> None:
    judgement = gateway(0.25, "probes", probes_pass=True).judgement
    assert judgement.verdict == "undecided"
    assert any("504" in said for said in judgement.evidence)
    assert any("--probe-url" in said for said in judgement.evidence)


def test_what_the_client_alone_sends_can_be_enough() -> None:
    judgement = gateway(0.6, "probes", probes_pass=True).judgement
    assert judgement.verdict == "trapped"
    assert judgement.method == "client"


@pytest.mark.parametrize("method", ["direct probes", "prometheus"])
@pytest.mark.parametrize(("rho", "verdict"), [(0.19, "recovers"), (0.35, "trapped")])
def test_hidden_retries_are_measured_past_the_gateway(method: str, rho: float, verdict: str) -> None:
    """Within 15% of the product of the layers."""
    judgement = gateway(rho, method, probes_pass=False).judgement
    assert judgement.verdict == verdict
    assert judgement.method == method
    assert judgement.amplification is not None
    assert judgement.amplification.value == pytest.approx(4.0, rel=0.15)


def test_too_early_there_is_no_verdict_and_too_late_it_is_undecided() -> None:
    played = plain(1.0, slack=50.0)
    assert played.decided > 10.0
    short = play(FifoService(125.0), Client(TIMEOUT_S, 3), 0.34, watch_timeouts=6.0)
    assert short.judgement.verdict == "undecided"
    assert "watch of 6 timeouts is over" in short.judgement.evidence[0]
