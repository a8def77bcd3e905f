"""How many pods served at each moment, whoever says so: the fluid model, a simulated seed or the target."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from analysis.result import Floats, FluidTrace

ROUNDING = 1e-9
"""How far capacity may fall short of demand by rounding alone."""


@dataclass(frozen=True, slots=True)
class PodPath:
    """``pods`` that serve, each entry from its ``t_s`` to the next one; shape (n,), n ≥ 1, ``t_s`` ascends.

    Both are in any one unit of time; the last number of pods holds to the end.
    """

    t_s: Floats
    pods: Floats

    @classmethod
    def of_fluid(cls, trace: FluidTrace) -> PodPath:
        """The fluid model's; a step in which pods become ready counts as its mean."""
        return cls(trace.t_s, trace.pods)

    @classmethod
    def of_reports(cls, t_s: Floats, pods: Floats) -> PodPath | None:
        """From what a target told now and then; None if it told nothing."""
        told = np.isfinite(t_s) & np.isfinite(pods)
        return cls(t_s[told], pods[told]) if told.any() else None

    def at(self, t_s: float) -> float:
        """Pods just before a moment; before the first report those of the first."""
        return float(self.pods[max(0, int(np.searchsorted(self.t_s, t_s, side="left")) - 1)])

    def most(self, start_s: float, end_s: float) -> float:
        """The most pods at any time of the window."""
        inside = (self.t_s >= start_s) & (self.t_s < end_s)
        return float(max([self.at(start_s), *self.pods[inside].tolist()]))

    def pod_seconds(self, start_s: float, end_s: float) -> float:
        """∫ pods dt over the window."""
        inside = (self.t_s > start_s) & (self.t_s < end_s)
        edges = np.concatenate([[start_s], self.t_s[inside], [end_s]])
        # The number of pods that holds after the start of the window, not just before it.
        first = self.pods[max(0, int(np.searchsorted(self.t_s, start_s, side="right")) - 1)]
        return float(np.diff(edges) @ np.concatenate([[first], self.pods[inside]]))

    def first_at_least(self, pods: float, start_s: float, end_s: float = math.inf) -> float | None:
        """When there are so many pods for the first time in the window; None if never."""
        inside = (self.t_s < end_s) & (self.pods >= pods * (1 - ROUNDING))
        enough = self.t_s[inside & (self.t_s >= start_s)]
        if self.at(start_s) >= pods * (1 - ROUNDING):
            return start_s
        return float(enough[0]) if enough.size else None

    def steady_from_s(self, start_s: float, end_s: float, within: float) -> float:
        """From when on the pods stay within this share of those at the end of the window."""
        last = self.at(end_s)
        inside = (self.t_s >= start_s) & (self.t_s < end_s)
        away = np.flatnonzero(inside & (np.abs(self.pods - last) > within * last * (1 + ROUNDING)))
        return start_s if not away.size else float(self.t_s[min(away[-1] + 1, self.t_s.size - 1)])
