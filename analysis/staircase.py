"""Integrals of rates that are constant within each phase: exact counts for any pair of times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.result import Floats
from domain.experiment import PlacedPhase


@dataclass(frozen=True, slots=True)
class Staircase:
    """The integral of a rate that is constant between ``knots_s``: piecewise linear, from 0 on."""

    knots_s: Floats
    rates: Floats
    """One rate per stretch; the last holds for ever after the last knot."""
    totals: Floats

    @classmethod
    def of(cls, placed: tuple[PlacedPhase, ...], rates: list[float]) -> Staircase:
        """The integral of one rate per phase."""
        knots = np.array([p.start_s for p in placed] + [placed[-1].end_s])
        steps = np.asarray(rates) * np.diff(knots)
        return cls(
            knots, np.array([*rates, rates[-1]]), np.concatenate([[0.0], np.cumsum(steps, dtype=np.float64)])
        )

    def at(self, t_s: Floats) -> Floats:
        """The integral from 0 to each time (shape kept)."""
        i = np.clip(np.searchsorted(self.knots_s, t_s, side="right") - 1, 0, None)
        return np.asarray(self.totals[i] + self.rates[i] * (t_s - self.knots_s[i]), dtype=np.float64)

    def rate_at(self, t_s: Floats) -> Floats:
        """The rate from each time on (shape kept)."""
        i = np.clip(np.searchsorted(self.knots_s, t_s, side="right") - 1, 0, None)
        return np.asarray(self.rates[i], dtype=np.float64)

    def when(self, total: Floats) -> Floats:
        """The first time at which the integral reaches each total; inf where it never does."""
        i = np.clip(np.searchsorted(self.totals, total, side="left") - 1, 0, None)
        missing = total - self.totals[i]
        rate = self.rates[i]
        with np.errstate(divide="ignore", invalid="ignore"):
            wait = np.where(missing <= 0, 0.0, missing / rate)
        return np.asarray(self.knots_s[i] + wait, dtype=np.float64)
