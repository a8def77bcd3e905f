"""The values that describe an autoscaled fleet, and how a service slows down."""

from __future__ import annotations

import math

import pytest

from domain.autoscaler import History, Pods
from domain.degradation import NO_DEGRADATION, Degradation
from domain.fleet import Fleet, specimen


def test_proposals_of_each_signal() -> None:
    """Ten saturated pods under ten times the load and twice as much again in retries; targets of 50%."""
    fleet = Fleet(("cpu", "ingress", "first"))
    readings = {"cpu": 1.0, "ingress": 15_000.0, "first": 5_000.0}
    assert fleet.proposals(Pods(10), readings, 100.0) == [20, 300, 100]
    assert fleet.order(Pods(10), readings, 100.0, History(), 0.0)[0] == 300


def test_a_pod_may_use_more_than_it_requests() -> None:
    """g = ℓ/(r·u*): with twice the request as its limit, a saturated pod reads 200%."""
    fleet = Fleet(("cpu",), limit_over_request=2.0, target_utilization=0.8)
    assert fleet.proposals(Pods(10), {"cpu": 1.0}, 100.0) == [25]


def test_a_signal_without_a_metric_is_in_error() -> None:
    """And the autoscaler then does not scale down."""
    fleet = Fleet(("first", "cpu"))
    readings = {"cpu": None, "first": 10.0}
    assert fleet.proposals(Pods(10), readings, 100.0) == [1, None]
    assert fleet.order(Pods(10), readings, 100.0, History(), 0.0)[0] == 10


def test_the_specimen_is_seed_002s() -> None:
    """Dead time 90 s, growth factor 2, five minutes of stabilization, no ceiling."""
    fleet = specimen("cpu")
    assert (fleet.dead_time_s, fleet.limit_over_request / fleet.target_utilization) == (90.0, 2.0)
    assert (fleet.autoscaler.stabilization_s, fleet.autoscaler.max_pods) == (300.0, math.inf)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"signals": ()}, "signals: must name at least one"),
        ({"target_utilization": 0.0}, "target_utilization: must be positive"),
        ({"sync_period_s": math.inf}, "sync_period_s: must be positive"),
        ({"cpu_window_s": 0.0}, "cpu_window_s: must be positive"),
        ({"rate_window_s": 0.0}, "rate_window_s: must be positive"),
        ({"dead_time_s": -1.0}, "dead_time_s: must be finite"),
        ({"tolerance": math.nan}, "tolerance: must be finite"),
        ({"tolerance": 10.0}, "tolerance: must be below 1, a share"),
        ({"target_utilization": 50.0}, "target_utilization: must be at most 1, a share"),
        ({"target_utilization": 2.5, "limit_over_request": 2.0}, "target_utilization: must be at most 2"),
    ],
)
def test_impossible_fleets_are_refused(changes: dict[str, object], message: str) -> None:
    """The message names the field and the rule."""
    with pytest.raises(ValueError, match=message):
        Fleet(**({"signals": ("cpu",)} | changes))  # type: ignore[arg-type]


def test_degradation_falls_from_one_to_its_floor() -> None:
    """Half of the loss at ``half_queue``; a floor of 1 is no degradation."""
    slow = Degradation(half_queue=100.0, floor=0.5)
    assert [slow.rate_share(q) for q in (0.0, 100.0, 300.0)] == pytest.approx([1.0, 0.75, 0.625])
    assert slow.rate_share(1e12) == pytest.approx(0.5)
    assert NO_DEGRADATION.rate_share(1e12) == 1.0


@pytest.mark.parametrize(("half_queue", "floor"), [(0.0, 0.5), (1.0, 1.5), (1.0, -0.1), (math.nan, 0.5)])
def test_impossible_degradations_are_refused(half_queue: float, floor: float) -> None:
    """A share is from 0 to 1 and a queue positive."""
    with pytest.raises(ValueError, match="must be"):
        Degradation(half_queue, floor)
