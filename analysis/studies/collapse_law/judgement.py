"""When a mean or a share of the source agrees with ours, both being known only to within chance.

An interval of ours that is wider than half of the source's figure can refute it but not confirm it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.special import stdtrit

from analysis.studies.agreement import FEWEST_RUNS, Agreement, not_comparable, too_few, wide
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.shares import Share, Z
from analysis.studies.sample import CONFIDENCE, Sample
from analysis.wording import number

FEWEST = 15
"""Values from which the middle 95% can be read off at all."""
PRINTED = 0.04
"""Figures below this are known well enough to within their last digit, 0.01, either side."""

Interval = tuple[float, float]


def mean_over(
    sample: Sample, claimed: float, seeds: int, sd: float | None = None, *, scale: float | None = None
) -> Agreement:
    """Whether a mean over ``seeds`` seeds is one that our seeds make likely.

    The difference must lie in its 95% interval, for which the source's spread between seeds is ``sd``,
    or ours where it gives none. ``scale`` is what our own interval is compared with in size: the claimed
    figure, unless that is a difference.
    """
    count = len(sample.values)
    if count < FEWEST_RUNS:
        return not_comparable(too_few(count, "seed", FEWEST_RUNS, "for a mean"))
    spread, factor = (sample.sd, float(stdtrit(count - 1, (1 + CONFIDENCE) / 2))) if sd is None else (sd, Z)
    reach = math.hypot(sample.half_width, factor * spread / math.sqrt(seeds))
    gap = sample.mean - claimed
    ok = abs(gap) <= reach
    if ok and (words := wide(2 * sample.half_width, max(PRINTED, abs(claimed if scale is None else scale)))):
        return not_comparable(words)
    whose = "our spread (it gives none)" if sd is None else "its spread"
    return Agreement(
        ok,
        f"ours is {number(abs(gap), 2)} {'higher' if gap >= 0 else 'lower'}, "
        f"{'within' if ok else 'beyond'} the ±{number(reach, 2)} of our seeds and a mean over its {seeds} "
        f"with {whose} of {number(spread, 2)}",
        chance=True,
    )


def share_over(ours: Share, claimed: float, seeds: int) -> Agreement:
    """Whether a share of ``seeds`` runs and ours may be the same: Newcombe's interval holds 0."""
    theirs = Share(round(claimed * seeds), seeds)
    low, high = ours.difference(theirs)
    ok = low <= 0 <= high
    least, most = ours.interval
    if ok and (words := wide(most - least, max(theirs.value, 1 - theirs.value))):
        return not_comparable(words)
    return Agreement(
        ok,
        f"{theirs.count:,} of its {seeds:,} seeds; the 95% interval of the difference, {number(low, 2)} to "
        f"{number(high, 2)}, {'holds' if ok else 'does not hold'} 0",
        chance=True,
    )


def single_run(sample: Sample, low: float, high: float | None = None) -> Agreement:
    """Whether a single run of the source, or a range of runs, is like ours.

    The figure, or part of the range, must lie where the middle 95% of our seeds do: what runs give is
    too skewed, and too often one thing or another, for a prediction interval from mean and deviation.
    """
    if len(sample.values) < FEWEST:
        return not_comparable(too_few(len(sample.values), "value", FEWEST, "to tell where runs fall"))
    least, most = (float(q) for q in np.quantile(sample.values, (0.025, 0.975)))
    high = low if high is None else high
    ok = high >= least and low <= most
    where = f"the middle 95% of ours, {number(least)} to {number(most)}"
    if ok and (words := wide(most - least, (low + high) / 2)):
        return not_comparable(f"inside {where}, but {words}")
    return Agreement(ok, f"{'inside' if ok else 'outside'} {where}", chance=True)


def difference(a: Sample, b: Sample) -> Interval:
    """The 95% interval of one mean minus another (Welch)."""
    (u, n), (v, m) = ((s.sd**2 / max(1, len(s.values)), len(s.values)) for s in (a, b))
    if min(n, m) < 2:
        return -math.inf, math.inf
    degrees = (u + v) ** 2 / (u**2 / (n - 1) + v**2 / (m - 1)) if u + v > 0 else 1.0
    reach = float(stdtrit(degrees, (1 + CONFIDENCE) / 2)) * math.sqrt(u + v)
    return a.mean - b.mean - reach, a.mean - b.mean + reach


def above(interval: Interval) -> bool | None:
    """Whether a difference is above zero: None if its interval holds zero."""
    low, high = interval
    if low > 0:
        return True
    return False if high < 0 else None


def descending(samples: Sequence[Sample]) -> bool | None:
    """Whether means fall from one to the next: False if one rises for certain, None if one cannot be told."""
    steps = [above(difference(a, b)) for a, b in pairwise(samples)]
    if False in steps:
        return False
    return None if None in steps else True


ORDER = {
    True: "each step down beyond its 95% interval",
    False: "a step goes up beyond its 95% interval",
    None: "not every step can be told from none with 95% confidence",
}


def claim(statement: str, section: str, claimed: str, ours: str, agreement: Agreement) -> Claim:
    """A line of the table, of a section of the source."""
    return Claim(
        statement,
        f"000 {section}",
        claimed,
        ours,
        agreement.agrees,
        agreement.why,
        agreement.fitted,
        chance=agreement.chance,
    )


def median_errors(predicted: Sequence[float], measured: Sequence[Sample], group: int) -> Sample:
    """The median over cells of the relative error of a mean over ``group`` seeds, one per group of seeds.

    So many values as groups can be formed in every cell: the error that a study of ``group`` seeds finds.
    """
    fewest = min(len(sample.values) for sample in measured)
    group = max(1, min(group, fewest))
    groups = fewest // group
    errors = [
        [
            abs(float(np.mean(sample.values[i * group : (i + 1) * group])) / law - 1)
            for law, sample in zip(predicted, measured, strict=True)
        ]
        for i in range(groups)
    ]
    return Sample.of(float(np.median(row)) for row in errors)
