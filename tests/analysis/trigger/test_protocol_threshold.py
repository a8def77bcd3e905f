"""Looking for the threshold with several small shots."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.bisection import MOST_SHOTS, NARROW, ThresholdSearch
from analysis.trigger.observations import Observations
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.watch import Judgement
from domain.trigger.plan import Ceiling
from tests.analysis.trigger.simulated_judge import plain_judge
from tests.analysis.trigger.simulated_run import plan_for, run
from tests.analysis.trigger.simulated_service import Fifo


@pytest.mark.parametrize("asked", [0.12, 0.2, 0.3, 0.5, 0.7])
@pytest.mark.parametrize("amplification", [None, 3.0, 4.0, 6.0])
@pytest.mark.parametrize("threshold", [1.0 / 3.0, 1.0 / 6.0, 1.0 / 9.0])
def test_the_bracket_closes_around_the_threshold(
    asked: float, amplification: float | None, threshold: float
) -> None:
    """Whether the measured A is right, wrong, or not there at all; and A = 1/ρ* comes within 10%."""
    search = ThresholdSearch()
    search.note(asked, asked < threshold, amplification)
    while (tried := search.next_utilization) is not None:
        search.note(tried, tried < threshold, amplification)
    assert search.shots <= MOST_SHOTS
    found = search.threshold
    assert found is not None
    assert found.low < threshold <= found.high
    assert found.high - found.low < (NARROW if search.shots < MOST_SHOTS else 2 * NARROW)
    assert 1.0 / found.value == pytest.approx(1.0 / threshold, rel=0.15)


def test_a_good_amplification_saves_shots() -> None:
    """It starts from 0.9/A, and 1.1/A if that were above."""
    search = ThresholdSearch()
    search.note(0.5, False, 3.0)
    assert search.next_utilization == pytest.approx(0.3)
    search.note(0.3, True, 3.0)
    assert search.next_utilization == pytest.approx((0.3 * 0.5) ** 0.5)


def test_an_undecided_shot_ends_the_search_with_what_is_known() -> None:
    """And a bracket open on a side is none."""
    search = ThresholdSearch()
    search.note(0.5, False)
    search.note(0.3, None)
    assert search.next_utilization is None
    assert search.threshold is None


def test_a_service_that_always_comes_back_has_no_threshold() -> None:
    """Up to 95% there is none to find."""
    search = ThresholdSearch()
    search.note(0.5, True)
    while (tried := search.next_utilization) is not None:
        search.note(tried, True)
    assert search.threshold is None
    assert search.low is not None
    assert search.low > 0.85


@pytest.mark.parametrize("asked", [0.2, 0.5])
def test_a_bisected_threshold_is_one_over_the_amplification(asked: float) -> None:
    """Of a client with three attempts: a third, within .05; the verdict is that of the asked utilization."""
    found = run(plan_for(asked, find_threshold=True), Fifo())
    result = found.result
    assert result.threshold is not None
    assert result.threshold_method == "threshold"
    assert result.threshold.value == pytest.approx(1.0 / 3.0, abs=0.05)
    assert result.verdict == ("trapped" if asked > 1.0 / 3.0 else "recovers")
    assert result.shots[0].utilization == asked
    assert len(result.shots) > 2
    assert result.left_healthy is True
    checks = [phase for phase in result.phases if phase.name == "check"]
    assert len(checks) == len(result.shots)


def blind_judge(seen: Observations, context: ShotContext) -> Judgement:
    """One that sees no queue, as behind a gateway, but whether it comes back."""
    return replace(plain_judge(seen, context), amplification=None, amplified_utilization=None, method="none")


def test_where_the_queue_is_hidden_the_threshold_gives_the_amplification() -> None:
    """A = 1/ρ*, and the method is said."""
    result = run(plan_for(0.5, find_threshold=True), Fifo(), judge=blind_judge).result
    first = result.shots[0]
    assert first.method == "threshold"
    assert first.amplification is not None
    assert first.amplification.value == pytest.approx(3.0, rel=0.15)
    assert first.amplified_utilization is not None
    assert first.amplified_utilization.value == pytest.approx(1.5, rel=0.15)


def test_without_time_for_another_shot_it_ends_with_what_is_known() -> None:
    """One over the measured A, and a warning."""
    plan = plan_for(0.5, find_threshold=True, rescue_s=30.0, ceiling=Ceiling(duration_s=58.0))
    result = run(plan, Fifo()).result
    assert len(result.shots) == 1
    assert result.threshold_method == "probes"
    assert any("ended early" in warning for warning in result.warnings)
