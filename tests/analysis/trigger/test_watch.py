"""The sequential judge, played against services whose every work is known."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.trigger.watch import judge
from domain.backoff import FixedBackoff, FullJitterBackoff
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


def predicted_over_seen(played: Played) -> float | None:
    """What was predicted of the recovery over when it was back; None without a prediction."""
    predicted = played.judgement.predicted_recovery_s
    if predicted is None:
        return None
    later = played.seen.now_s
    while (recovered := judge(played.seen, played.shot).recovered_s) is None and later < 60.0:
        later += 0.2
        for line in played.service.advance(later):
            played.seen.take(line)
    assert recovered is not None
    return predicted / recovered


@pytest.mark.parametrize("amplified", [0.45, 0.6, 0.75, 0.85])
def test_says_when_it_will_be_back_and_is(amplified: float) -> None:
    """Most verdicts come before the spike's own retries have all been sent: they are work still to come."""
    ratios = [predicted_over_seen(plain(amplified, slack=107.0, seed=seed)) for seed in range(1, 8)]
    said = [ratio for ratio in ratios if ratio is not None]
    assert len(said) >= 5
    assert 0.8 <= np.median(said) <= 1.2


def test_the_prediction_waits_for_backoffs() -> None:
    client = Client(TIMEOUT_S, 3, FixedBackoff(0.4))
    played = [play(FifoService(268.0), client, 0.2, seed=seed) for seed in range(1, 6)]
    said = [ratio for ratio in map(predicted_over_seen, played) if ratio is not None]
    assert len(said) >= 3
    assert 0.8 <= np.median(said) <= 1.25


def crashing(down_s: tuple[float, float]) -> Played:
    return plain(1.5, down_s=down_s)


def test_a_service_that_crashes_and_stays_down_is_said_to_have() -> None:
    """Not trapped, not watched to the end, and nothing measured of its retries."""
    played = crashing((4.0, math.inf))
    judgement = played.judgement
    assert judgement.verdict == "undecided"
    assert judgement.evidence[0].startswith("From t = 4")
    assert "s on it refused connections: it crashed or was restarted" in judgement.evidence[0]
    assert judgement.amplification is None
    assert 4.0 + 5 * TIMEOUT_S <= played.seen.now_s <= 4.0 + 7 * TIMEOUT_S


def test_a_service_that_is_restarted_is_said_to_have_been() -> None:
    judgement = crashing((4.0, 5.4)).judgement
    assert judgement.verdict in ("recovers", "trapped")
    assert "From t = 4" in judgement.evidence[0]
    assert "s to t = 5" in judgement.evidence[0]
    assert "refused connections" in judgement.evidence[0]


def test_no_crash_is_seen_in_a_queue_that_turns_away() -> None:
    said = plain(1.5, places=50).judgement.evidence
    assert not any("refused connections" in one for one in said)


def given_capacity(real: float, given: float, rho: float = 0.5) -> Played:
    """Three attempts; the plan's capacity is not the real one."""
    return play(FifoService(real), Client(TIMEOUT_S, 3), rho, given=given)


def test_a_given_capacity_that_is_wrong_is_the_other_explanation() -> None:
    low = " ".join(given_capacity(250.0, 205.0).judgement.evidence)
    high = " ".join(given_capacity(250.0, 310.0).judgement.evidence)
    assert "Or the given capacity of 205/s is too low: at 2" in low
    assert "Or the given capacity of 310/s is too high: at 2" in high
    right = " ".join(given_capacity(250.0, 250.0).judgement.evidence)
    assert "given capacity" not in right


def test_it_is_trapped_at_the_end_of_the_watch_though_it_seemed_to_shed() -> None:
    """A given capacity far too low makes each attempt look cheap."""
    played = given_capacity(300.0, 220.0, 0.8)
    judgement = played.judgement
    assert played.decided > 40.0
    assert judgement.verdict == "trapped"
    assert "for the whole watch" in judgement.evidence[0]


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
