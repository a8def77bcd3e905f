"""The simulation against closed forms of queueing theory and against the fluid model."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import gammaincc

from analysis.fluid import fluid_trace, last_late_s
from analysis.simulation import simulate_seeds
from analysis.simulation.bands import simulate_bands
from analysis.simulation.counts import Counts
from domain.backoff import FullJitterBackoff
from domain.queue_cap import QueueCap
from domain.service_time import KINDS, ServiceTime
from domain.streams import stream
from tests.analysis.fifo import kit
from tests.analysis.simulation.test_kernel import mm1

SEEDS = range(40)


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / math.sqrt(values.size))


def late_ratios(counts: Counts) -> np.ndarray:
    return counts.late_ratio[:, -1]


@pytest.mark.parametrize(("load", "formula"), [(0.46, 0.0672), (0.7, 0.2231), (0.92, 0.6703)])
def test_kernel_of_the_timeout(load: float, formula: float) -> None:
    """No retries, θ = 5: P(late) = e^(−θ(1−x)) within four standard errors. Source: seed 000 Lemma 1."""
    horizon = 20_000.0
    counts = simulate_seeds(mm1(load, horizon_s=horizon), SEEDS, edges_s=[2000.0, horizon])
    mean, error = mean_and_error(late_ratios(counts))
    assert formula == pytest.approx(math.exp(-5 * (1 - load)), abs=5e-5)
    assert mean == pytest.approx(math.exp(-5 * (1 - load)), abs=4 * error)
    assert error < 0.02


@pytest.mark.parametrize("kind", KINDS)
def test_pollaczek_khinchine(kind: str) -> None:
    """The mean backlog of an M/G/1 queue is ρ(1 + cv²)/(2(1 − ρ)), whatever the service times."""
    service_time = ServiceTime(kind, {"pareto": 3.5, "lognormal": 1.2}.get(kind))  # type: ignore[arg-type]
    horizon = 20_000.0
    experiment = mm1(0.6, theta=1e9, horizon_s=horizon, service_time=service_time)
    counts = simulate_seeds(experiment, SEEDS, edges_s=np.arange(1000.0, horizon + 1, 19.0))
    mean, error = mean_and_error(counts.backlog_s.mean(axis=1))
    expected = 0.6 * (1 + service_time.squared_variation) / (2 * 0.4)
    assert mean == pytest.approx(expected, abs=4 * error)
    assert error < 0.12 * expected


def test_erlang_c() -> None:
    """Four pods at 80%: the share of attempts that find all busy is Erlang's C, .5964."""
    horizon = 20_000.0
    counts = simulate_seeds(
        mm1(0.8, theta=1e9, horizon_s=horizon, pods=4),
        SEEDS,
        edges_s=np.arange(1000.0, horizon + 1, 3.7),
    )
    mean, error = mean_and_error((counts.depth >= 4).mean(axis=1))
    assert mean == pytest.approx(0.5964, abs=4 * error)


@pytest.mark.parametrize(("places", "late"), [(2, 0.1247), (5, 0.6160), (10, 0.9863)])
def test_kernel_of_a_full_queue(places: int, late: float) -> None:
    """Far beyond capacity every admitted attempt takes the last place: q_L = P(Erlang(L+1) > θ)."""
    counts = simulate_seeds(
        mm1(40.0, horizon_s=2000.0), range(8), edges_s=[100.0, 2000.0], queue_cap=QueueCap(places, "give-up")
    )
    mean, error = mean_and_error(late_ratios(counts))
    assert late == pytest.approx(gammaincc(places + 1, 5.0), abs=5e-5)
    assert mean == pytest.approx(late, abs=4 * error + 0.03)


def test_fluid_is_the_limit_of_large_slack() -> None:
    """The higher the rates at the same timeout, the nearer each recovery is to the fluid's."""
    edges = np.arange(400.0, 5401.0, 10.0)
    spreads, biases = [], []
    for rate in (4.0, 40.0, 400.0):
        experiment = kit(0.25, watch_s=5000, speedup=1.0, rate_per_pod=rate)
        fluid = last_late_s(fluid_trace(experiment))
        assert fluid is not None
        well = simulate_seeds(experiment, range(12), edges_s=edges).goodput_ratio > 0.5
        last_failing = well.shape[1] - np.argmin(well[:, ::-1], axis=1)
        recoveries = edges[last_failing] - 400.0
        spreads.append(np.ptp(recoveries) / (fluid - 400.0))
        biases.append(abs(np.median(recoveries) / (fluid - 400.0) - 1.0))
    assert spreads[0] > spreads[1] > spreads[2]
    assert spreads[2] < 0.12
    assert biases[2] < 0.02


def test_same_numbers_whatever_the_cores() -> None:
    experiment = mm1(0.45, 5.0, 6, FullJitterBackoff(5.0, 40.0), 690.0)
    one, two, three = (simulate_seeds(experiment, range(30), cores=cores) for cores in (1, 2, 3))
    for name in ("jobs", "attempts", "late", "answered", "busy_s", "depth", "backlog_s"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
        np.testing.assert_array_equal(getattr(one, name), getattr(three, name))
    bands = [simulate_bands(kit(0.4, watch_s=300), range(4), cores=cores) for cores in (1, 2)]
    assert bands[0].values == bands[1].values
    assert bands[0].outcomes == bands[1].outcomes


def test_split_streams_make_the_same_queue() -> None:
    """The streams of three workers, put together, wait as one Poisson stream does: e^(−θ(1−x)) are late."""
    load, horizon = 0.7, 20_000.0
    plan = mm1(load, horizon_s=horizon).arrival_plan
    ratios = []
    for seed in range(12):
        streams = [plan.draw(stream(seed, "arrivals", worker), worker, 3) for worker in range(3)]
        merged = np.sort(np.concatenate(streams))
        works = stream(seed, "service").standard_exponential(merged.size)
        # Lindley: end_n = max over k ≤ n of arrival_k + works from k to n.
        done = np.cumsum(works)
        ends = np.maximum.accumulate(merged - done + works) + done
        ratios.append(float(((ends - merged) > 5.0)[merged > 1000.0].mean()))
    mean, error = mean_and_error(np.array(ratios))
    assert mean == pytest.approx(math.exp(-5 * (1 - load)), abs=4 * error)
