"""The autoscaler's algorithm, case by case, as Kubernetes has it."""

from __future__ import annotations

import math
import random
from itertools import pairwise
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.autoscaler import (
    Autoscaler,
    Change,
    Doubling,
    History,
    Pods,
    Policies,
    Policy,
    Recommendation,
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
        (Policies(), 20, (Change(90.0, 10),), 20),
        (Policies(), 20, (Change(85.0, 10),), 40),
        (Policies((Policy("pods", 4, 60.0),)), 14, (Change(50.0, 2),), 16),
        (Policies((Policy("percent", 10, 60.0),)), 11, (), 13),
        (Policies(select="min"), 10, (), 14),
        (Policies(select="disabled"), 10, (), 10),
        (Policies((Policy("pods", 4, 60.0),)), 30, (Change(50.0, 20),), 30),
    ],
)
def test_scale_up_limits(limit: ScaleUpLimit, replicas: int, past: tuple[Change, ...], most: float) -> None:
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
    """Nothing is ordered, and nothing remembered but the size there was at first."""
    ordered, history = Autoscaler().order(10, [None, 3], History(), 0.0)
    assert (ordered, history) == (10, History((Recommendation(0.0, 10),)))
    assert Autoscaler().order(10, [None, 3], history, 15.0) == (10, history)


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
    window = 20 if limit.recalls else 19
    for now, (before, after) in enumerate(pairwise(orders), start=1):
        if after < before:
            assert after >= min(ceiling, max(wanted[max(0, now - window) : now + 1]))


class Published:
    """The published controller's way through one decision after another, in its own terms and order: lists
    of timestamped records whose outdated entries are overwritten, limits taken one after the other."""

    def __init__(self, autoscaler: Autoscaler) -> None:
        self.hpa = autoscaler
        self.behavior = autoscaler.scale_up if isinstance(autoscaler.scale_up, Policies) else None
        self.recommendations: list[list[int]] = []
        self.up_events: list[list[int]] = []
        self.down_events: list[list[int]] = []

    def reconcile(self, current: int, desired: int, now: int) -> int:
        low, high = self.hpa.min_pods, int(min(self.hpa.max_pods, 2**31 - 1))
        if not self.recommendations:
            self.recommendations.append([now, current])
        if current > high:
            target = high
        elif current < low:
            target = low
        elif self.behavior is None:
            desired = self.stabilize(desired, now)
            target = max(low, min(desired, high, max(2 * current, 4)))
        else:
            desired = self.stabilize_with_behavior(current, desired, now)
            target = self.limit_rate(current, desired, low, high, now)
        if target != current and self.behavior is not None:
            events = self.up_events if target > current else self.down_events
            self.store(events, [now, abs(target - current)], now - self.longest_period)
        return target

    @property
    def longest_period(self) -> float:
        return 0.0 if self.behavior is None else self.behavior.remembered_s

    @staticmethod
    def store(records: list[list[int]], record: list[int], cutoff: float) -> None:
        outdated = [i for i, (at, _) in enumerate(records) if at < cutoff]
        if outdated:
            records[outdated[-1]] = record
        else:
            records.append(record)

    def stabilize(self, desired: int, now: int) -> int:
        cutoff = now - self.hpa.stabilization_s
        highest = max([desired] + [pods for at, pods in self.recommendations if not at < cutoff])
        self.store(self.recommendations, [now, desired], cutoff)
        return highest

    def stabilize_with_behavior(self, current: int, desired: int, now: int) -> int:
        up_cutoff, down_cutoff = now - 0.0, now - self.hpa.stabilization_s
        up, down = desired, desired
        for at, pods in self.recommendations:
            if at > up_cutoff:
                up = min(pods, up)
            if at > down_cutoff:
                down = max(pods, down)
        stable = current
        stable = max(stable, up)
        stable = min(stable, down)
        self.store(self.recommendations, [now, desired], min(up_cutoff, down_cutoff))
        return stable

    def limit_rate(self, current: int, desired: int, low: int, high: int, now: int) -> int:
        if desired > current:
            return min(desired, high, max(self.up_limit(current, now), current))
        # The default scale-down policy: all of them, so the floor alone holds.
        return max(desired, low) if desired < current else desired

    def up_limit(self, current: int, now: int) -> int:
        assert self.behavior is not None
        if self.behavior.select == "disabled":
            return current
        allowed = []
        for policy in self.behavior.policies:
            added, deleted = (
                sum(change for at, change in events if at > now - policy.period_s)
                for events in (self.up_events, self.down_events)
            )
            began = current - added + deleted
            more = policy.value if policy.kind == "pods" else math.ceil(began * policy.value / 100)
            allowed.append(began + more)
        return max(allowed) if self.behavior.select == "max" else min(allowed)


def drawn(rng: random.Random) -> Autoscaler:
    """An autoscaler with limits of every kind."""
    policies = tuple(
        Policy(
            rng.choice(["pods", "percent"]),
            rng.choice([1, 4, 25, 50, 100, 200]),
            rng.choice([15, 30, 60, 90]),
        )
        for _ in range(rng.randint(1, 3))
    )
    limit: ScaleUpLimit = rng.choice(
        [Doubling(), Policies(), Policies(policies, rng.choice(["max", "min", "disabled"]))]
    )
    low = rng.choice([1, 1, 3])
    return Autoscaler(low, rng.choice([math.inf, 12, 60]), rng.choice([0.0, 15.0, 30.0, 60.0, 300.0]), limit)


def test_every_order_is_the_published_algorithms() -> None:
    """Three thousand random sequences of forty decisions, some late, some after somebody else's scaling."""
    rng = random.Random(2)
    for _ in range(3000):
        autoscaler = drawn(rng)
        published, history = Published(autoscaler), History()
        replicas, now, top = rng.randint(1, 20), 0, rng.choice([6, 30, 200])
        for _ in range(40):
            wanted = rng.randint(1, top)
            expected = published.reconcile(replicas, wanted, now)
            ordered, history = autoscaler.order(replicas, [wanted], history, float(now))
            assert ordered == expected, (autoscaler, replicas, wanted, now)
            replicas = ordered if rng.random() < 0.95 else rng.randint(1, 20)
            now += rng.choice([15, 15, 15, 30, 7])


@given(
    sequence=st.lists(st.integers(1, 60), min_size=1, max_size=60),
    value=st.integers(1, 400),
    kind=st.sampled_from(["pods", "percent"]),
    start=st.integers(1, 60),
)
def test_with_behaviour_wanting_less_never_adds(
    sequence: list[int], value: int, kind: Literal["pods", "percent"], start: int
) -> None:
    """Nor does wanting more ever take away."""
    autoscaler = Autoscaler(scale_up=Policies((Policy(kind, value, 60.0),)))
    history, replicas = History(), start
    for number, wanted in enumerate(sequence):
        ordered, history = autoscaler.order(replicas, [wanted], history, 15.0 * number)
        assert (ordered - replicas) * (wanted - replicas) >= 0
        replicas = ordered


def test_a_peak_that_a_policy_held_back_is_not_made_up_for_when_less_is_wanted() -> None:
    """Four pods, twenty wanted: eight. Three wanted: eight still; without ``behavior`` it is sixteen."""
    assert run(Autoscaler(scale_up=Policies()), 4, [20, 3]) == [8, 8]
    assert run(Autoscaler(scale_up=Doubling()), 4, [20, 3]) == [8, 16]


def test_a_recommendation_one_window_old_counts_without_behaviour_only() -> None:
    """A peak at 15 s and a window of 30 s: it holds at 45 s or it does not."""
    wanted: list[int | None] = [10, 12, 5, 5, 5, 5]
    assert run(Autoscaler(stabilization_s=30.0, scale_up=Doubling()), 10, wanted) == [10, 12, 12, 12, 5, 5]
    assert run(Autoscaler(stabilization_s=30.0, scale_up=Policies()), 10, wanted) == [10, 12, 12, 5, 5, 5]


def test_pods_given_up_within_a_period_may_come_back() -> None:
    """The period began with ten, whatever there are now."""
    limit = Policies((Policy("pods", 1, 60.0),))
    assert run(Autoscaler(stabilization_s=0.0, scale_up=limit), 10, [10, 2, 20]) == [10, 2, 11]
