"""The whole protocol in virtual time: phases, verdicts, the dose, the rescue, and that it is left healthy."""

from __future__ import annotations

import pytest

from analysis.trigger.shot import Judge
from analysis.trigger.watch import judge
from domain.request_mix import RequestMix
from domain.trigger.messages import Drop, End, Load, Probe, Saturate
from domain.trigger.plan import Ceiling
from tests.analysis.trigger.simulated_judge import plain_judge
from tests.analysis.trigger.simulated_run import TIMEOUT_S, plan_for, run
from tests.analysis.trigger.simulated_service import Fifo

TO_A_VERDICT = ["reach", "capacity", "baseline", "spike", "watch"]


@pytest.mark.parametrize("which", [plain_judge, judge], ids=["plain", "real"])
@pytest.mark.parametrize(
    ("amplified", "verdict"), [(0.6, "recovers"), (0.85, "recovers"), (1.2, "trapped"), (1.5, "trapped")]
)
def test_the_verdict_is_right_on_both_sides_of_one_and_the_service_is_left_healthy(
    amplified: float, verdict: str, which: Judge
) -> None:
    """A FIFO service of 200/s and a client of three attempts: trapped from ρ = 1/3 on."""
    found = run(plan_for(amplified / 3.0), Fifo(), judge=which)
    result = found.result
    assert (result.verdict, result.left_healthy) == (verdict, True)
    assert result.capacity_per_s is not None
    assert result.capacity_per_s.value == pytest.approx(200.0, rel=0.03)
    assert result.shots[0].amplification is not None
    assert result.shots[0].amplification.value == pytest.approx(3.0, rel=0.12)
    assert found.phases[:5] == TO_A_VERDICT
    assert found.phases[-1] == "check"
    assert [phase.name for phase in result.phases] == found.phases
    assert result.safety_stop is None
    assert result.invalid_reasons == ()


def test_a_trapped_service_is_rescued_by_shedding_below_what_it_can_drain() -> None:
    """ρ_s = min(ρ/2, 1/(2A)) of the measured A, and it is back in about W/(1 − Aρ_s)."""
    found = run(plan_for(0.5), Fifo())
    shot = found.result.shots[0]
    shed = [load for _, load in found.commands(Load) if isinstance(load, Load) and load.phase == "shed"]
    assert shot.amplification is not None
    assert [load.rate_per_s / 200.0 for load in shed] == pytest.approx(
        [0.5 / shot.amplification.high], rel=0.02
    )
    assert shot.rescued_s is not None
    assert shot.deepest_wait_s is not None
    assert shot.deepest_wait_s < shot.rescued_s < 4.0 * shot.deepest_wait_s


def test_a_service_that_comes_back_soon_is_watched_until_it_has() -> None:
    """Its recovery is then measured, and no load is shed."""
    found = run(plan_for(0.2), Fifo(), judge=judge)
    shot = found.result.shots[0]
    assert shot.decided_s is not None
    assert shot.recovered_s is not None
    assert shot.decided_s < shot.recovered_s < 20.0 * TIMEOUT_S
    assert shot.rescued_s is None
    assert "rescue" not in found.phases


def test_the_dose_is_worked_out_from_what_was_sent() -> None:
    """First attempts and probes between the changes of load, over the capacity, less the spike's length."""
    found = run(plan_for(0.4, capacity_per_s=200.0), Fifo())
    spike = next(phase for phase in found.result.phases if phase.name == "spike")
    assert spike.end_s - spike.start_s == pytest.approx(TIMEOUT_S, abs=0.03)
    assert spike.rate_per_s == pytest.approx(600.0)
    sent = 200.0 * (found.result.shots[0].dose * TIMEOUT_S + spike.end_s - spike.start_s)
    assert sent == pytest.approx(300.0, abs=4.0 * 300.0**0.5)


def test_a_service_that_caps_its_queue_is_pushed_harder_and_then_called_not_vulnerable() -> None:
    """Nothing waits, so the dose is doubled twice; rejections show why."""
    found = run(plan_for(0.4, ceiling=Ceiling(rate_per_s=9000.0)), Fifo(queue_cap=20))
    shot = found.result.shots[0]
    assert shot.verdict == "not vulnerable"
    assert found.phases == [*TO_A_VERDICT, "spike", "watch", "spike", "watch", "check"]
    rates = [phase.rate_per_s for phase in found.result.phases if phase.name == "spike"]
    assert rates == sorted(rates)
    assert shot.dose == pytest.approx(8.0, rel=0.2)
    assert "instead of queueing them" in shot.evidence[-1]


def test_a_service_that_drops_what_has_expired_is_not_vulnerable() -> None:
    """As the real judge sees it: it is back where a plain service would have stayed failed."""
    result = run(plan_for(0.4), Fifo(drop_expired=True), judge=judge).result
    assert (result.verdict, result.left_healthy) == ("not vulnerable", True)


def test_a_capacity_given_too_low_is_no_ground_for_a_verdict() -> None:
    """It answers far more than it is said to be able to: the push was none, so nobody knows."""
    result = run(plan_for(0.4, capacity_per_s=50.0), Fifo(), judge=judge).result
    assert result.verdict == "undecided"
    assert "larger" in result.shots[0].evidence[-1]


def test_a_service_that_never_gets_up_again_is_said_loudly_not_to_be_healthy() -> None:
    """Neither shedding nor sending nothing helps; the test ends all the same, with the load at zero."""
    found = run(plan_for(0.4, rescue_s=20.0), Fifo(breaks_at_s=1.2))
    assert found.finished
    assert found.result.left_healthy is False
    assert any("NOT left healthy" in warning for warning in found.result.warnings)
    assert found.result.shots[0].rescued_s is None
    rescue = next(phase for phase in found.result.phases if phase.name == "rescue")
    assert rescue.end_s - rescue.start_s == pytest.approx(20.0, abs=0.2)


def test_every_test_ends_by_dropping_everything() -> None:
    """Drop and End are the last commands, and nothing is open or asked for after them."""
    found = run(plan_for(0.4), Fifo())
    assert [type(command) for _, command in found.test.commands[-2:]] == [Drop, End]
    assert found.finished
    assert found.result.attempts_sent > 1000


def test_only_one_patient_request_is_in_flight_while_it_is_reached_and_checked() -> None:
    """And the closed loop is never wider than 256."""
    found = run(plan_for(0.4), Fifo())
    asked = {(c.phase, c.in_flight) for _, c in found.commands(Saturate) if isinstance(c, Saturate)}
    assert {n for phase, n in asked if phase in ("reach", "check")} == {0, 1}
    assert max(n for _, n in asked) <= 256


def test_probes_are_a_small_part_of_the_load() -> None:
    """Four a timeout, but at most 3% of the capacity."""
    found = run(plan_for(0.4), Fifo())
    rates = [c.rate_per_s for _, c in found.commands(Probe) if isinstance(c, Probe)]
    assert rates[-1] == pytest.approx(0.03 * 200.0, rel=0.05)


def test_the_plan_is_taken_as_it_is() -> None:
    """A capacity that is given is not looked for, whatever requests there are."""
    found = run(plan_for(0.4, capacity_per_s=200.0, mix=RequestMix()), Fifo())
    assert found.result.capacity_given
    closed = [c.in_flight for t_s, c in found.commands(Saturate) if isinstance(c, Saturate)]
    assert closed[:2] == [1, 0], "the closed loop of the warm-up goes on into the baseline"
    assert "capacity" not in found.phases
    assert found.result.verdict == "trapped"
