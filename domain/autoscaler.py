"""How many pods an autoscaler orders: the algorithm of the Kubernetes HorizontalPodAutoscaler.

Everything is a decision from numbers: metrics and the time are arguments, and what must be remembered
(recommendations and changes of size) is a value that goes in and comes out. Counts are pods, times seconds on
any one clock. Source: kubernetes/kubernetes, ``pkg/controller/podautoscaler/replica_calculator.go`` and
``horizontal.go``, ``pkg/apis/autoscaling/v2/defaults.go``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Protocol, Self

TOLERANCE = 0.1
SYNC_PERIOD_S = 15.0
STABILIZATION_S = 300.0


def _within(ratio: float, tolerance: float) -> bool:
    # 1.1 − 1 is above 0.1 in floating point; a ratio at the tolerance is within it.
    return abs(ratio - 1.0) <= tolerance * (1.0 + 1e-12)


def _ceil(pods: float) -> int:
    # 0.3/0.1 pods are three, not four.
    return math.ceil(pods - 1e-9 * max(1.0, abs(pods)))


@dataclass(frozen=True, slots=True)
class Pods:
    """The pods of a deployment: ``ready`` have a metric that counts; ``unready`` are set aside (pending,
    not ready, or without one window of metric since they became ready); ``missing`` have no metric."""

    ready: int
    unready: int = 0
    missing: int = 0

    @property
    def total(self) -> int:
        """All of them: the replica count."""
        return self.ready + self.unready + self.missing


def by_utilization(
    pods: Pods, utilization: float, target: float, *, tolerance: float = TOLERANCE
) -> int | None:
    """Pods wanted by a metric that each pod reports (CPU): ceil(ready · utilization/target).

    ``utilization`` is the mean over the ready pods, in the unit of ``target``. On a scale-up the
    unready and missing pods count as idle, on a scale-down the missing ones as fully used (1, or the
    target if that is more); if that correction turns the direction round or lands within the tolerance,
    nothing changes. None when no pod has a metric: the metric is in error.
    """
    if pods.ready == 0:
        return None
    ratio = utilization / target
    idle = pods.unready if ratio > 1.0 else 0
    if idle == 0 and pods.missing == 0:
        return pods.total if _within(ratio, tolerance) else _ceil(ratio * pods.ready)
    used = pods.ready * utilization
    counted = pods.ready + idle
    if ratio != 1.0:
        counted += pods.missing
        used += pods.missing * (max(1.0, target) if ratio < 1.0 else 0.0)
    corrected = used / counted / target
    if _within(corrected, tolerance) or (ratio - 1.0) * (corrected - 1.0) < 0.0:
        return pods.total
    wanted = _ceil(corrected * counted)
    return pods.total if (wanted - pods.total) * (corrected - 1.0) < 0.0 else wanted


def by_total(pods: Pods, total: float, target_per_pod: float, *, tolerance: float = TOLERANCE) -> int:
    """Pods wanted by a metric of the whole service (requests/s at the edge): ceil(total/target_per_pod).

    Readiness plays no part. Within the tolerance of what the present pods are meant for, no change.
    """
    if pods.total > 0 and _within(total / (target_per_pod * pods.total), tolerance):
        return pods.total
    return _ceil(total / target_per_pod)


def largest(pods: Pods, proposals: Sequence[int | None]) -> int | None:
    """The largest of several metrics' proposals, None being a metric in error.

    None (do nothing this time) when all are in error, or when one is and the rest would scale down.
    """
    valid = [proposal for proposal in proposals if proposal is not None]
    if not valid:
        return None
    wanted = max(valid)
    return None if len(valid) < len(proposals) and wanted < pods.total else wanted


@dataclass(frozen=True, slots=True)
class Change:
    """Pods added at a moment; a negative number of them was given up."""

    at_s: float
    added: int


class ScaleUpLimit(Protocol):
    """How many pods there may be after one decision."""

    @property
    def kind(self) -> str:
        """The name the scenario file uses."""

    def scaled(self, factor: float) -> Self:
        """The same limit with its durations multiplied by ``factor``."""

    @property
    def remembered_s(self) -> float:
        """How long past changes matter."""

    @property
    def recalls(self) -> bool:
        """Whether the largest recent recommendation is ordered even if it is more than there are."""

    def most(self, replicas: int, now_s: float, past: Sequence[Change]) -> float:
        """The largest replica count allowed now."""


@dataclass(frozen=True, slots=True)
class Unlimited:
    """No limit: the specimen of seed 002."""

    kind: ClassVar[str] = "unlimited"
    remembered_s = 0.0
    recalls = True

    def scaled(self, factor: float) -> Unlimited:  # noqa: ARG002
        """Itself."""
        return self

    def most(self, replicas: int, now_s: float, past: Sequence[Change]) -> float:  # noqa: ARG002
        """Infinite."""
        return math.inf


@dataclass(frozen=True, slots=True)
class Doubling:
    """max(factor × replicas, minimum): Kubernetes when ``behavior`` is not set."""

    kind: ClassVar[str] = "doubling"
    factor: float = 2.0
    minimum: int = 4
    remembered_s = 0.0
    recalls = True

    def __post_init__(self) -> None:
        if not 1.0 <= self.factor < math.inf:
            raise ValueError(f"factor: must be finite and at least 1 (got {self.factor!r})")
        if self.minimum < 0:
            raise ValueError(f"minimum: must be at least 0 (got {self.minimum!r})")

    def scaled(self, factor: float) -> Doubling:  # noqa: ARG002
        """Itself: a decision has no duration."""
        return self

    def most(self, replicas: int, now_s: float, past: Sequence[Change]) -> float:  # noqa: ARG002
        """max(factor × replicas, minimum)."""
        return max(math.floor(self.factor * replicas), self.minimum)


@dataclass(frozen=True, slots=True)
class Policy:
    """At most ``value`` pods, or per cent of those there were, added in ``period_s``."""

    kind: Literal["percent", "pods"]
    value: int
    period_s: float

    def __post_init__(self) -> None:
        if self.value < 1:
            raise ValueError(f"value: must be at least 1 (got {self.value!r})")
        if not 0.0 < self.period_s < math.inf:
            raise ValueError(f"period_s: must be positive and finite (got {self.period_s!r})")

    def most(self, replicas: int, now_s: float, past: Sequence[Change]) -> int:
        """The largest replica count this policy allows now."""
        began_with = replicas - sum(change.added for change in past if change.at_s > now_s - self.period_s)
        if self.kind == "pods":
            return began_with + self.value
        return _ceil(began_with * (1.0 + self.value / 100.0))


@dataclass(frozen=True, slots=True)
class Policies:
    """``behavior.scaleUp.policies``: by default the larger of +100% and +4 pods per 15 s."""

    kind: ClassVar[str] = "policies"
    policies: tuple[Policy, ...] = (Policy("percent", 100, 15.0), Policy("pods", 4, 15.0))
    select: Literal["max", "min", "disabled"] = "max"
    recalls = False

    def __post_init__(self) -> None:
        if not self.policies and self.select != "disabled":
            raise ValueError("policies: must name at least one, unless select is disabled (got none)")

    def scaled(self, factor: float) -> Policies:
        """The same policies with other periods."""
        scaled = tuple(replace(policy, period_s=policy.period_s * factor) for policy in self.policies)
        return replace(self, policies=scaled)

    @property
    def remembered_s(self) -> float:
        """The longest period."""
        return max((policy.period_s for policy in self.policies), default=0.0)

    def most(self, replicas: int, now_s: float, past: Sequence[Change]) -> float:
        """What the selected policy allows, never less than there are."""
        if self.select == "disabled":
            return replicas
        allowed = [policy.most(replicas, now_s, past) for policy in self.policies]
        chosen = max(allowed) if self.select == "max" else min(allowed)
        return max(chosen, replicas)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What the metrics asked for at a moment."""

    at_s: float
    pods: int


@dataclass(frozen=True, slots=True)
class History:
    """What an autoscaler remembers from one decision to the next."""

    recommendations: tuple[Recommendation, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """The rules between what the metrics want and what is ordered.

    A scale-down goes no lower than the largest recommendation of the last ``stabilization_s``. One that is
    exactly so old still counts without ``behavior`` and no longer counts with it, as in Kubernetes.
    """

    min_pods: int = 1
    max_pods: float = math.inf
    stabilization_s: float = STABILIZATION_S
    scale_up: ScaleUpLimit = field(default_factory=Unlimited)

    def __post_init__(self) -> None:
        if not 1 <= self.min_pods <= self.max_pods:
            raise ValueError(
                f"min_pods: must be from 1 to max_pods (got {self.min_pods!r} and {self.max_pods!r})"
            )
        if not 0.0 <= self.stabilization_s < math.inf:
            raise ValueError(f"stabilization_s: must be finite and at least 0 (got {self.stabilization_s!r})")

    def scaled(self, factor: float) -> Autoscaler:
        """The same rules with their durations multiplied by ``factor``."""
        return replace(
            self,
            stabilization_s=self.stabilization_s * factor,
            scale_up=self.scale_up.scaled(factor),
        )

    def order(
        self, replicas: int, proposals: Sequence[int | None], history: History, now_s: float
    ) -> tuple[int, History]:
        """The replica count to set, and what to remember. ``proposals`` has one entry per metric, None
        for one in error. A fleet that somebody has scaled to 0 is left alone."""
        past = history.recommendations or (Recommendation(now_s, replicas),)
        if replicas == 0:
            return 0, History(past, history.changes)
        if not self.min_pods <= replicas <= self.max_pods:
            corrected = int(min(max(replicas, self.min_pods), self.max_pods))
            return corrected, History(past, self._changes(history, replicas, corrected, now_s))
        wanted = largest(Pods(replicas), proposals)
        if wanted is None:
            return replicas, History(past, history.changes)
        recent = self._recent(past, now_s)
        allowed = min(self.max_pods, self.scale_up.most(replicas, now_s, history.changes))
        ordered = int(min(max(self.stable(replicas, wanted, recent), self.min_pods), allowed))
        changes = self._changes(history, replicas, ordered, now_s)
        return ordered, History((*recent, Recommendation(now_s, wanted)), changes)

    def stable(self, replicas: int, wanted: int, recent: Sequence[Recommendation]) -> int:
        """What the recommendations of the window make of the newest: a scale-down goes no lower than the
        largest; without ``behavior`` nor does anything else."""
        if wanted > replicas and not self.scale_up.recalls:
            return wanted
        highest = max([wanted, *(r.pods for r in recent)])
        return highest if self.scale_up.recalls else min(replicas, highest)

    def _recent(self, past: Sequence[Recommendation], now_s: float) -> tuple[Recommendation, ...]:
        cutoff = now_s - self.stabilization_s
        if self.scale_up.recalls:
            return tuple(r for r in past if r.at_s >= cutoff)
        return tuple(r for r in past if r.at_s > cutoff)

    def _changes(self, history: History, replicas: int, ordered: int, now_s: float) -> tuple[Change, ...]:
        kept = tuple(c for c in history.changes if c.at_s > now_s - self.scale_up.remembered_s)
        return kept if ordered == replicas else (*kept, Change(now_s, ordered - replicas))
