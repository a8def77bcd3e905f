"""The autoscaler's algorithm, case by case, as Kubernetes has it."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.autoscaler import (
    Autoscaler,
    Doubling,
    History,
    Pods,
    Policies,
    Policy,
    ScaleUp,
    ScaleUpLimit,
    Unlimited,
    by_total,
    by_utilization,
    largest,
)


@pytest.mark.parametrize(
    ("pods", "utilization", "target", "wanted"),
    [
        (Pods(10), 1.0, 0.5, 20),
        (Pods(10), 0.51, 0.3, 17),
        (Pods(10), 0.25, 0.5, 5),
        (Pods(3), 0.3, 0.1, 9),
        # within 10%, its edges included
        (Pods(10), 0.55, 0.5, 10),
        (Pods(10), 0.45, 0.5, 10),
        (Pods(10), 0.551, 0.5, 12),
        # pods not ready count as idle on a scale-up
        (Pods(10, unready=10), 1.0, 0.5, 20),
        (Pods(10, unready=5), 1.0, 0.5, 20),
        (Pods(10, unready=2), 0.8, 0.5, 16),
        (Pods(10, unready=30), 1.0, 0.5, 40),
        # but are simply left out on a scale-down
        (Pods(10, unready=10), 0.25, 0.5, 5),
        # pods without a metric are idle on a scale-up, fully used on a scale-down
        (Pods(10, missing=5), 1.0, 0.5, 20),
        (Pods(10, missing=2), 0.1, 0.5, 6),
        (Pods(10, missing=5), 0.25, 0.5, 15),
        (Pods(4, missing=1), 0.3, 1.5, 2),
        # no change of direction after the correction
        (Pods(4, unready=1, missing=1), 0.6, 0.5, 6),
        (Pods(4, missing=4), 0.4, 0.5, 8),
        # a new count on the wrong side of the present one is no change either
        (Pods(2, unready=1), 0.9, 0.5, 4),
        # without any metric there is no proposal
        (Pods(0, unready=3), 1.0, 0.5, None),
    ],
)
def test_by_utilization(pods: Pods, utilization: float, target: float, wanted: int | None) -> None:
    """CPU: ceil(ready · utilization/target), corrected for pods that have no say."""
    assert by_utilization(pods, utilization, target) == wanted


@pytest.mark.parametrize(
    ("replicas", "total", "wanted"),
    [(10, 5000.0, 100), (10, 5001.0, 101), (10, 549.0, 10), (10, 551.0, 12), (10, 451.0, 10), (10, 30.0, 1)],
)
def test_by_total(replicas: int, total: float, wanted: int) -> None:
    """External metrics: ceil(total/target), whoever is ready."""
    assert by_total(Pods(replicas), total, 50.0) == wanted
    assert by_total(Pods(1, unready=replicas - 1), total, 50.0) == wanted


def test_a_tolerance_of_nothing_still_forgives_rounding() -> None:
    """0.3/0.1 is three pods."""
    assert by_total(Pods(3), 0.3, 0.1, tolerance=0.0) == 3
    assert by_utilization(Pods(3), 0.1 * 3, 0.1, tolerance=0.0) == 9


@pytest.mark.parametrize(
    ("proposals", "wanted"),
    [
        ([12], 12),
        ([12, 30, 7], 30),
        ([3, 7], 7),
        ([None], None),
        ([None, None], None),
        ([None, 12], 12),
        ([None, 10], 10),
        ([None, 7], None),
    ],
)
def test_the_largest_of_several_metrics(proposals: list[int | None], wanted: int | None) -> None:
    """With one in error, the rest may scale ten pods up but not down."""
    assert largest(Pods(10), proposals) == wanted


@pytest.mark.parametrize(
    ("limit", "replicas", "past", "most"),
    [
        (Unlimited(), 10, (), math.inf),
        (Doubling(), 10, (), 20),
        (Doubling(), 1, (), 4),
        (Policies(), 10, (), 20),
        (Policies(), 1, (), 5),
        (Policies(), 20, (ScaleUp(90.0, 10),), 20),
        (Policies(), 20, (ScaleUp(85.0, 10),), 40),
        (Policies((Policy("pods", 4, 60.0),)), 14, (ScaleUp(50.0, 2),), 16),
        (Policies((Policy("percent", 10, 60.0),)), 11, (), 13),
        (Policies(select="min"), 10, (), 14),
        (Policies(select="disabled"), 10, (), 10),
        (Policies((Policy("pods", 4, 60.0),)), 30, (ScaleUp(50.0, 20),), 30),
    ],
)
def test_scale_up_limits(limit: ScaleUpLimit, replicas: int, past: tuple[ScaleUp, ...], most: float) -> None:
    """What may be ordered at 100 s; a scale-up exactly one period ago no longer counts."""
    assert limit.most(replicas, 100.0, past) == most


def run(autoscaler: Autoscaler, replicas: int, wanted: list[int | None]) -> list[int]:
    """Orders of successive decisions, 15 s apart."""
    history, orders = History(), []
    for number, proposal in enumerate(wanted):
        replicas, history = autoscaler.order(replicas, [proposal], history, 15.0 * number)
        orders.append(replicas)
    return orders


def test_scale_down_waits_for_the_largest_recommendation_to_leave_the_window() -> None:
    """Three hundred seconds, the edge included: a peak at 15 s holds until 315 s."""
    orders = run(Autoscaler(), 10, [10, 30] + [10] * 25)
    assert orders[:2] == [10, 30]
    assert set(orders[1:22]) == {30}
    assert set(orders[22:]) == {10}


def test_the_first_recommendation_is_the_present_size() -> None:
    """A new autoscaler does not scale down at once."""
    orders = run(Autoscaler(stabilization_s=30.0), 10, [2] * 5)
    assert orders == [10, 10, 10, 2, 2]


def test_without_a_window_it_scales_down_at_once() -> None:
    """Only what is recommended at this very moment counts."""
    assert run(Autoscaler(stabilization_s=0.0), 10, [10, 3, 4]) == [10, 3, 4]


def test_a_doubling_limit_takes_rounds() -> None:
    """10 → 20 → 40 → 80 → 100."""
    assert run(Autoscaler(scale_up=Doubling()), 10, [100] * 5) == [20, 40, 80, 100, 100]


def test_policies_remember_what_was_added() -> None:
    """+100% per minute: the second order waits until the first has left the period."""
    limit = Policies((Policy("percent", 100, 60.0),))
    assert run(Autoscaler(scale_up=limit), 10, [100] * 6) == [20, 20, 20, 20, 40, 40]


def test_what_a_limit_held_back_is_recalled_without_behaviour_only() -> None:
    """Kubernetes applies the largest recent recommendation also upwards unless ``behavior`` is set."""
    assert run(Autoscaler(scale_up=Doubling()), 10, [100, 21, 21]) == [20, 40, 80]
    assert run(Autoscaler(scale_up=Policies()), 10, [100, 21, 21]) == [20, 21, 21]


def test_floor_and_ceiling() -> None:
    """Orders stay between them, and a size outside is corrected at once."""
    assert run(Autoscaler(4, 50, stabilization_s=0.0), 10, [90, 1]) == [50, 4]
    assert run(Autoscaler(4, 50), 80, [80, 80]) == [50, 50]
    assert run(Autoscaler(4, 50), 2, [None]) == [4]


def test_metrics_in_error_change_nothing() -> None:
    """Nothing is ordered and nothing remembered."""
    history = History()
    assert Autoscaler().order(10, [None, 3], history, 0.0) == (10, history)


def test_limits_that_exclude_each_other_are_refused() -> None:
    """The floor is at least 1 and at most the ceiling."""
    for low, high in ((0, 10), (11, 10)):
        with pytest.raises(ValueError, match="min_pods: must be from 1"):
            Autoscaler(low, high)


@given(
    wanted=st.lists(st.integers(1, 500), min_size=1, max_size=60),
    limit=st.sampled_from([Unlimited(), Doubling(), Policies()]),
    ceiling=st.integers(5, 400),
)
def test_orders_stay_within_bounds(wanted: list[int], limit: ScaleUpLimit, ceiling: int) -> None:
    """Never outside floor and ceiling, never down while the window remembers more."""
    orders = run(Autoscaler(2, ceiling, scale_up=limit), 5, list(wanted))
    assert all(2 <= order <= ceiling for order in orders)
    for now, (before, after) in enumerate(pairwise(orders), start=1):
        if after < before:
            assert after >= min(ceiling, max(wanted[max(0, now - 20) : now + 1]))
