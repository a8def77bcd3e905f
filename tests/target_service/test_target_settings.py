import json

import pytest

from domain.admission import Admission
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.errors import ConfigurationError
from target_service.headers import attempt_number
from target_service.settings import CapacityChange, Order, TargetSettings, most_pods, parse_order, parse_scale


def test_every_fault_in_the_settings_is_reported_at_once():
    """One error names all five fields that are wrong."""
    with pytest.raises(ConfigurationError) as caught:
        TargetSettings(pods=0, rate_per_pod=float("nan"), seed=-1, mode="nap", port=70_000)
    assert [fault.field for fault in caught.value.faults] == ["pods", "rate_per_pod", "seed", "mode", "port"]


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        ("[1]", ["control"]),
        ("{}", ["control"]),
        ('{"at_monotonic_s": 100}', ["control"]),
        ('{"pod": 3}', ["pod"]),
        ('{"pods": 0}', ["pods"]),
        ('{"pods": 2.5}', ["pods"]),
        ('{"pods": true}', ["pods"]),
        ('{"pods": null}', ["pods"]),
        ('{"rate_per_pod": 0}', ["rate_per_pod"]),
        ('{"rate_per_pod": Infinity}', ["rate_per_pod"]),
        ('{"rate_per_pod": "40"}', ["rate_per_pod"]),
        ('{"capacity_factor": -0.1, "pods": -1}', ["pods", "capacity_factor"]),
        ('{"capacity_factor": NaN}', ["capacity_factor"]),
        ('{"capacity_factor": null}', ["capacity_factor"]),
        ('{"capacity_factor": 1, "at_monotonic_s": 89}', ["at_monotonic_s"]),
        ('{"capacity_factor": 1, "at_monotonic_s": "now"}', ["at_monotonic_s"]),
        ('{"capacity_factor": 1' + "0" * 400 + "}", ["capacity_factor"]),
    ],
)
def test_orders_that_are_refused(body, fields):
    """Each fault names its field; the clock stands at 100 s."""
    faults = parse_order(json.loads(body), 100.0)
    assert [fault.field for fault in faults] == fields


def test_orders_that_are_taken():
    """What is not named stays; without a time the order is for now, and a little in the past will do."""
    assert parse_order({"capacity_factor": 0}, 100.0) == Order(100.0, CapacityChange(capacity_factor=0.0))
    assert parse_order({"pods": 3, "rate_per_pod": 5, "at_monotonic_s": 99.5}, 100.0) == Order(
        99.5, CapacityChange(pods=3, rate_per_pod=5.0)
    )


@pytest.mark.parametrize(
    ("header", "attempt"),
    [(None, 1), ("1", 1), ("3", 3), ("0", 1), ("-2", 1), ("two", 1), ("", 1), ("²", 1), ("9" * 7, 1)],
)
def test_attempt_numbers(header, attempt):
    """Garbage counts as a first attempt."""
    assert attempt_number(header) == attempt


def test_spinning_pods_cannot_slow_down_by_order():
    """Degradation goes with pods that sleep; every other defence goes with both."""
    defended = Admission(discipline="lifo", queue_cap=3, codel=CoDel(), drop_expired=True, error_rate=0.1)
    assert TargetSettings(1, 1.0, mode="spin", admission=defended).admission is defended
    degrading = Admission(degradation=Degradation(5.0))
    assert TargetSettings(1, 1.0, admission=degrading).admission is degrading
    with pytest.raises(ConfigurationError) as caught:
        TargetSettings(1, 1.0, mode="spin", admission=degrading)
    assert [fault.field for fault in caught.value.faults] == ["degradation"]


def test_spinning_pods_are_threads_and_so_fewer():
    assert TargetSettings(256, 1.0, mode="spin").pods == 256
    assert TargetSettings(257, 1.0).pods == 257
    with pytest.raises(ConfigurationError, match="pods"):
        TargetSettings(257, 1.0, mode="spin")
    most = most_pods("spin")
    assert parse_scale({"replicas": 256}, most) == 256
    assert [fault.field for fault in parse_scale({"replicas": 257}, most)] == ["replicas"]
    assert [fault.field for fault in parse_order({"pods": 257}, 0.0, most)] == ["pods"]
