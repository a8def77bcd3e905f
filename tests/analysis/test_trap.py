"""A of an experiment: at the speed of its run, and with what bounds its clients."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from analysis.trap import attempts_a_job, decided_by_law, failing_amplification
from domain.admission import Admission
from domain.backoff import FixedBackoff
from domain.breakers.circuit_breaker import CircuitBreaker
from domain.budgets.ratio import RatioBudget
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service


def scenario(speedup: float = 10.0, **client: Any) -> Experiment:
    """64 jobs/s, T = 10 s, three attempts unless said."""
    settings: dict[str, Any] = {"timeout_s": 10.0, "max_attempts": 3, **client}
    demand = Demand(64.0, (Phase("steady", 100.0),))
    return Experiment("x", "x", Client(**settings), demand, Service(4, 40.0), RunSettings(speedup, 1))


@pytest.mark.parametrize("speedup", [1.0, 10.0])
def test_durations_are_those_of_the_run_and_rates_stay(speedup: float) -> None:
    """Polly: one probe, 5 s open, a timeout of 10 s, the latter shorter by the speed-up: 1/(1 + λ · 15 s)."""
    failing = failing_amplification(scenario(speedup, breaker=CircuitBreaker.polly()))
    assert failing == pytest.approx(1 / (1 + 64 * 15 / speedup))
    assert failing_amplification(scenario(speedup)) == 3.0
    assert failing_amplification(scenario(speedup, budget=RatioBudget(0.1))) == pytest.approx(1.1)


def test_attempts_of_a_job_are_bounded_by_what_bounds_the_client() -> None:
    """m whatever the budget; without one, as many as fit before the deadline, or a budget pays for."""
    assert attempts_a_job(scenario(breaker=CircuitBreaker.polly())) == 3.0
    endless = scenario(max_attempts=math.inf, backoff=FixedBackoff(10.0))
    assert attempts_a_job(endless) == math.inf
    assert attempts_a_job(replace(endless, client=replace(endless.client, deadline_s=95.0))) == 5.0
    assert attempts_a_job(scenario(max_attempts=math.inf, budget=RatioBudget(0.1))) == pytest.approx(1.1)
    assert attempts_a_job(scenario(max_attempts=math.inf, breaker=CircuitBreaker.polly())) == 1.0


def test_the_law_decides_where_the_service_just_serves() -> None:
    """Anything else that it does, or turns away, is beyond it."""
    plain = scenario()
    assert decided_by_law(plain)
    assert decided_by_law(replace(plain, service=None))
    assert plain.service is not None
    capped = replace(plain.service, admission=Admission(queue_cap=3))
    assert not decided_by_law(replace(plain, service=capped))
