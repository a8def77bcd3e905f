"""When a mean or a share of the source agrees with ours, both being known only to within chance."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from analysis.studies.agreement import Agreement, not_comparable
from analysis.studies.claims import Claim
from analysis.studies.collapse_law.shares import Share, Z
from analysis.studies.sample import Sample
from analysis.wording import number

FEWEST = 15
"""Values from which the middle 95% can be read off at all."""


def mean_over(sample: Sample, claimed: float, seeds: int, sd: float | None = None) -> Agreement:
    """Whether a mean over ``seeds`` seeds is one that our seeds make likely.

    The difference must be no more than 1.96 of its standard errors, for which the source's spread
    between seeds is ``sd``, or ours where it gives none.
    """
    spread = sample.sd if sd is None else sd
    error = math.hypot(sample.sd / math.sqrt(max(1, len(sample.values))), spread / math.sqrt(seeds))
    gap = sample.mean - claimed
    ok = abs(gap) <= Z * error
    whose = "our" if sd is None else "its"
    return Agreement(
        ok,
        f"ours is {number(abs(gap), 2)} {'higher' if gap >= 0 else 'lower'}, "
        f"{'within' if ok else 'beyond'} the ±{number(Z * error, 2)} of a mean over its {seeds} seeds "
        f"with {whose} spread of {number(spread, 2)}",
    )


def share_over(ours: Share, claimed: float, seeds: int) -> Agreement:
    """Whether a share of ``seeds`` runs and ours may be the same: Newcombe's interval holds 0."""
    theirs = Share(round(claimed * seeds), seeds)
    low, high = ours.difference(theirs)
    ok = low <= 0 <= high
    return Agreement(
        ok,
        f"{theirs.count:,} of its {seeds:,} seeds; the 95% interval of the difference, {number(low, 2)} to "
        f"{number(high, 2)}, {'holds' if ok else 'does not hold'} 0",
    )


def single_run(sample: Sample, low: float, high: float | None = None) -> Agreement:
    """Whether a single run of the source, or a range of runs, is like ours.

    The figure, or part of the range, must lie where the middle 95% of our seeds do: what runs give is
    too skewed, and too often one thing or another, for a prediction interval from mean and deviation.
    """
    if len(sample.values) < FEWEST:
        return not_comparable(f"{len(sample.values)} values are too few to tell where runs fall")
    least, most = (float(q) for q in np.quantile(sample.values, (0.025, 0.975)))
    ok = (low if high is None else high) >= least and low <= most
    return Agreement(
        ok, f"{'inside' if ok else 'outside'} the middle 95% of ours, {number(least)} to {number(most)}"
    )


def claim(statement: str, section: str, claimed: str, ours: str, agreement: Agreement) -> Claim:
    """A line of the table, of a section of the source."""
    return Claim(statement, f"000 {section}", claimed, ours, agreement.agrees, agreement.why)


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
