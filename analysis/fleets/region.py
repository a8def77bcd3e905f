"""Definition 9's region: what each signal over-provisions at most against the work it loses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.prediction import predict
from analysis.result import Outcome, RunResult, Values
from domain.errors import ConfigurationError
from domain.experiment import Experiment
from domain.fleet import Fleet, Signal

SIGNALS: tuple[tuple[Signal, ...], ...] = (("first",), ("ingress",), ("cpu",), ("first", "ingress"))
"""The signals that are compared; a fleet's own come first if they are others."""
MOST_DOUBLINGS = 3
"""How often the watch is doubled at most to see what becomes of every signal."""


@dataclass(frozen=True, slots=True)
class RegionPoint:
    """One way to scale: ``over_provisioning`` is max N/N*, ``lost_s`` the work lost from the step to the end
    of the watch, in seconds of that demand; it goes on if it is trapped."""

    name: str
    outcome: Outcome
    over_provisioning: float
    lost_s: float
    values: Values
    own: bool = False

    @property
    def is_trapped(self) -> bool:
        """Whether it never stops losing."""
        return self.outcome == "trapped"

    @property
    def bounded_lost_s(self) -> float:
        """The work lost in the long run: ∞ for one that is trapped."""
        return math.inf if self.is_trapped else self.lost_s


def signals_name(signals: Sequence[str]) -> str:
    """ "first + ingress"."""
    return " + ".join(signals)


@dataclass(frozen=True, slots=True)
class Region:
    """The points of the signals, all over the same ``watched_s`` from the step on."""

    points: tuple[RegionPoint, ...]
    watched_s: float


def region_of(experiment: Experiment) -> Region | None:
    """The fluid model's point for each of ``SIGNALS`` and the fleet's own.

    Watched for as long as the experiment is, or longer until each signal has recovered or is trapped. None
    where demand does not step up for good, or nothing can be predicted.
    """
    if experiment.fleet is None or experiment.service is None or experiment.step_s is None:
        return None
    if experiment.is_defended:
        return None
    for _ in range(MOST_DOUBLINGS + 1):
        try:
            points = _points(experiment, experiment.fleet)
        except ConfigurationError:
            return None
        start, end = experiment.watch
        if all(point.outcome != "undecided" for point in points):
            break
        longest = experiment.demand.phases[-1]
        phases = (
            *experiment.demand.phases[:-1],
            replace(longest, duration_s=longest.duration_s + end - start),
        )
        experiment = replace(experiment, demand=replace(experiment.demand, phases=phases))
    return Region(points, end - start) if points else None


def _points(experiment: Experiment, fleet: Fleet) -> tuple[RegionPoint, ...]:
    own = set(fleet.signals)
    chosen = SIGNALS if any(set(signals) == own for signals in SIGNALS) else (fleet.signals, *SIGNALS)
    points = []
    for signals in chosen:
        prediction = predict(replace(experiment, fleet=replace(fleet, signals=signals)))
        point = point_of(signals_name(signals), prediction.outcome, prediction.values)
        if point is not None:
            points.append(replace(point, own=set(signals) == own))
    return tuple(points)


def point_of(name: str, outcome: Outcome | None, values: Values) -> RegionPoint | None:
    """The point of a prediction or a measurement; None where one of its two figures is not known."""
    over, lost_s = values.get("over_provisioning"), values.get("lost_s")
    if outcome is None or over is None or lost_s is None:
        return None
    return RegionPoint(name, outcome, over, lost_s, values)


def measured_point(result: RunResult, name: str | None = None) -> RegionPoint | None:
    """The point of a run."""
    fleet = result.experiment.fleet
    if fleet is None:
        return None
    return point_of(name or signals_name(fleet.signals), result.outcome, result.measurement.values)


def frontier(points: Sequence[RegionPoint]) -> list[RegionPoint]:
    """Those that no other beats in one figure without losing in the other, from few pods to many."""

    def beaten(point: RegionPoint) -> bool:
        return any(
            other.over_provisioning <= point.over_provisioning
            and other.bounded_lost_s <= point.bounded_lost_s
            and (other.over_provisioning, other.bounded_lost_s)
            != (point.over_provisioning, point.bounded_lost_s)
            for other in points
        )

    return sorted((p for p in points if not beaten(p)), key=lambda p: (p.over_provisioning, p.lost_s))
