"""The interval that holds at all times at once: its boundary, and its error over whole watches."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.trigger.sequence import LEAST_INCREMENTS, boundary, mean_so_far, tuned

WATCH_TIMEOUTS = 40
ALPHA = 0.05


def works(kind: str, counts: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Sums of so many works of mean 1."""
    if kind == "exponential":
        return rng.standard_gamma(counts)
    if kind == "deterministic":
        return counts.astype(float)
    spread = math.sqrt(math.log1p(4.0))
    total = np.concatenate([[0.0], np.cumsum(rng.lognormal(-(spread**2) / 2.0, spread, int(counts.sum())))])
    ends = np.cumsum(counts)
    return total[ends] - total[ends - counts]


def ever_wrong(kind: str, slack: float, rng: np.random.Generator) -> bool:
    """Whether a watch at Aρ = 1 excludes the true mean at any time; probes as the plan has them."""
    probes = min(4.0, 0.03 * slack)
    counts = rng.poisson(slack / probes, int(WATCH_TIMEOUTS * probes)) + 1
    sums, weights = works(kind, counts, rng), counts.astype(float)
    for k in range(LEAST_INCREMENTS, counts.size + 1):
        mean = mean_so_far(sums[:k], weights[:k], ALPHA, 6.0 * slack)
        if mean is not None and not mean.low <= 1.0 <= mean.high:
            return True
    return False


@pytest.mark.parametrize("kind", ["exponential", "deterministic", "lognormal"])
@pytest.mark.parametrize("slack", [20.0, 100.0])
def test_whole_watches_at_the_edge_are_wrong_no_more_often_than_stated(kind: str, slack: float) -> None:
    """Thousands were simulated for the calibration; these show a gross error."""
    rng = np.random.default_rng(5)
    watches = 150
    wrong = sum(ever_wrong(kind, slack, rng) for _ in range(watches))
    # Three standard errors above the error that is promised.
    assert wrong <= watches * ALPHA + 3.0 * math.sqrt(watches * ALPHA * (1.0 - ALPHA))


def test_the_interval_of_a_single_look_would_be_wrong_far_too_often() -> None:
    """The same watches, judged at each probe by a 95% interval with the variance known."""
    rng = np.random.default_rng(6)
    wrong, watches = 0, 150
    for _ in range(watches):
        counts = rng.poisson(33.0, 120) + 1
        total = np.cumsum(works("exponential", counts, rng) - counts)
        wrong += bool((np.abs(total) > 1.96 * np.sqrt(np.cumsum(counts)))[5:].any())
    assert wrong / watches > 3 * ALPHA


def test_boundary_is_the_mixture_of_normals() -> None:
    """Robbins: the mixture martingale √(r/(V+r))·exp(S²/(2(V+r))) reaches 1/α on the boundary."""
    r = tuned(50.0, ALPHA)
    variances = np.array([1.0, 50.0, 5000.0])
    reach = boundary(variances, 50.0, ALPHA)
    martingale = np.sqrt(r / (variances + r)) * np.exp(reach**2 / (2.0 * (variances + r)))
    assert martingale == pytest.approx(1.0 / ALPHA)


def test_boundary_is_tightest_where_it_is_tuned() -> None:
    """In units of the standard deviation, among boundaries tuned elsewhere."""
    at = {tuned_at: float(boundary(100.0, tuned_at, ALPHA)) for tuned_at in (10.0, 100.0, 1000.0)}
    assert at[100.0] < min(at[10.0], at[1000.0])


def test_interval_shrinks_with_more_and_holds_the_mean() -> None:
    rng = np.random.default_rng(1)
    counts = np.full(200, 40)
    sums, weights = 0.01 * works("exponential", counts, rng), counts.astype(float)
    early = mean_so_far(sums[:10], weights[:10], ALPHA, 1000.0)
    late = mean_so_far(sums, weights, ALPHA, 1000.0)
    assert early is not None
    assert late is not None
    assert late.high - late.low < (early.high - early.low) / 2.0
    assert late.low < 0.01 < late.high


def test_a_steady_service_is_not_taken_to_be_steadier_than_a_quarter() -> None:
    weights = np.full(20, 10.0)
    mean = mean_so_far(0.02 * weights, weights, ALPHA, 100.0)
    assert mean is not None
    assert mean.variance == pytest.approx(0.25 * 0.02**2)


def test_noise_that_the_next_increment_takes_back_widens_less_than_noise_that_stays() -> None:
    """Parallel workers return out of order by a little: the sum over many does not know it."""
    rng = np.random.default_rng(2)
    weights, noise = np.full(81, 30.0), rng.normal(0.0, 12.0, 82)
    given_back = mean_so_far(weights + np.diff(noise), weights, ALPHA, 1000.0)
    stays = mean_so_far(weights + math.sqrt(2.0) * noise[1:], weights, ALPHA, 1000.0)
    assert given_back is not None
    assert stays is not None
    assert given_back.variance < 0.7 * stays.variance


def test_few_increments_tell_nothing() -> None:
    few = np.ones(LEAST_INCREMENTS - 1)
    assert mean_so_far(few, few, ALPHA, 100.0) is None
