"""When a mean or a share of the source agrees with ours, both being known only to within chance."""

from __future__ import annotations

import math

from analysis.studies.agreement import Agreement
from analysis.studies.collapse_law.shares import Z, Share
from analysis.studies.sample import Sample
from analysis.wording import number


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
