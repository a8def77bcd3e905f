"""Look, judge, order: with time, pages and pods that the test decides about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from domain.autoscaler import Autoscaler, Policies, Policy
from domain.fleet import Fleet
from domain.roster import Roster
from tests.tipover.autoscaling.fakes import FakeFleet, FakeReadings, Time, controller, dues
from tipover.autoscaling.agenda import Due
from tipover.autoscaling.targets.dry import FixedPods, OnlyWatched

FLEET = Fleet(("ingress",), autoscaler=Autoscaler(2, 50, stabilization_s=0.0))


def test_a_decision_is_a_line_with_all_that_went_into_it() -> None:
    time = Time(15.0)
    target = FakeFleet(time, Roster.of(4), 90.0)
    made = controller(FLEET, FakeReadings({"ingress": 1200.0}), target, time).decide(Due(1, 15.0, 0.0, 0))
    assert made.to_json() == {
        "t_s": 15.0,
        "at": "2030-01-02T03:04:05.678+00:00",
        "replicas": 4,
        "ready": 4,
        "readings": {"ingress": 1200.0},
        "proposals": {"ingress": 60},
        "wanted": 60,
        "ordered": 50,
        "why": "ingress 1,200/s wants 60 pods, the ceiling is 50",
        "error": None,
        "late_s": 0.0,
        "missed": 0,
    }
    assert made.result == "up"
    assert made.words() == "    15.0 s ▲ 4 → 50: ingress 1,200/s wants 60 pods, the ceiling is 50"
    assert target.orders == [50]


def test_what_is_as_it_should_be_is_not_ordered_again() -> None:
    time = Time()
    target = FakeFleet(time, Roster.of(4), 90.0)
    autoscaler = controller(FLEET, FakeReadings({"ingress": 800.0}), target, time)
    results = [autoscaler.decide(due).result for due in dues(15.0, 4, time)]
    assert results == ["up", "same", "same", "same"]
    assert target.orders == [40]


def test_an_order_that_fails_is_tried_again() -> None:
    """The decision says why, and the next one orders anew."""
    time = Time()
    target = FakeFleet(time, Roster.of(4), refuses="no answer within 1 s")
    autoscaler = controller(FLEET, FakeReadings({"ingress": 800.0}), target, time)
    first, *_ = [autoscaler.decide(due) for due in dues(15.0, 2, time)]
    assert (first.result, first.ordered) == ("error", 40)
    assert first.error == "fake did not take the order: no answer within 1 s"
    target.refuses = None
    assert autoscaler.decide(Due(3, 45.0, 0.0, 0)).result == "up"
    assert target.orders == [40]


def test_an_order_that_failed_uses_up_no_limit() -> None:
    """+4 pods a minute: what was not taken was not added."""
    fleet = replace(FLEET, autoscaler=Autoscaler(2, 50, scale_up=Policies((Policy("pods", 4, 60.0),))))
    time = Time()
    target = FakeFleet(time, Roster.of(4), refuses="gone")
    autoscaler = controller(fleet, FakeReadings({"ingress": 800.0}), target, time)
    autoscaler.decide(Due(1, 15.0, 0.0, 0))
    target.refuses = None
    assert autoscaler.decide(Due(2, 30.0, 0.0, 0)).ordered == 8
    assert autoscaler.decide(Due(3, 45.0, 0.0, 0)).ordered == 8


def test_a_target_that_does_not_answer_is_left_alone_until_it_does() -> None:
    time = Time()
    target = FakeFleet(time, Roster.of(4), fails="no answer within 1 s")
    readings = FakeReadings({"ingress": 800.0})
    autoscaler = controller(FLEET, readings, target, time)
    made = autoscaler.decide(Due(1, 15.0, 0.0, 0))
    assert (made.replicas, made.ordered, made.result) == (None, None, "error")
    assert made.why == "nothing is done: fake does not say how many pods there are: no answer within 1 s"
    assert made.words().startswith("    15.0 s ! ?: nothing is done")
    target.fails = None
    assert autoscaler.decide(Due(2, 30.0, 0.0, 0)).ordered == 40
    target.fails = "gone"
    made = autoscaler.decide(Due(3, 45.0, 0.0, 0))
    # What is known is from before.
    assert (made.replicas, made.ordered, made.wanted, made.result) == (40, 40, None, "error")
    assert readings.looks == 3


def test_readings_in_error_are_decisions_in_error() -> None:
    time = Time()
    target = FakeFleet(time, Roster.of(4))
    made = controller(FLEET, FakeReadings({"ingress": None}), target, time).decide(Due(1, 15.0, 0.0, 0))
    assert (made.result, made.ordered, made.wanted) == ("error", 4, None)
    assert made.error == made.why == "nothing is done: ingress has no reading (the page is gone)"
    assert target.orders == []


def test_late_and_missed_decisions_say_so() -> None:
    time = Time()
    autoscaler = controller(FLEET, FakeReadings({"ingress": 80.0}), FakeFleet(time, Roster.of(4)), time)
    made = autoscaler.decide(Due(3, 45.0, 2.25, 2))
    assert made.why == "ingress 80/s wants the 4 pods there are; 2.2 s late; 2 decisions before it missed"
    assert (made.late_s, made.missed, made.error) == (2.25, 2, None)


def test_somebody_elses_scaling_is_seen() -> None:
    """What there is now is asked each time; nothing is remembered of it."""
    time = Time()
    target = FakeFleet(time, Roster.of(4))
    autoscaler = controller(FLEET, FakeReadings({"ingress": 800.0}), target, time)
    autoscaler.decide(Due(1, 15.0, 0.0, 0))
    target.roster = Roster.of(8)
    assert autoscaler.decide(Due(2, 30.0, 0.0, 0)).replicas == 8
    assert target.orders == [40, 40]
    target.roster = Roster()
    assert autoscaler.decide(Due(3, 45.0, 0.0, 0)).ordered == 0
    assert target.orders == [40, 40]


@pytest.mark.parametrize(("arrives_s", "unready"), [(0.0, 0), (0.7, 0), (0.8, 16)])
def test_pods_count_for_cpu_after_a_whole_window(arrives_s: float, unready: int) -> None:
    """Ordered at 15 s plus what the order takes, ready 30 s later; a window of 30 s is over at 75 s, give or
    take a twentieth of the sync period. Until then they are idle pods."""
    fleet = Fleet(("cpu",), tolerance=0.0, autoscaler=Autoscaler(2, 50))
    time = Time()
    target = FakeFleet(time, Roster.of(4), 30.0)
    readings = FakeReadings({"cpu": 2.5})
    autoscaler = controller(fleet, readings, target, time)
    time.now_s = 15.0 + arrives_s
    assert autoscaler.decide(Due(1, 15.0, 0.0, 0)).ordered == 20
    readings.values["cpu"] = 1.0
    # 4 pods at 1.0 and 16 idle ones: a mean of 0.2, which turns the direction round
    for number in (2, 3, 4):
        time.now_s = 15.0 * number
        assert autoscaler.decide(Due(number, time.now_s, 0.0, 0)).ordered == 20
    time.now_s = 75.0
    assert autoscaler.decide(Due(5, 75.0, 0.0, 0)).ordered == (20 if unready else 40)


def test_a_dry_run_orders_nothing() -> None:
    time = Time()
    target = FakeFleet(time, Roster.of(4))
    for dry in (OnlyWatched(target), FixedPods(4)):
        autoscaler = controller(FLEET, FakeReadings({"ingress": 800.0}), dry, time)
        assert [autoscaler.decide(due).ordered for due in dues(15.0, 2, time)] == [40, 40]
    assert target.orders == []
    OnlyWatched(target).stop()
    assert target.stopped


def test_what_looking_takes_makes_a_decision_late() -> None:
    """A page that answers slowly delays the order, however punctually it was asked."""
    time = Time(15.0)

    class SlowReadings(FakeReadings):
        def look(self) -> None:
            time.now_s += 0.9

    made = controller(FLEET, SlowReadings({"ingress": 800.0}), FakeFleet(time, Roster.of(4)), time).decide(
        Due(1, 15.0, 0.1, 0)
    )
    assert made.late_s == pytest.approx(0.9)
    assert made.why.endswith("; 0.9 s late")
    asked_for = Due(1, time.now_s, 0.0, 0, scheduled=False)
    made = controller(FLEET, SlowReadings({"ingress": 800.0}), FakeFleet(time, Roster.of(4)), time).decide(
        asked_for
    )
    assert made.late_s == 0.0
