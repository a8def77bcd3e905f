"""Aρ from patient probes: an exact identity of a first-in first-out service, and what is no such service."""

from __future__ import annotations

from dataclasses import replace

import pytest

from analysis.trigger.slope import Slope, amplified_utilization, out_of_order, plain_slope
from domain.trigger.messages import ProbeLine

TIMEOUT_S = 0.5


def probes(
    amplified: float, *, count: int = 40, every_s: float = 0.1, per_s: float = 100.0, wait_s: float = 2.0
) -> list[ProbeLine]:
    """Probes in a stream of ``per_s`` attempts/s, each of ``amplified / per_s`` seconds of work."""
    made = []
    for i in range(count):
        sent = 10.0 + i * every_s
        done = 10.0 + wait_s + amplified * i * every_s
        made.append(ProbeLine(i + 1, sent, done, "ok", 200, round(i * every_s * per_s), 0))
    return made


def slope(made: list[ProbeLine], offered_per_s: float = 100.0, **more: float) -> Slope | None:
    return amplified_utilization(
        made, offered_per_s, from_s=10.0, timeout_s=TIMEOUT_S, confidence=0.95, **more
    )


@pytest.mark.parametrize("amplified", [0.8, 1.0, 1.3, 2.5])
def test_work_between_probes_over_attempts_between_them(amplified: float) -> None:
    found = slope(probes(amplified))
    assert found is not None
    assert found.amplified_utilization.value == pytest.approx(amplified)
    assert found.work_s.value == pytest.approx(amplified / 100.0)
    assert found.plain == pytest.approx(amplified)
    assert found.amplified_utilization.low < amplified < found.amplified_utilization.high


def test_what_is_offered_while_all_fail_counts_and_not_what_was_sent_just_then() -> None:
    """In a wave of retries more is sent; the work per attempt is the same."""
    found = slope(probes(2.0), offered_per_s=60.0)
    assert found is not None
    assert found.amplified_utilization.value == pytest.approx(1.2)


def test_attempts_that_were_turned_away_cost_no_work_but_are_offered() -> None:
    made = [replace(p, rejected_before=p.attempts_before // 2) for p in probes(1.0)]
    found = slope(made)
    assert found is not None
    assert found.amplified_utilization.value == pytest.approx(2.0, rel=0.02)


def test_attempts_that_a_gateway_gave_up_on_do_cost_work() -> None:
    made = [replace(p, rejected_before=p.attempts_before // 2) for p in probes(1.0)]
    found = amplified_utilization(
        made, 100.0, from_s=10.0, timeout_s=TIMEOUT_S, confidence=0.95, rejected_count=True
    )
    assert found is not None
    assert found.amplified_utilization.value == pytest.approx(1.0)


def test_probes_past_a_gateway_are_taken_off_with_their_own_work() -> None:
    """Of 10 attempts between probes one is the probe's, of 5 ms; the others have 20 ms each."""
    made = [
        replace(p, attempts_before=10 * i, done_s=12.0 + i * (9 * 0.02 + 0.005))
        for i, p in enumerate(probes(1.0))
    ]
    found = slope(made, offered_per_s=90.0, own_per_s=10.0, probe_work_s=0.005)
    assert found is not None
    assert found.work_s.value == pytest.approx(0.02)
    assert found.with_probes == pytest.approx(1.8 + 0.05)


def test_only_probes_that_met_a_busy_service_count() -> None:
    """Before the queue stood, a probe was back before the next was sent: no work is to be read off that."""
    idle = [ProbeLine(i + 1, 5.0 + 0.1 * i, 5.01 + 0.1 * i, "ok", 200, 30 * i, 0) for i in range(50)]
    queued = [replace(p, number=p.number + 50, attempts_before=p.attempts_before + 1500) for p in probes(1.3)]
    found = amplified_utilization(idle + queued, 100.0, from_s=0.0, timeout_s=TIMEOUT_S, confidence=0.95)
    assert found is not None
    assert found.probes == len(queued)
    assert found.amplified_utilization.value == pytest.approx(1.3)


def test_none_from_few_probes_or_without_a_queue() -> None:
    assert slope(probes(1.3, count=6)) is None
    assert slope(probes(1.0, wait_s=0.2)) is None
    assert slope([]) is None


def test_last_in_first_out_has_no_slope_and_says_so() -> None:
    made = probes(1.3)
    returns = sorted((p.done_s for p in made), reverse=True)
    turned = [replace(p, done_s=done + 10.0) for p, done in zip(made, returns, strict=True)]
    assert slope(turned) is None
    assert "not first in, first out" in str(out_of_order(turned, TIMEOUT_S))


def test_probes_still_out_while_later_ones_are_back_have_been_overtaken() -> None:
    """Every second probe never came back, by its number."""
    made = [p for p in probes(1.3) if p.number % 2]
    assert out_of_order(made, TIMEOUT_S) is not None


def test_neighbours_a_little_out_of_order_come_from_parallel_workers() -> None:
    made = [replace(p, done_s=p.done_s + (0.06 if p.number % 2 else -0.06)) for p in probes(1.2, count=41)]
    assert out_of_order(made, TIMEOUT_S) is None
    found = slope(made)
    assert found is not None
    assert found.amplified_utilization.value == pytest.approx(1.2, rel=0.01)


def test_probes_that_got_no_answer_tell_no_return() -> None:
    made = [
        replace(p, outcome="timeout", status=0, done_s=p.sent_s + 60.0) if p.number % 5 == 0 else p
        for p in probes(1.3)
    ]
    found = slope(made)
    assert found is not None
    assert found.amplified_utilization.value == pytest.approx(1.3)


def test_wait_goes_on_as_it_did_and_never_below_zero() -> None:
    found = slope(probes(0.8))
    assert found is not None
    assert found.wait_s(found.last_sent_s + 1.0) == pytest.approx(found.last_wait_s - 0.2)
    assert found.wait_s(1e6) == 0.0


def test_plain_slope_needs_a_few_probes() -> None:
    assert plain_slope(probes(1.3, count=5)) is None
    assert plain_slope(probes(1.3, count=6)) == pytest.approx(1.3)
