"""Has a fleet come to rest by the end of a window? Until it has, no trend of its backlog means anything."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.fleets.pod_path import PodPath
from analysis.trap import failing_amplification
from domain.experiment import Experiment
from domain.fleet import Fleet

WITHIN = 0.2
"""Pods within this share of those at the end count as the same: with no tolerance at all a signal of chance
arrivals asks for a pod or two more now and then."""


@dataclass(frozen=True, slots=True)
class Rest:
    """``pods`` that serve at the end and, ``since_s`` (wall clock), were about as many; ``least`` to ``most``
    served meanwhile, ``starting`` more were ordered at the end. ``seen``: the autoscaler has decided on a
    whole window of its signals with so many, or may not order more. ``within``: the share that counts as
    the same."""

    since_s: float
    pods: float
    least: float
    most: float
    starting: float
    seen: bool = True
    within: float = WITHIN

    @property
    def grows(self) -> bool:
        """Whether more pods than chance explains are yet to come, or may be."""
        return self._ordered or not self.seen

    @property
    def _ordered(self) -> bool:
        return self.starting > self.within * self.pods * (1 + 1e-9)

    def sentence(self, scale: float) -> str:
        """What there is of pods, in scenario time."""
        if self._ordered:
            return (
                f"{self.pods:,.0f} pods served when the watch ended and {self.starting:,.0f} more were "
                "starting: whether they suffice is not settled by this run."
            )
        if not self.seen:
            return (
                f"{self.pods:,.0f} pods served when the watch ended, about as many only from "
                f"{self.since_s * scale:,.0f} s on: the autoscaler had not read its signals over a whole "
                "window since then, so whether it orders more is not settled by this run."
            )
        span = f"{self.least:,.0f}" if self.least == self.most else f"{self.least:,.0f} to {self.most:,.0f}"
        return f"From {self.since_s * scale:,.0f} s on {span} pods served, and it failed all the same."


def at_rest(server: pd.DataFrame, live: Experiment, start_s: float, end_s: float) -> Rest | None:
    """The fleet's rest in the window, times in wall-clock seconds; None without a fleet or its pods."""
    t_s, pods, fleet = server["t_s"].to_numpy(), server["pods"].to_numpy(), live.fleet
    path = PodPath.of_reports(t_s, pods) if fleet is not None else None
    if fleet is None or path is None or path.at(end_s) <= 0:
        return None
    within = _within(path.at(end_s), live, fleet)
    since = path.steady_from_s(start_s, end_s, within)
    inside = (path.t_s >= since) & (path.t_s <= end_s)
    meanwhile = path.pods[inside] if inside.any() else np.array([path.at(end_s)])
    starting = PodPath.of_reports(t_s, server["starting"].to_numpy())
    return Rest(
        since,
        path.at(end_s),
        float(meanwhile.min()),
        float(meanwhile.max()),
        0.0 if starting is None else starting.at(end_s),
        path.at(end_s) >= fleet.autoscaler.max_pods or end_s - since >= _reaction_s(fleet),
        within,
    )


def _within(pods: float, live: Experiment, fleet: Fleet) -> float:
    """``WITHIN``, or one pod of a few: first attempts ask for that by chance and, where A is at least what
    even one pod more has room for, it changes nothing. CPU of a saturated fleet knows no chance: none."""
    if "cpu" in fleet.signals:
        return 0.0
    if live.service is None:
        return WITHIN
    room = (pods + 1.0) * live.service.rate_per_pod
    small = fleet.signals == ("first",) and failing_amplification(live) * live.watched_rate_per_s >= room
    return max(WITHIN, 1.0 / pods) if small and pods > 1 else WITHIN


def _reaction_s(fleet: Fleet) -> float:
    """How long a change of the pods takes to show in a decision: a window, its lag and a sync period."""
    window_s = max(fleet.window_s(signal) for signal in fleet.signals)
    return window_s + fleet.metric_lag_s + fleet.sync_period_s
