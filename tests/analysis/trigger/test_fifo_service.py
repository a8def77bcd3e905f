"""The made-up service and its steered client keep the books they are trusted for."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from analysis.trigger.observations import Observations
from domain.experiment import Client
from domain.service_time import ServiceTime
from domain.trigger.messages import Drop, End, Load, Probe, Saturate, Stopped
from tests.analysis.trigger.fifo_service import FifoService, Gateway, SteeredService

CLIENT = Client(0.4, 3)


def run(service: SteeredService, until_s: float, seen: Observations | None = None) -> Observations:
    seen = Observations() if seen is None else seen
    for line in service.advance(until_s):
        seen.take(line)
    return seen


def test_every_attempt_is_counted_once() -> None:
    made = SteeredService(FifoService(100.0), CLIENT, seed=2)
    made.obey(Load(150.0, "overload"))
    last = run(made, 10.0).ticks[-1]
    assert last.first + last.retries == last.answered + last.failed + last.open_attempts
    assert last.failed == last.timeouts + last.rejected + last.errors
    assert last.first == pytest.approx(1500, abs=4 * np.sqrt(1500))


def test_a_closed_loop_finds_the_capacity() -> None:
    made = SteeredService(FifoService(100.0), CLIENT, seed=3)
    made.obey(Saturate(8, "capacity"))
    assert run(made, 20.0).ticks[-1].saturated == pytest.approx(2000, rel=0.1)


def test_probes_measure_the_work_between_them_exactly() -> None:
    """With works of one size, returns lie as far apart as attempts were sent in between."""
    made = SteeredService(FifoService(100.0, ServiceTime("deterministic")), CLIENT)
    made.obey(Probe(5.0))
    made.obey(Load(200.0, "overload"))
    waiting = [probe for probe in run(made, 20.0).probes if probe.done_s - probe.sent_s > 0.5]
    assert len(waiting) > 5
    for one, other in pairwise(waiting):
        sent = other.attempts_before - one.attempts_before
        assert other.done_s - one.done_s == pytest.approx(sent / 100.0)


def test_a_cap_rejects_and_last_in_first_out_overtakes() -> None:
    capped = SteeredService(FifoService(100.0, places=5), CLIENT)
    capped.obey(Load(200.0, "overload"))
    assert run(capped, 5.0).ticks[-1].rejected > 100
    turned = SteeredService(FifoService(100.0, discipline="lifo"), Client(0.4, 1))
    turned.obey(Load(200.0, "overload"))
    assert run(turned, 5.0).ticks[-1].answered > 300


def test_a_gateway_multiplies_and_answers_itself() -> None:
    made = SteeredService(FifoService(50.0, gateway=Gateway(2, 0.1)), CLIENT)
    made.obey(Load(100.0, "overload"))
    last = run(made, 10.0).ticks[-1]
    assert last.rejected > 0.9 * last.failed
    assert made.received[-1][1] == pytest.approx(2 * (last.first + last.retries), rel=0.05)


def test_dropping_ends_all_load_and_the_end_is_the_end() -> None:
    made = SteeredService(FifoService(100.0), CLIENT)
    made.obey(Load(150.0, "overload"))
    made.obey(Probe(5.0))
    seen = run(made, 5.0)
    made.obey(Drop("rescue"))
    sent = seen.ticks[-1].first
    run(made, 15.0, seen)
    assert seen.ticks[-1].first <= sent + 150 * 0.05 + 10
    assert seen.ticks[-1].open_attempts == 0
    made.obey(End())
    assert isinstance(run(made, 16.0, seen).stopped, Stopped)
