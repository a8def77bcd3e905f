"""Arrival times are exact, reproducible, and split without changing the process."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from domain.arrivals import ArrivalPlan, Segment, segments
from domain.streams import stream


def _plan(kind: str = "poisson") -> ArrivalPlan:
    return ArrivalPlan(segments([10, 5, 5, 20], [1, 5, 0, 0.5], 20), kind)  # type: ignore[arg-type]


def test_uniform_arrivals_are_evenly_spaced_at_half_a_step() -> None:
    """At 10/s the first arrival is at 0.05 s and then one comes every 0.1 s."""
    found = ArrivalPlan((Segment(0, 1, 10),), "uniform").draw(stream(1, "arrivals"))
    np.testing.assert_allclose(found, np.arange(10) / 10 + 0.05)


@pytest.mark.parametrize("kind", ["poisson", "uniform"])
def test_nothing_arrives_in_a_phase_without_load(kind: str) -> None:
    """A factor of 0 is silence."""
    found = _plan(kind).draw(stream(1, "arrivals"))
    assert not ((found > 15) & (found < 20)).any()


def test_the_expected_number_of_jobs_is_the_integral_of_the_rate() -> None:
    """20·10 + 100·5 + 0·5 + 10·20 = 900."""
    assert _plan().expected_jobs == pytest.approx(900)


def test_each_phase_has_its_rate() -> None:
    """Counts per phase over 200 seeds are within four standard errors of rate × duration."""
    edges = [0, 10, 15, 20, 40]
    counts = sum(np.histogram(_plan().draw(stream(s, "arrivals")), edges)[0] for s in range(200))
    expected = np.array([200, 500, 0, 200]) * 200
    assert np.all(np.abs(counts - expected) <= 4 * np.sqrt(expected))


def test_gaps_are_exponential() -> None:
    """Kolmogorov–Smirnov on the gaps of a constant rate."""
    found = ArrivalPlan((Segment(0, 200, 50),)).draw(stream(3, "arrivals"))
    assert stats.kstest(np.diff(found), "expon", args=(0, 1 / 50)).pvalue > 0.001


def test_workers_together_are_poisson_at_the_whole_rate() -> None:
    """The superposition of the workers' streams has exponential gaps."""
    plan = ArrivalPlan((Segment(0, 200, 50),))
    merged = np.sort(np.concatenate([plan.draw(stream(3, "arrivals", w), w, 3) for w in range(3)]))
    assert merged.size == pytest.approx(10_000, abs=400)
    assert stats.kstest(np.diff(merged), "expon", args=(0, 1 / 50)).pvalue > 0.001


def test_workers_share_uniform_arrivals_without_overlap() -> None:
    """Each takes every n-th; together they are the whole plan."""
    plan = _plan("uniform")
    merged = np.sort(np.concatenate([plan.draw(stream(1, "arrivals"), w, 3) for w in range(3)]))
    np.testing.assert_allclose(merged, plan.draw(stream(1, "arrivals")))


@given(
    chunk=st.integers(1, 50),
    durations=st.lists(st.floats(0.1, 10), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_arrivals_are_ascending_in_range_and_independent_of_the_chunk(
    chunk: int, durations: list[float], seed: int
) -> None:
    """However they are drawn, the same seed gives the same ascending times within the phases."""
    plan = ArrivalPlan(segments(durations, [1.0] * len(durations), 7.0))
    found = list(plan.offsets(stream(seed, "arrivals"), chunk=chunk))
    joined = np.concatenate(found) if found else np.empty(0)
    np.testing.assert_allclose(joined, plan.draw(stream(seed, "arrivals")))
    assert np.all(np.diff(joined) >= 0)
    assert np.all((joined >= 0) & (joined <= plan.end_s + 1e-9))


def test_a_spike_keeps_the_draws_of_the_calm_before_it() -> None:
    """Arrivals before a phase do not depend on what comes after."""
    calm = ArrivalPlan(segments([10, 10], [1, 1], 20)).draw(stream(1, "arrivals"))
    spiky = ArrivalPlan(segments([10, 10], [1, 9], 20)).draw(stream(1, "arrivals"))
    np.testing.assert_allclose(calm[calm < 10], spiky[spiky < 10])


def test_no_load_at_all_is_an_empty_plan() -> None:
    """A rate of zero yields nothing and ends."""
    assert ArrivalPlan((Segment(0, 10, 0),)).draw(stream(1, "arrivals")).size == 0
