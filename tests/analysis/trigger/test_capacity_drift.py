"""A capacity that is measured before and after a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.capacity_drift import drift_sentence, with_both_capacities, with_verdicts_at_both
from analysis.trigger.result import Interval
from tests.analysis.trigger.made_up import TRAPPED_SHOT
from tests.analysis.trigger.simulated_run import plan_for, run
from tests.analysis.trigger.simulated_service import Fifo


def interval(value: float) -> Interval:
    return Interval(value, 0.98 * value, 1.02 * value)


def test_the_capacity_is_looked_at_again_at_the_end() -> None:
    """A service that has not changed is as fast as before, and nothing is said."""
    found = run(plan_for(0.4), Fifo())
    after = found.result.capacity_after_per_s
    assert after is not None
    assert after.value == pytest.approx(200.0, rel=0.05)
    assert not any("capacity changed" in warning for warning in found.result.warnings)


def test_a_given_capacity_is_not() -> None:
    """It was not asked for before either."""
    assert run(plan_for(0.4, capacity_per_s=200.0), Fifo()).result.capacity_after_per_s is None


def test_amplification_is_by_the_mean_of_both_and_covers_either() -> None:
    """A = Aρ·C/λ."""
    shot = replace(TRAPPED_SHOT, amplification=Interval(3.0, 2.8, 3.2), method="probes")
    (again,) = with_both_capacities([shot], interval(100.0), interval(120.0))
    assert again.amplification is not None
    assert again.amplification.value == pytest.approx(3.3)
    assert (again.amplification.low, again.amplification.high) == pytest.approx((2.8, 3.84))
    assert again.amplified_utilization == shot.amplified_utilization


@pytest.mark.parametrize(("after", "said"), [(105.0, False), (111.0, True), (85.0, True)])
def test_a_large_change_is_said(after: float, said: bool) -> None:
    """More than a tenth."""
    assert (drift_sentence(interval(100.0), interval(after)) is not None) == said


def test_a_change_within_chance_is_not_said() -> None:
    """The intervals overlap."""
    assert drift_sentence(Interval(100.0, 80.0, 120.0), Interval(115.0, 100.0, 130.0)) is None


@pytest.mark.parametrize(
    ("after", "attempts", "verdict"),
    [
        (300.0, 3.0, "recovers"),
        (104.0, 3.0, "not vulnerable"),
        (60.0, 3.0, "not vulnerable"),
        (300.0, 1.0, "not vulnerable"),
    ],
    ids=["grown", "as before", "shrunk", "without retries"],
)
def test_a_service_that_grew_meanwhile_is_not_called_not_vulnerable_for_it(
    after: float, attempts: float, verdict: str
) -> None:
    """A plain one of the capacity that it had in the end would have come back as well."""
    shot = replace(TRAPPED_SHOT, verdict="not vulnerable")
    (again,) = with_verdicts_at_both([shot], interval(100.0), interval(after), attempts)
    assert again.verdict == verdict
    assert any("capacity grew" in one for one in again.evidence) == (verdict == "recovers")
