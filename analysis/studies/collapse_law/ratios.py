"""A ratio of two totals over runs, such as late attempts over attempts, with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from analysis.studies.collapse_law.shares import Z


@dataclass(frozen=True, slots=True)
class PooledRatio:
    """All runs together; ``half_width`` is half the 95% interval, from the spread between runs."""

    value: float
    half_width: float
    runs: int

    @classmethod
    def of(cls, parts: ArrayLike, wholes: ArrayLike) -> PooledRatio:
        """Σ parts over Σ wholes, one of each per run; the error is that of a ratio estimator."""
        part, whole = np.asarray(parts, dtype=np.float64), np.asarray(wholes, dtype=np.float64)
        value = float(part.sum() / whole.sum())
        spread = float(np.std(part - value * whole, ddof=1))
        return cls(value, Z * spread / (float(whole.mean()) * math.sqrt(len(whole))), len(whole))

    def plain(self) -> dict[str, object]:
        """Everything about it, as plain values."""
        return {"pooled": self.value, "half_width_95": self.half_width, "seeds": self.runs}
