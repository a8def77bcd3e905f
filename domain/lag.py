"""How late things happened: a histogram of fixed size, for starts of jobs and for answers alike."""

from __future__ import annotations

import math

_LOWEST_S = 1e-5
_BINS_PER_DECADE = 100
_DECADES = 8


class LagHistogram:
    """Lags in logarithmic bins of 2.3% each from 10 µs to 1,000 s: bounded memory, any run length."""

    def __init__(self) -> None:
        self._counts = [0] * (_BINS_PER_DECADE * _DECADES + 1)
        self.count = 0
        self.max_s = 0.0

    def add(self, lag_s: float) -> None:
        """Count one lag; a negative one counts as none."""
        self.count += 1
        self.max_s = max(self.max_s, lag_s)
        index = 0 if lag_s <= _LOWEST_S else int(math.log10(lag_s / _LOWEST_S) * _BINS_PER_DECADE) + 1
        self._counts[min(index, len(self._counts) - 1)] += 1

    def quantile_s(self, q: float) -> float:
        """The lag that a fraction ``q`` of all did not exceed (upper edge of its bin); 0 if none."""
        rank = q * self.count
        seen = 0
        for index, count in enumerate(self._counts):
            seen += count
            if count and seen >= rank:
                return min(_LOWEST_S * 10 ** (index / _BINS_PER_DECADE), self.max_s)
        return 0.0
