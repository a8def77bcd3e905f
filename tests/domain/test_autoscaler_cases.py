"""The published algorithm case by case: each number worked out by hand from its source.

Cases named after Kubernetes' own tests have the numbers of ``replica_calculator_test.go``; the mean of the
pods' levels over their requests is the utilization here. Two deviations are wanted: utilization is a real
number and not whole per cents, and a ratio exactly at the tolerance is within it in both directions (there,
1.1 − 1 is 0.10000000000000009, and outside).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

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
from domain.fleet import Fleet, Signal


@dataclass(frozen=True)
class Cpu:
    """A case of ``by_utilization``."""

    name: str
    pods: Pods
    utilization: float
    target: float
    wanted: int | None


CPU = [
    # Kubernetes' own
    Cpu("ScaleUp", Pods(3), 0.5, 0.3, 5),
    Cpu("ScaleUpUnreadyLessScale", Pods(2, unready=1), 0.6, 0.3, 4),
    Cpu("ScaleUpHotCpuLessScale", Pods(2, unready=1), 0.6, 0.3, 4),
    Cpu("ScaleUpUnreadyNoScale", Pods(1, unready=2), 0.4, 0.3, 3),
    Cpu("ScaleUpIgnoresFailedPods", Pods(2), 0.6, 0.3, 4),
    Cpu("ScaleDown", Pods(5), 0.28, 0.5, 3),
    Cpu("ScaleDownIncludeUnreadyPods", Pods(3, unready=2), 0.3, 0.5, 2),
    Cpu("ScaleDownExcludeUnscheduledPods", Pods(1, unready=4), 0.1, 0.5, 1),
    Cpu("Tolerance", Pods(3), 1.02, 1.0, 3),
    Cpu("SuperfluousMetrics", Pods(4), 5.875, 1.0, 24),
    # (2 · 0.2475 + 2 · 1) / 4 = 0.62375 of the target; · 4 = 2.495
    Cpu("MissingMetrics", Pods(2, missing=2), 0.2475, 1.0, 3),
    Cpu("EmptyMetrics", Pods(0, missing=4), 0.0, 1.0, None),
    Cpu("MissingMetricsNoChangeEq", Pods(1, missing=1), 1.0, 1.0, 2),
    Cpu("MissingMetricsNoChangeGt", Pods(1, missing=1), 1.9, 1.0, 2),
    Cpu("MissingMetricsNoChangeLt", Pods(1, missing=1), 0.6, 1.0, 2),
    Cpu("MissingMetricsUnreadyChange", Pods(1, unready=1, missing=1), 0.45, 0.5, 3),
    Cpu("MissingMetricsUnreadyScaleUp", Pods(1, unready=1, missing=1), 2.0, 0.5, 4),
    # (2 · 0.1 + 1 · 1) / 3 = 0.4, of 0.5 a ratio of 0.8; · 3 = 2.4
    Cpu("MissingMetricsUnreadyScaleDown", Pods(2, unready=1, missing=1), 0.1, 0.5, 3),
    Cpu("ComputedToleranceAlgImplementation, down", Pods(10), 0.5, 0.56, 9),
    Cpu("ComputedToleranceAlgImplementation, tolerated", Pods(10), 0.5, 0.55, 10),
    # the tolerance of 10%: just inside, at it, just outside, in both directions
    Cpu("1.099 is tolerated", Pods(100), 0.5495, 0.5, 100),
    Cpu("1.1 is tolerated", Pods(100), 0.55, 0.5, 100),
    Cpu("1.101 is not", Pods(100), 0.5505, 0.5, 111),
    Cpu("0.901 is tolerated", Pods(100), 0.4505, 0.5, 100),
    Cpu("0.9 is tolerated", Pods(100), 0.45, 0.5, 100),
    Cpu("0.899 is not", Pods(100), 0.4495, 0.5, 90),
    # pods not ready: idle on a scale-up, set aside on a scale-down
    # 8 · 1.0 / 10 = 0.8, of 0.5 a ratio of 1.6; · 10 = 16
    Cpu("unready, up", Pods(8, unready=2), 1.0, 0.5, 16),
    # ceil(0.4 · 8): the two that are not ready are not among them
    Cpu("unready, down", Pods(8, unready=2), 0.2, 0.5, 4),
    # 5 · 0.9 / 10 = 0.45 of 0.5: it would be a scale-down
    Cpu("unready turn the direction round", Pods(5, unready=5), 0.9, 0.5, 10),
    # 5 · 1.05 / 10 = 0.525, a ratio of 1.05
    Cpu("unready bring it within the tolerance", Pods(5, unready=5), 1.05, 0.5, 10),
    # 1.25 uncorrected, 1.25 · 8/9 = 1.11: just outside; · 9 = 10
    Cpu("unready do not quite bring it within", Pods(8, unready=1), 0.625, 0.5, 10),
    # set aside pods do not save a scale-down within the tolerance either
    Cpu("unready, tolerated", Pods(8, unready=2), 0.46, 0.5, 10),
    # missing ones: (8 · 0.2 + 2 · 1) / 10 = 0.36, a ratio of 0.72; · 10 = 7.2
    Cpu("missing, down", Pods(8, missing=2), 0.2, 0.5, 8),
    # 8 · 0.9 / 10 = 0.72, a ratio of 1.44; · 10 = 14.4
    Cpu("missing, up", Pods(8, missing=2), 0.9, 0.5, 15),
    # (5 · 0.4 + 5 · 1) / 10 = 0.7 of 0.5: it would be a scale-up
    Cpu("missing turn a scale-down round", Pods(5, missing=5), 0.4, 0.5, 10),
    # (9 · 0.42 + 1) / 10 = 0.478, a ratio of 0.956
    Cpu("missing bring a scale-down within the tolerance", Pods(9, missing=1), 0.42, 0.5, 10),
    # a pod without a metric uses the target where that is more than the request: (3 · 0.6 + 1.5) / 4 / 1.5
    Cpu("missing, a target above the request", Pods(3, missing=1), 0.6, 1.5, 3),
    # 6 · 1.5 / 9 = 1.0, a ratio of 2; · 9 = 18: both kinds are idle on a scale-up
    Cpu("unready and missing, up", Pods(6, unready=2, missing=1), 1.5, 0.5, 18),
    # (6 · 0.2 + 1) / 7 = 0.314, a ratio of 0.629; · 7 = 4.4: the unready play no part
    Cpu("unready and missing, down", Pods(6, unready=2, missing=1), 0.2, 0.5, 5),
    # nobody to ask
    Cpu("no pod is ready", Pods(0, unready=4), 1.0, 0.5, None),
    Cpu("there is no pod", Pods(0), 1.0, 0.5, None),
    Cpu("nothing is used", Pods(4), 0.0, 0.5, 0),
]


@pytest.mark.parametrize("case", CPU, ids=lambda case: case.name)
def test_a_metric_of_every_pod(case: Cpu) -> None:
    """What CPU asks for."""
    assert by_utilization(case.pods, case.utilization, case.target) == case.wanted


@pytest.mark.parametrize(
    ("pods", "total", "per_pod", "wanted"),
    [
        # ScaleUpPerPodCMExternal, ScaleDownPerPodCMExternal, TolerancePerPodCMExternal, …PerPodCMObject
        (Pods(3), 8600.0, 2150.0, 4),
        (Pods(5), 8600.0, 2867.0, 3),
        (Pods(3), 8600.0, 2900.0, 3),
        (Pods(3), 20000.0, 5000.0, 4),
        (Pods(5), 6000.0, 2000.0, 3),
        (Pods(4), 20166.0, 5000.0, 4),
        # the tolerance, both ways
        (Pods(10), 219.8, 20.0, 10),
        (Pods(10), 220.0, 20.0, 10),
        (Pods(10), 220.2, 20.0, 12),
        (Pods(10), 180.2, 20.0, 10),
        (Pods(10), 180.0, 20.0, 10),
        (Pods(10), 179.8, 20.0, 9),
        # readiness plays no part, not even when nobody is ready
        (Pods(0, unready=4), 400.0, 20.0, 20),
        (Pods(1, unready=2, missing=1), 400.0, 20.0, 20),
        (Pods(0), 400.0, 20.0, 20),
        (Pods(4), 0.0, 20.0, 0),
    ],
)
def test_a_metric_of_the_whole(pods: Pods, total: float, per_pod: float, wanted: int) -> None:
    """What a rate at the edge asks for."""
    assert by_total(pods, total, per_pod) == wanted


def fleet(*signals: Signal) -> Fleet:
    """Pods of 40/s meant for half of it."""
    return Fleet(signals, autoscaler=Autoscaler(stabilization_s=0.0))


@pytest.mark.parametrize(
    ("cpu", "ingress", "first", "proposals", "wanted"),
    [
        (0.8, 300.0, 100.0, [16, 15, 5], 16),
        (0.2, 100.0, 60.0, [4, 5, 3], 5),
        # one fails: up is allowed, and so is staying
        (None, 300.0, 100.0, [None, 15, 5], 15),
        (0.5, None, 100.0, [10, None, 5], 10),
        # one fails: down is not
        (0.2, None, 60.0, [4, None, 3], None),
        (None, None, 199.0, [None, None, 10], 10),
        (None, None, 60.0, [None, None, 3], None),
        (None, None, None, [None, None, None], None),
    ],
)
def test_several_metrics(
    cpu: float | None,
    ingress: float | None,
    first: float | None,
    proposals: list[int | None],
    wanted: int | None,
) -> None:
    """Ten pods, three signals."""
    pods, readings = Pods(10), {"cpu": cpu, "ingress": ingress, "first": first}
    asked = fleet("cpu", "ingress", "first")
    assert asked.proposals(pods, readings, 40.0) == proposals  # type: ignore[arg-type]
    assert largest(pods, proposals) == wanted
    ordered, _ = asked.order(pods, readings, 40.0, History((Recommendation(-15.0, 1),)), 0.0)  # type: ignore[arg-type]
    assert ordered == (10 if wanted is None else wanted)


def test_cpu_that_nobody_can_report_is_a_metric_in_error() -> None:
    """Zero ready pods: the other signal may order up, and may not order down."""
    asked, pods = fleet("cpu", "ingress"), Pods(0, unready=4)
    assert asked.proposals(pods, {"cpu": 0.9, "ingress": 400.0}, 40.0) == [None, 20]
    assert asked.order(pods, {"cpu": 0.9, "ingress": 400.0}, 40.0, History(), 0.0)[0] == 20
    assert asked.order(pods, {"cpu": 0.9, "ingress": 20.0}, 40.0, History(), 0.0)[0] == 4


@dataclass(frozen=True)
class Held:
    """Recommendations before now (how many seconds ago, pods), and what ten pods become when five are
    wanted, without and with ``behavior``. A window of 300 s."""

    name: str
    past: tuple[tuple[float, int], ...]
    without: int
    with_behavior: int


HELD = [
    Held("the window remembers the present size", ((15.0, 10),), 10, 10),
    Held("it remembers something in between", ((300.1, 10), (15.0, 7)), 7, 7),
    Held("it remembers less", ((15.0, 3),), 5, 5),
    Held("a recommendation exactly one window old", ((300.0, 10),), 10, 5),
    Held("one a little older", ((300.1, 10),), 5, 5),
    # without ``behavior`` what was once recommended is ordered, even if it is more than there are
    Held("it remembers more", ((15.0, 20),), 20, 10),
    Held("the largest of several", ((200.0, 8), (100.0, 9), (15.0, 6)), 9, 9),
]


@pytest.mark.parametrize("case", HELD, ids=lambda case: case.name)
def test_stabilization(case: Held) -> None:
    """A scale-down from ten to five at 1,000 s."""
    past = History(tuple(Recommendation(1000.0 - ago_s, pods) for ago_s, pods in case.past))
    for limit, expected in ((Unlimited(), case.without), (Policies(), case.with_behavior)):
        ordered, after = Autoscaler(scale_up=limit).order(10, [5], past, 1000.0)
        assert ordered == expected
        assert after.recommendations[-1] == Recommendation(1000.0, 5)


def test_a_decision_without_metrics_still_remembers_the_size_there_was_at_first() -> None:
    """It is recorded before the metrics are read: the window of 30 s ends at 30 s and not at 45 s."""
    autoscaler, history, orders = Autoscaler(stabilization_s=30.0), History(), []
    replicas = 10
    for at_s, proposal in ((0.0, None), (15.0, 2), (30.0, 2), (30.1, 2)):
        replicas, history = autoscaler.order(replicas, [proposal], history, at_s)
        orders.append(replicas)
    assert orders == [10, 10, 10, 2]


@dataclass(frozen=True)
class Limited:
    """What so many pods become at 100 s when a hundred are wanted, after changes at these times."""

    name: str
    limit: ScaleUpLimit
    replicas: int
    changes: tuple[tuple[float, int], ...]
    ordered: int


PERCENT, FOUR = Policy("percent", 50, 60.0), Policy("pods", 4, 60.0)
LIMITED = [
    Limited("unset: twice as many", Doubling(), 10, (), 20),
    Limited("unset: at least four", Doubling(), 1, (), 4),
    Limited("unset: two make four either way", Doubling(), 2, (), 4),
    Limited("unset: three make six", Doubling(), 3, (), 6),
    Limited("unset: changes play no part", Doubling(), 20, ((99.0, 10),), 40),
    Limited("defaults: the larger of +100% and +4", Policies(), 3, (), 7),
    Limited("defaults: twice as many from four on", Policies(), 4, (), 8),
    Limited("defaults: once in 15 s", Policies(), 8, ((90.0, 4),), 8),
    Limited("defaults: a change 15 s ago is forgotten", Policies(), 8, ((85.0, 4),), 16),
    Limited("pods", Policies((FOUR,)), 10, (), 14),
    Limited("pods, part of it used", Policies((FOUR,)), 13, ((50.0, 3),), 14),
    Limited("pods, all of it used", Policies((FOUR,)), 14, ((50.0, 4),), 14),
    Limited("pods, two changes in the period", Policies((FOUR,)), 14, ((50.0, 2), (80.0, 1)), 15),
    Limited("pods, one of them out of it", Policies((FOUR,)), 14, ((40.0, 2), (80.0, 1)), 17),
    Limited("pods, some were given up in the period", Policies((FOUR,)), 8, ((50.0, -2),), 14),
    Limited("per cent, rounded up", Policies((PERCENT,)), 3, (), 5),
    Limited("per cent of those at the beginning", Policies((PERCENT,)), 14, ((50.0, 4),), 15),
    Limited("per cent, all of it used", Policies((PERCENT,)), 15, ((50.0, 5),), 15),
    Limited("max of both", Policies((PERCENT, FOUR)), 10, (), 15),
    Limited("max of both, few pods", Policies((PERCENT, FOUR)), 2, (), 6),
    Limited("min of both", Policies((PERCENT, FOUR), "min"), 10, (), 14),
    Limited("min of both, few pods", Policies((PERCENT, FOUR), "min"), 2, (), 3),
    Limited("disabled", Policies(select="disabled"), 10, (), 10),
    Limited("more than the limit came from elsewhere", Policies((FOUR,)), 40, ((50.0, 30),), 40),
]


@pytest.mark.parametrize("case", LIMITED, ids=lambda case: case.name)
def test_scale_up_limits(case: Limited) -> None:
    """The order, and that it is remembered."""
    past = History((), tuple(Change(at_s, added) for at_s, added in case.changes))
    ordered, after = Autoscaler(scale_up=case.limit).order(case.replicas, [100], past, 100.0)
    assert ordered == case.ordered
    if ordered != case.replicas:
        assert after.changes[-1] == Change(100.0, ordered - case.replicas)


def test_the_longest_period_says_how_long_changes_are_remembered() -> None:
    """+4 a minute: 10, 14, and after the minute 18."""
    autoscaler, history, replicas = Autoscaler(scale_up=Policies((FOUR,))), History(), 10
    orders = []
    for at_s in (0.0, 15.0, 30.0, 45.0, 59.9, 60.0, 75.0, 120.0):
        replicas, history = autoscaler.order(replicas, [100], history, at_s)
        orders.append(replicas)
        assert len(history.changes) <= 1
    assert orders == [14, 14, 14, 14, 14, 18, 18, 22]


@pytest.mark.parametrize(
    ("replicas", "proposals", "ordered"),
    [
        (10, [60], 50),
        (10, [50], 50),
        (50, [60], 50),
        # outside of the bounds it is brought inside, whatever the metrics say
        (80, [90], 50),
        (80, [None], 50),
        (2, [None], 4),
        (2, [1], 4),
        # the floor
        (10, [1], 4),
        (4, [0], 4),
        # scaled to nothing by somebody: autoscaling is off
        (0, [60], 0),
        (0, [None], 0),
    ],
)
def test_floor_and_ceiling(replicas: int, proposals: list[int | None], ordered: int) -> None:
    """From four to fifty; nothing is stabilized."""
    autoscaler = Autoscaler(4, 50, stabilization_s=0.0)
    assert autoscaler.order(replicas, proposals, History((Recommendation(-1.0, 1),)), 0.0)[0] == ordered


def test_a_floor_above_what_the_limit_allows() -> None:
    """Below the floor no limit on scale-ups holds."""
    for limit in (Doubling(), Policies(), Policies(select="disabled")):
        assert Autoscaler(30, math.inf, scale_up=limit).order(2, [1], History(), 0.0)[0] == 30
