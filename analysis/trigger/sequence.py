"""A mean watched while it comes in, with an interval that holds at all times at once.

A verdict may be taken at any tick, so the interval of the work per attempt must be right at every tick
together: looking forty times at an interval made for one look is wrong far more often than once in twenty.
Robbins' normal mixture gives the boundary: for independent increments whose sum has the variance V so far,

    |sum − its mean| < √((V + r)·ln((V + r)/(α²·r)))   for all V at once, with probability 1 − α,

r chosen so that it is tightest at a stated V. Sources: H. Robbins, "Statistical methods related to the law of
the iterated logarithm" (1970); S. Howard, A. Ramdas, J. McAuliffe, J. Sekhon, "Time-uniform, nonparametric,
nonasymptotic confidence sequences", Annals of Statistics 49 (2021), the two-sided normal mixture.

The boundary takes V as known. Here it is estimated, with two cares: an estimate is set up as if it were as
low as one in fourteen would be, by its χ² distribution, and it is never less than a quarter of the square of
the mean per attempt, a squared variation of .25 where an exponential service has 1. Parallel workers, and
retries of a hidden layer that come late, add noise to an increment which the next one takes back; that is
seen in single increments, less in blocks of them, so the smaller of the two estimates is taken. All this is
calibrated by simulation: at Aρ = 1, of 100 whole watches of 40 timeouts, 1 to 2 leave 1 out at some time for
an exponential service, none for a deterministic one, up to 5 for a lognormal one of variation 2 (C·T from 20
to 500). The tests keep a part of that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEAST_SQUARED_VARIATION = 0.25
"""Of the work of one attempt: no service is taken to be steadier than that."""
LEAST_INCREMENTS = 6
"""Fewer tell nothing of their own spread."""
LOW_ESTIMATE = 0.07
"""The estimated variance is set up as if only this share of estimates were lower."""
BLOCK = 4
"""Increments to a block."""


def tuned(variance: float, alpha: float) -> float:
    """r of the mixture whose boundary is tightest at this variance: V/(2·ln(1/α) + ln(1 + 2·ln(1/α))).

    Source: Howard et al. 2021, after eq. 14 (an approximation of Lambert's W there).
    """
    twice = 2.0 * math.log(1.0 / alpha)
    return variance / (twice + math.log1p(twice))


def boundary(variance: Floats | float, tuned_variance: float, alpha: float) -> Floats:
    """How far a sum of normal increments is from its mean: at all variances at once, probability 1 − α."""
    r = tuned(tuned_variance, alpha)
    grown = np.asarray(variance, dtype=np.float64) + r
    return np.asarray(np.sqrt(grown * np.log(grown / (alpha * alpha * r))), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean per unit of weight with its interval; ``variance`` is per unit of weight, as used."""

    value: float
    low: float
    high: float
    variance: float
    weight: float


def mean_so_far(sums: Floats, weights: Floats, alpha: float, tuned_weight: float) -> Mean | None:
    """Mean of independent increments per unit of weight, valid at all times at once with error ``alpha``.

    ``sums`` are the increments, ``weights`` (positive) their weights; the variance grows with the weight.
    ``tuned_weight`` is the total weight at which the interval is to be tightest. None below
    ``LEAST_INCREMENTS``.
    """
    k = int(sums.size)
    if k < LEAST_INCREMENTS:
        return None
    total = float(weights.sum())
    value = float(sums.sum()) / total
    variance = max(_variance(sums, weights, value), LEAST_SQUARED_VARIATION * value * value)
    if variance == 0.0:
        return None
    reach = float(boundary(variance * total, variance * tuned_weight, alpha)) / total
    return Mean(value, value - reach, value + reach, variance, total)


def _variance(sums: Floats, weights: Floats, value: float) -> float:
    """Variance per unit of weight, set up for how few increments it is from; of blocks if that is less."""
    single = _scatter(sums, weights, value)
    blocks = sums.size // BLOCK
    if blocks < LEAST_INCREMENTS:
        return single
    kept = blocks * BLOCK
    in_blocks = [part[:kept].reshape(blocks, BLOCK).sum(axis=1) for part in (sums, weights)]
    return min(single, _scatter(in_blocks[0], in_blocks[1], value))


def _scatter(sums: Floats, weights: Floats, value: float) -> float:
    freedom = int(sums.size) - 1
    return float((((sums - value * weights) ** 2) / weights).sum()) / freedom * _inflation(freedom)


@lru_cache(maxsize=4096)
def _inflation(freedom: int) -> float:
    from scipy.special import chdtri

    return freedom / float(chdtri(freedom, 1.0 - LOW_ESTIMATE))
