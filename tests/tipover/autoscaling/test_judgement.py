"""What a decision says of itself: a sentence for somebody who is woken by it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from domain.autoscaler import Autoscaler, Doubling, History, Pods, Policies, Recommendation
from domain.fleet import Fleet, Signal
from tipover.autoscaling.judgement import judged
from tipover.autoscaling.readings import Reading

GONE = "page: no answer within 1 s"


@dataclass(frozen=True)
class Case:
    """What is read (None: in error), what is ordered, and the sentence."""

    readings: dict[Signal, float | None]
    ordered: int
    wanted: int | None
    why: str
    pods: Pods = Pods(10)  # noqa: RUF009  # frozen
    rules: Autoscaler = Autoscaler(4, 50)  # noqa: RUF009  # frozen
    past: tuple[tuple[float, int], ...] = ((-400.0, 1),)


CASES = [
    Case({"ingress": 800.0}, 40, 40, "ingress 800/s wants 40 pods"),
    Case({"ingress": 1200.0}, 50, 60, "ingress 1,200/s wants 60 pods, the ceiling is 50"),
    Case({"ingress": 40.0}, 4, 2, "ingress 40/s wants 2 pods, the floor is 4"),
    Case({"first": 200.0}, 10, 10, "first 200/s wants the 10 pods there are"),
    Case(
        {"first": 210.0}, 10, 10, "first 210/s is within the tolerance of 10% of what 10 pods are for"
    ),
    Case(
        {"first": 40.0, "ingress": 1000.0}, 50, 50, "ingress 1,000/s wants 50 pods"
    ),
    Case(
        {"ingress": 100.0}, 10, 5,
        "held at 10: recommendations of the last 300 s reach 10, ingress 100/s wants 5 pods",
        past=((-300.0, 10),),
    ),
    Case(
        {"ingress": 100.0}, 7, 5, "ingress 100/s wants 5 pods, recommendations of the last 300 s reach 7",
        past=((-15.0, 7),),
    ),
    Case(
        {"ingress": 100.0}, 20, 5,
        "ingress 100/s wants 5 pods, recommendations of the last 300 s reach 60, the ceiling is 50,"
        " no more than 20 may be had now",
        rules=Autoscaler(4, 50, scale_up=Doubling()), past=((-15.0, 60),),
    ),
    Case(
        {"ingress": 800.0}, 20, 40, "ingress 800/s wants 40 pods, no more than 20 may be had now",
        rules=Autoscaler(4, 50, scale_up=Policies()),
    ),
    Case(
        {"cpu": 1.0}, 16, 16, "cpu 100% wants 16 pods (of 10 pods, 2 not ready for a whole window yet)",
        pods=Pods(8, unready=2),
    ),
    Case({"ingress": 2.5}, 4, 1, "ingress 2.5/s wants 1 pod, the floor is 4"),
    # no readings
    Case({"cpu": None}, 10, None, f"nothing is done: cpu has no reading ({GONE})"),
    Case(
        {"cpu": None, "first": 60.0}, 10, None,
        f"nothing is done: cpu has no reading ({GONE}), and first 60/s alone would scale down to 3",
    ),
    Case(
        {"cpu": None, "first": 400.0}, 20, 20, f"first 400/s wants 20 pods; cpu has no reading ({GONE})"
    ),
    Case(
        {"cpu": 0.4}, 10, None,
        "nothing is done: cpu has no reading (no pod has been ready for a whole window)",
        pods=Pods(0, unready=10),
    ),
    # outside the bounds
    Case({"cpu": None}, 50, None, "80 pods are more than the ceiling of 50", pods=Pods(80)),
    Case({"cpu": 0.5}, 4, None, "2 pods are fewer than the floor of 4", pods=Pods(2)),
    Case({"cpu": 0.5}, 4, None, "1 pod is fewer than the floor of 4", pods=Pods(1)),
    Case(
        {"first": 60.0}, 0, None, "scaled to 0 by somebody: nothing is done until it is scaled up again",
        pods=Pods(0),
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.why[:50])
def test_a_decision_and_its_sentence(case: Case) -> None:
    fleet = Fleet(tuple(case.readings), autoscaler=case.rules)
    readings = {s: Reading(v, "" if v is not None else GONE) for s, v in case.readings.items()}
    history = History(tuple(Recommendation(at_s, pods) for at_s, pods in case.past))
    found = judged(fleet, 40.0, case.pods, readings, history, 0.0)
    assert (found.ordered, found.wanted, found.why) == (case.ordered, case.wanted, case.why)
