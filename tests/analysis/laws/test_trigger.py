from __future__ import annotations

import math

import pytest

from analysis import laws
from analysis.fluid import first_late_s, fluid_trace, last_late_s
from domain.experiment import Client, Demand, Experiment, Phase, Service


@pytest.mark.parametrize(
    ("k", "rho", "duration", "triggers"),
    [
        (5, 0.2, 300, False),
        (5, 0.25, 300, True),
        (5, 0.25, 40, False),
        (5, 0.25, 40.1, True),
        (2, 0.9, 1, False),
    ],
)
def test_a_spike_triggers_iff_it_builds_more_than_the_timeout(
    k: float, rho: float, duration: float, triggers: bool
) -> None:
    """(kρ − 1)Δ > T, strictly."""
    assert (
        laws.spike_triggers(spike_factor=k, utilization=rho, spike_duration_s=duration, timeout_s=10)
        is triggers
    )


def test_a_capacity_cut_is_not_a_spike_of_the_same_factor() -> None:
    """A cut to a fifth at 40% leaves (ρ − 1/k)Δ of wait, a fivefold spike (kρ − 1)Δ."""
    assert laws.capacity_cut_wait_s(cut_factor=5, utilization=0.4, cut_duration_s=300) == pytest.approx(60)
    assert laws.spike_wait_s(5, 0.4, 300) == pytest.approx(300)
    assert laws.capacity_cut_wait_s(cut_factor=math.inf, utilization=0.4, cut_duration_s=60) == pytest.approx(
        24
    )


def test_first_timeout_comes_after_twenty_seconds_of_f2_30() -> None:
    """t0 = T/(kρ − 1)."""
    assert laws.time_to_first_timeout_s(spike_factor=5, utilization=0.3, timeout_s=10) == pytest.approx(20)
    assert math.isinf(laws.time_to_first_timeout_s(spike_factor=5, utilization=0.2, timeout_s=10))


@pytest.mark.parametrize("k", [1.05, 1.5, 2, 3, 5, 20, math.inf])
@pytest.mark.parametrize("rho", [0.05, 0.2, 0.4, 0.6, 0.9])
@pytest.mark.parametrize("timeout", [1.0, 10.0])
def test_a_cut_triggers_iff_the_fluid_model_has_a_late_attempt(k: float, rho: float, timeout: float) -> None:
    """ρ(Δ − T) > Δ/k, and the first and last late attempts, on a grid of lengths from T/2 to 30T."""
    for ratio in (0.5, 1.05, 1.2, 1.6, 2.2, 4, 9.7, 30):
        length, before = ratio * timeout, 2 * timeout
        cut = {"cut_factor": k, "utilization": rho, "cut_duration_s": length, "timeout_s": timeout}
        phases = (
            Phase("before", before),
            Phase("cut", length, capacity_factor=1 / k),
            Phase("after", length / (1 - rho) + before),
        )
        trace = fluid_trace(
            Experiment("cut", "", Client(timeout, 1), Demand(160 * rho, phases), Service(4, 40.0))
        )
        first, last = first_late_s(trace), last_late_s(trace)
        assert laws.cut_triggers(**cut) == (first is not None)
        if first is None or last is None:
            assert math.isinf(laws.cut_first_late_s(**cut))
            assert laws.cut_last_late_s(**cut) == -math.inf
        else:
            step = 3 * (trace.t_s[1] - trace.t_s[0])
            assert laws.cut_first_late_s(**cut) == pytest.approx(first - before, abs=step)
            assert laws.cut_last_late_s(**cut) == pytest.approx(last - before, abs=step)


def test_an_outage_of_twenty_seconds_is_a_trigger_though_it_leaves_only_eight_of_wait() -> None:
    """What its first half sent times out before capacity is back; those retries trap it at Aρ = 1.2."""
    cut = {"cut_factor": math.inf, "utilization": 0.4, "cut_duration_s": 20}
    assert laws.capacity_cut_wait_s(**cut) == pytest.approx(8)
    assert laws.cut_triggers(**cut, timeout_s=10)
    assert not laws.cut_triggers(**{**cut, "cut_duration_s": 10}, timeout_s=10)
    phases = (Phase("cut", 20.0, capacity_factor=0.0), Phase("after", 1000.0))
    trace = fluid_trace(Experiment("cut", "", Client(10.0, 3), Demand(64.0, phases), Service(4, 40.0)))
    assert trace.late[-1]


def test_a_cut_that_leaves_enough_is_no_trigger_however_long() -> None:
    """1/k ≥ ρ serves everything; and demand of nothing waits for nothing."""
    cut = {"utilization": 0.4, "cut_duration_s": 1e9, "timeout_s": 1}
    assert not laws.cut_triggers(cut_factor=2.5, **cut)
    assert laws.cut_triggers(cut_factor=2.51, **cut)
    assert not laws.cut_triggers(cut_factor=math.inf, **{**cut, "utilization": 0})
