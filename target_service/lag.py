"""How late things happened, as a histogram of fixed size: quantiles to 12%, the maximum exactly."""

from __future__ import annotations

from bisect import bisect_left

_SMALLEST_S = 1e-5
_RATIO = 1.12
_BOUNDS = tuple(_SMALLEST_S * _RATIO**power for power in range(143))


class LagHistogram:
    """Lags in seconds from 10 µs to 100 s; smaller ones count as 10 µs, larger ones by the maximum."""

    def __init__(self) -> None:
        self.max_s = 0.0
        self._counts = [0] * (len(_BOUNDS) + 1)

    def record(self, lag_s: float) -> None:
        """Count one lag; a negative one (rounding of the clock) counts as none."""
        self.max_s = max(self.max_s, lag_s)
        self._counts[bisect_left(_BOUNDS, lag_s)] += 1

    def quantile(self, share: float) -> float:
        """An upper bound, at most 12% over, of the lag that ``share`` of all lags do not pass; 0 if none."""
        wanted = share * sum(self._counts)
        seen = 0
        for bound, count in zip(_BOUNDS, self._counts, strict=False):
            seen += count
            if seen >= wanted and seen:
                return min(bound, self.max_s)
        return self.max_s
