"""When a figure of a source and our own agree: the rules, each of which says in words how it judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from analysis.studies.sample import Sample
from analysis.wording import number, percent


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether two figures agree and by which rule; ``agrees`` is None where they cannot be compared."""

    agrees: bool | None
    why: str

    def because(self, remark: str) -> Agreement:
        """The same verdict with a remark that explains it."""
        return Agreement(self.agrees, f"{self.why}. {remark}")


def not_comparable(why: str) -> Agreement:
    """No verdict."""
    return Agreement(None, why)


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


def one_run(sample: Sample, low: float, high: float | None = None) -> Agreement:
    """Whether a single run of the source, or a range of runs, is one that our seeds make likely.

    The figure, or part of the range, must lie in the 95% prediction interval of one further run.
    """
    least, most = sample.prediction
    ok = (high if high is not None else low) >= least and low <= most
    where = "inside" if ok else "outside"
    return Agreement(
        ok, f"{where} what one further run gives with 95% chance, {number(least, 4)} to {number(most, 4)}"
    )


def spanned(ours: float, others: Iterable[float], claimed: float, tolerance: float, what: str) -> Agreement:
    """Within a tolerance of ours, or inside what ours becomes where the source leaves a parameter open."""
    judged = close(ours, claimed, tolerance)
    low, high = min(ours, *others), max(ours, *others)
    if low == high:
        return judged.because(f"The same {what}")
    span = f"{number(low)} to {number(high)} {what}"
    if not judged.agrees and low <= claimed <= high:
        return Agreement(True, f"{judged.why}, but inside what ours can be: {span}")
    return Agreement(judged.agrees, f"{judged.why}; ours is {span}")
