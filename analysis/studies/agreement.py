"""When a figure of a source and our own agree: the rules, each of which says in words how it judged.

Chance on our side never helps a source: where our own interval is too wide to tell, or only part of it
agrees, the verdict is "not comparable" (None), and the words say how wide it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from analysis.studies.counting import counted
from analysis.studies.sample import Sample
from analysis.wording import number, percent

FEWEST_RUNS = 5
"""Seeds from which a prediction interval is no wider than about three standard deviations either side."""
WIDEST = 0.5
"""Widest interval of ours, over the source's figure, that may count as agreement."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether two figures agree and by which rule; ``agrees`` is None where they cannot be compared.

    ``fitted`` names what of ours was chosen so that they do, or could have been. ``chance`` marks a rule
    that rests on a 95% interval over seeds, and so differs one time in twenty from chance alone.
    """

    agrees: bool | None
    why: str
    fitted: str = ""
    chance: bool = False

    def because(self, remark: str) -> Agreement:
        """The same verdict with a remark that explains it."""
        return replace(self, why=f"{self.why}. {remark}")

    def fitted_to(self, parameter: str) -> Agreement:
        """The same verdict, which rests on a parameter of ours."""
        return replace(self, fitted=parameter)

    def by_chance(self) -> Agreement:
        """The same verdict, which rests on a 95% interval over seeds."""
        return replace(self, chance=True)


def not_comparable(why: str) -> Agreement:
    """No verdict."""
    return Agreement(None, why)


def too_few(count: int, noun: str, needed: int, purpose: str) -> str:
    """In words that there are not enough of something: "1 value is too few for a mean (15 are needed)"."""
    verb = "is" if count == 1 else "are"
    return f"{counted(count, noun)} {verb} too few {purpose} ({needed} are needed)"


def same(ours: object, claimed: object) -> Agreement:
    """Equal, as a count or an outcome is."""
    return Agreement(ours == claimed, "the same" if ours == claimed else f"not {claimed}")


def as_printed(ours: float, claimed: str) -> Agreement:
    """Equal when rounded to the digits that the source prints."""
    exponent = Decimal(claimed).as_tuple().exponent
    assert isinstance(exponent, int)
    half_unit = 0.5 * 10.0**exponent
    ok = abs(ours - float(claimed)) <= half_unit * (1 + 1e-9)
    return Agreement(ok, "equal in every printed digit" if ok else "differs in the printed digits")


def close(ours: float, claimed: float, tolerance: float) -> Agreement:
    """Within a relative tolerance of the source's figure."""
    off = ours / claimed - 1.0
    if off == 0.0:
        return Agreement(True, "equal")
    side = "within" if abs(off) <= tolerance else "outside"
    sign = "+" if off > 0 else "−"
    share = number(100 * abs(off), 2)
    return Agreement(abs(off) <= tolerance, f"off by {sign}{share}%: {side} {percent(tolerance)}")


def between(ours: float, low: float, high: float, tolerance: float) -> Agreement:
    """Inside the range that the source gives, or no further outside it than the tolerance."""
    if low <= ours <= high:
        return Agreement(True, "inside the source's range")
    return close(ours, low if ours < low else high, tolerance).because(
        "Compared with the nearer end of the source's range"
    )


def interval_within(least: float, most: float, low: float, high: float) -> bool | None:
    """True if our interval lies within the bounds, False if it lies beyond them, None if it straddles one."""
    if low <= least and most <= high:
        return True
    return False if most < low or least > high else None


def all_hold(verdicts: Iterable[bool | None]) -> bool | None:
    """False if one is refuted, else None if one is undecided, else True."""
    found = list(verdicts)
    if False in found:
        return False
    return None if None in found else True


def wide(width: float, scale: float) -> str:
    """In words that an interval of ours is too wide to agree with a figure of this size; "" if it is not."""
    if width <= WIDEST * abs(scale) * (1 + 1e-9):
        return ""
    return f"our own interval is {number(width, 2)} wide, more than half of {number(abs(scale), 2)}"


def mean_within(sample: Sample, claimed: float, tolerance: float) -> Agreement:
    """Whether the mean is the source's exact figure within a tolerance, by all of its 95% interval."""
    if spoilt := _no_interval(sample):
        return spoilt
    reach = sample.half_width
    low, high = claimed * (1 - tolerance), claimed * (1 + tolerance)
    agrees = interval_within(sample.mean - reach, sample.mean + reach, low, high)
    words = {True: "all within", False: "all beyond", None: "undecided: only part of it is within"}[agrees]
    return Agreement(
        agrees,
        f"the 95% interval of our mean, {number(sample.mean - reach, 4)} to"
        f" {number(sample.mean + reach, 4)}, against {percent(tolerance)} of the figure: {words}",
        chance=True,
    )


def one_run(
    sample: Sample,
    low: float,
    high: float | None = None,
    *,
    source_spread: float = 1.0,
    both_ends: bool = False,
) -> Agreement:
    """Whether a single run of the source, or a range of runs, is one that our seeds make likely.

    The figure, or part of the range, must lie in the 95% prediction interval of one further run whose
    standard deviation is ``source_spread`` times that of ours; ``both_ends`` of a range if each is a
    run of this very system, one of them inside being undecided. With fewer than ``FEWEST_RUNS`` seeds, or
    an interval wider than half of the figure, nothing is said.
    """
    if spoilt := _no_interval(sample):
        return spoilt
    least, most = sample.further_run(source_spread)
    high = low if high is None else high
    ok = high >= least and low <= most
    if ok and (words := wide(most - least, (low + high) / 2)):
        return not_comparable(words)
    if ok and both_ends and not (least <= low and high <= most):
        return not_comparable(
            "undecided: only part of the source's range is inside what one further run gives with 95%"
            f" chance, {number(least, 4)} to {number(most, 4)}"
        )
    size = "" if source_spread == 1.0 else " of the source's size"
    return Agreement(
        ok,
        f"{'inside' if ok else 'outside'} what one further run{size} gives with 95% chance,"
        f" {number(least, 4)} to {number(most, 4)}",
        chance=True,
    )


def _no_interval(sample: Sample) -> Agreement | None:
    """Why nothing can be said of a mean: too few seeds, or seeds without a finite value."""
    count = len(sample.values)
    if count and sample.infinite == count:
        return Agreement(False, f"no finite value in any of {counted(count, 'seed')}")
    if sample.infinite:
        return not_comparable(
            f"no finite value in {sample.infinite} of {counted(count, 'seed')}, so no mean or interval"
        )
    if count < FEWEST_RUNS:
        return not_comparable(too_few(count, "seed", FEWEST_RUNS, "to tell where runs fall"))
    return None


def spanned(
    ours: float, others: Iterable[float], claimed: float, tolerance: float, *, left_open: str, setting: str
) -> Agreement:
    """Within a tolerance of ours, or inside what ours becomes with other lags and windows of the metric.

    Either way the source's figure can be had by choosing, so agreement is always ``fitted``.
    """
    rest = list(others)
    judged = close(ours, claimed, tolerance) if math.isfinite(ours) else Agreement(False, "no finite value")
    low, high = min(ours, *rest), max(ours, *rest)
    others_words = f"with {len(rest)} other lags and windows it is " + (
        "the same" if low == high else f"{number(low)} to {number(high)}"
    )
    words = f"the source does not state its {left_open}; with {setting} ours is {judged.why}; {others_words}"
    if judged.agrees:
        return Agreement(True, words, left_open)
    if low <= claimed <= high:
        return Agreement(True, f"{words}, which holds the source's figure", left_open)
    return Agreement(False, f"{words}, which does not hold the source's figure", left_open)
