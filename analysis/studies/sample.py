"""A figure over several seeds: its mean, how sure that is, and where one more run would fall."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from analysis.studies.counting import counted
from analysis.wording import number

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Sample:
    """The values of one figure, one per seed."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Iterable[float]) -> Sample:
        """A sample of plain floats."""
        return cls(tuple(float(value) for value in values))

    @property
    def infinite(self) -> int:
        """How many values are infinite, which is what never happened."""
        return sum(map(math.isinf, self.values))

    @property
    def finite(self) -> Sample:
        """The others."""
        return Sample(tuple(value for value in self.values if not math.isinf(value)))

    @property
    def mean(self) -> float:
        """Arithmetic mean; NaN for an empty sample, infinite if a value is."""
        return float(np.mean(self.values)) if self.values else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation between seeds; 0 for fewer than two, NaN if a value is infinite."""
        if self.infinite:
            return math.nan
        return float(np.std(self.values, ddof=1)) if len(self.values) > 1 else 0.0

    @property
    def half_width(self) -> float:
        """Half the 95% interval of the mean (Student's t)."""
        return self._t * self.sd / math.sqrt(max(1, len(self.values)))

    @property
    def prediction(self) -> tuple[float, float]:
        """Where a single further run falls with 95% chance."""
        return self.further_run()

    def further_run(self, spread: float = 1.0) -> tuple[float, float]:
        """The same of a run whose standard deviation is ``spread`` times that of these."""
        reach = self._t * self.sd * math.sqrt(spread**2 + 1.0 / max(1, len(self.values)))
        return self.mean - reach, self.mean + reach

    @property
    def _t(self) -> float:
        degrees = len(self.values) - 1
        return float(stdtrit(degrees, (1 + CONFIDENCE) / 2)) if degrees > 0 else 0.0

    def words(self, unit: str = "", *, digits: int = 4, of: str = "seed") -> str:
        """Mean, 95% interval and how many values: "2,371 ± 12 s (8 seeds)".

        Infinite values are counted and kept out of the mean: "never in 1 of 8 seeds".
        """
        count = len(self.values)
        if never := self.infinite:
            rest = "" if never == count else f"{self.finite.words(unit, digits=digits, of=of)}, "
            return f"{rest}never in {never:,} of {counted(count, of)}"
        interval = f" ± {number(self.half_width, 2)}" if count > 1 else ""
        return f"{number(self.mean, digits)}{interval}{unit} ({counted(count, of)})"

    def plain(self) -> dict[str, object]:
        """Everything about it, as plain values."""
        return {"values": list(self.values), "mean": self.mean, "half_width_95": self.half_width}
