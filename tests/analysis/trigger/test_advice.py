"""Advice: each piece with a number that would in fact let the service come back."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from analysis.trigger.advice import advice
from analysis.trigger.refused_connections import CRASHED
from analysis.trigger.result import Advice, Interval, Shot, Word
from domain.experiment import Client
from domain.trigger.plan import Target, TriggerPlan

CAPACITY = 200.0


def plan(attempts: float = 3, rho: float = 0.5, capacity: float | None = CAPACITY) -> TriggerPlan:
    client = Client(0.5, attempts)
    return TriggerPlan(
        "made up", Target("http://localhost"), client, utilization=rho, capacity_per_s=capacity
    )


def shot(rho: float = 0.5, amplification: Interval | None = None, verdict: Word = "trapped") -> Shot:
    return Shot(rho, 2.0, 0.0, verdict, 4.0, None, None, amplification, "probes", None, ())


def found(given: tuple[Advice, ...], words: str) -> Advice:
    return next(one for one in given if words in one.change)


def test_numbers_for_three_attempts_at_half_the_capacity() -> None:
    given = advice(plan(), shot())
    assert found(given, "no retries").threshold == 1.0
    budget = found(given, "retry budget of 80%")
    assert budget.threshold == pytest.approx(1 / 1.8)
    assert "333" in found(given, "times the capacity").change
    assert "60 jobs/s" in found(given, "utilization of at most 30%").change


def test_fewer_attempts_keep_one_that_still_fits() -> None:
    fewer = found(advice(plan(4, 0.4), shot(0.4)), "at most 2 attempts")
    assert fewer.threshold == 0.5


def test_a_queue_cap_is_below_what_is_served_in_a_timeout() -> None:
    change = found(advice(plan(), shot()), "waiting").change
    assert 60 <= int(change.split()[5]) < CAPACITY * 0.5


@pytest.mark.parametrize("rho", [0.2, 0.45, 0.5, 0.7, 0.85])
@pytest.mark.parametrize("attempts", [2, 3, 6])
def test_what_is_advised_lies_above_the_utilization(rho: float, attempts: int) -> None:
    """All but capacity and demand, which change the utilization instead."""
    for one in advice(plan(attempts, rho), shot(rho)):
        if "capacity" not in one.change and "utilization" not in one.change:
            assert one.threshold is not None
            assert one.threshold > rho


def test_hidden_layers_leave_less_to_the_client() -> None:
    """Twice the client's attempts were measured, so even one attempt is too many at 60%."""
    given = advice(plan(3, 0.6), shot(0.6, Interval(6.0, 5.5, 6.5)))
    assert not any("attempts" in one.change and "at most" in one.change for one in given)
    assert not any("retries" in one.change or "budget" in one.change for one in given)
    assert "below 1/A = 16.7%" in found(given, "times the capacity").why


def test_capacity_and_demand_go_by_the_measured_amplification_and_have_no_threshold() -> None:
    """As the headline does; the client's own number is named, once, where nothing was measured."""
    given = advice(plan(), shot(amplification=Interval(2.8, 2.6, 3.1)))
    more, less = found(given, "times the capacity"), found(given, "utilization of at most")
    assert more.threshold is None
    assert less.threshold is None
    assert "1/A = 35.7%" in more.why
    assert "1/A = 35.7%" in less.why
    assert less.change.startswith("a utilization of at most 32.1%")
    unmeasured = " ".join(one.why for one in advice(plan(), shot()))
    assert unmeasured.count("A was not measured: 3 is what its client alone makes") == 1


def test_nothing_for_a_service_that_crashed() -> None:
    crashed = replace(shot(verdict="undecided"), evidence=(f"From t = 9.1 s on {CRASHED}.",))
    assert advice(plan(), crashed) == ()
    assert advice(plan(), shot(verdict="undecided"))


def test_an_endless_client_is_told_to_end() -> None:
    given = advice(plan(math.inf), shot())
    assert found(given, "no retries").threshold == 1.0
    assert not any("capacity" in one.change for one in given)


def test_without_capacity_what_needs_it_is_left_out_or_relative() -> None:
    given = advice(plan(capacity=None), shot())
    assert not any("waiting" in one.change for one in given)
    assert found(given, "times the capacity").change == "1.67 times the capacity"
    assert any("waiting" in one.change for one in advice(plan(capacity=None), shot(), CAPACITY))


def test_nothing_for_a_service_that_is_not_vulnerable() -> None:
    assert advice(plan(), shot(verdict="not vulnerable")) == ()
