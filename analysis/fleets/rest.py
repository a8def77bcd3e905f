"""Has a fleet come to rest by the end of a window? Until it has, no trend of its backlog means anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.fleets.pod_path import PodPath
from domain.experiment import Experiment

WITHIN = 0.2
"""Pods within this share of those at the end count as the same: with no tolerance at all a signal of chance
arrivals asks for a pod or two more now and then."""


@dataclass(frozen=True, slots=True)
class Rest:
    """``pods`` that serve at the end and, ``since_s`` (wall clock), were about as many; ``least`` to ``most``
    served meanwhile, ``starting`` more were ordered at the end."""

    since_s: float
    pods: float
    least: float
    most: float
    starting: float

    @property
    def grows(self) -> bool:
        """Whether more pods than chance explains are yet to come."""
        return self.starting > WITHIN * self.pods

    def sentence(self, scale: float) -> str:
        """What there is of pods, in scenario time."""
        if self.grows:
            return (
                f"{self.pods:,.0f} pods served when the watch ended and {self.starting:,.0f} more were "
                "starting: whether they suffice is not settled by this run."
            )
        span = f"{self.least:,.0f}" if self.least == self.most else f"{self.least:,.0f} to {self.most:,.0f}"
        return f"From {self.since_s * scale:,.0f} s on {span} pods served, and it failed all the same."


def at_rest(server: pd.DataFrame, live: Experiment, start_s: float, end_s: float) -> Rest | None:
    """The fleet's rest in the window, times in wall-clock seconds; None without a fleet or its pods."""
    t_s, pods = server["t_s"].to_numpy(), server["pods"].to_numpy()
    path = PodPath.of_reports(t_s, pods) if live.fleet is not None else None
    if path is None or path.at(end_s) <= 0:
        return None
    since = path.steady_from_s(start_s, end_s, WITHIN)
    inside = (path.t_s >= since) & (path.t_s <= end_s)
    meanwhile = path.pods[inside] if inside.any() else np.array([path.at(end_s)])
    starting = PodPath.of_reports(t_s, server["starting"].to_numpy())
    return Rest(
        since,
        path.at(end_s),
        float(meanwhile.min()),
        float(meanwhile.max()),
        0.0 if starting is None else starting.at(end_s),
    )
