"""A share of runs, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from analysis.studies.counting import counted
from analysis.wording import number

Z = 1.959963984540054
"""Normal quantile of a two-sided 95% interval."""


@dataclass(frozen=True, slots=True)
class Share:
    """``count`` of ``of`` runs."""

    count: int
    of: int

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.of

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95% interval (E. B. Wilson, JASA 22, 1927)."""
        n, p = self.of, self.value
        middle = (p + Z * Z / (2 * n)) / (1 + Z * Z / n)
        reach = Z / (1 + Z * Z / n) * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
        return max(0.0, middle - reach), min(1.0, middle + reach)

    def difference(self, other: Share) -> tuple[float, float]:
        """Newcombe's 95% interval of this share minus the other (Statistics in Medicine 17, 1998)."""
        (l1, u1), (l2, u2) = self.interval, other.interval
        gap = self.value - other.value
        return (
            gap - math.hypot(self.value - l1, u2 - other.value),
            gap + math.hypot(u1 - self.value, other.value - l2),
        )

    def words(self) -> str:
        """Share, interval and number of seeds."""
        low, high = self.interval
        return f"{number(self.value)} ({number(low)} to {number(high)}; {counted(self.of, 'seed')})"

    def plain(self) -> dict[str, object]:
        """Everything about it, as plain values."""
        return {"count": self.count, "of": self.of, "interval_95": list(self.interval)}
