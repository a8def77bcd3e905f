"""Who answers the probes: the service, or a gateway in its stead."""

from __future__ import annotations

import pytest

from analysis.trigger.gateway import hides_the_queue
from domain.trigger.messages import ProbeLine

TIMEOUT_S = 0.5


def probe(
    i: int, wait_s: float, outcome: str = "rejected", status: int = 504, server: str = "envoy"
) -> ProbeLine:
    sent = 0.1 * i
    return ProbeLine(i, sent, sent + wait_s, outcome, status, 10 * i, 0, server)


@pytest.mark.parametrize("status", [502, 503, 504, 408])
def test_failing_probes_that_all_waited_as_long_are_a_gateways(status: int) -> None:
    said = hides_the_queue([probe(i, 0.8 + 0.01 * (i % 3), status=status) for i in range(9)], TIMEOUT_S)
    assert said is not None
    for part in (str(status), "810 ms", "Server: envoy"):
        assert part in said


def test_probes_whose_own_patience_ended_are_said_to_be_that() -> None:
    said = hides_the_queue([probe(i, 60.0, "timeout", 0, "") for i in range(9)], TIMEOUT_S)
    assert said is not None
    assert "patience of 60 s" in said
    assert "gateway" not in said


def test_answered_probes_with_growing_waits_are_the_services() -> None:
    assert hides_the_queue([probe(i, 1.0 + 0.1 * i, "ok", 200) for i in range(30)], TIMEOUT_S) is None


def test_answered_probes_with_equal_waits_are_the_services_too() -> None:
    """A full queue answers late, and always as late."""
    assert hides_the_queue([probe(i, 1.0, "ok", 200) for i in range(30)], TIMEOUT_S) is None


def test_failing_probes_with_growing_waits_are_the_services() -> None:
    assert hides_the_queue([probe(i, 0.6 + 0.1 * i, status=500) for i in range(9)], TIMEOUT_S) is None


def test_what_is_turned_away_at_once_hides_no_queue() -> None:
    assert hides_the_queue([probe(i, 0.003, status=503) for i in range(9)], TIMEOUT_S) is None


def test_a_few_do_not_tell() -> None:
    assert hides_the_queue([probe(i, 0.8) for i in range(5)], TIMEOUT_S) is None


def test_only_the_last_ones_count() -> None:
    """A gateway that gave up in the spike, and lets answers through again."""
    before = [probe(i, 0.8) for i in range(20)]
    after = [probe(i + 20, 0.9 + 0.05 * i, "ok", 200) for i in range(9)]
    assert hides_the_queue(before, TIMEOUT_S) is not None
    assert hides_the_queue(before + after, TIMEOUT_S) is None
