"""``[fleet]``: the autoscaler that sizes the service, what it sees and how late."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import Field

from domain.autoscaler import Autoscaler, Doubling, Policies, Policy, Unlimited
from domain.experiment import MAX_PODS
from domain.fleet import Fleet, Signal
from tipover.scenario_tables.base import (
    AtLeastOne,
    Count,
    NotNegative,
    Positive,
    RuleTable,
    Several,
    Table,
    stated,
)

_OF_THE_AUTOSCALER = ("min_pods", "max_pods", "stabilization_s", "scale_up")


class UnlimitedTable(RuleTable):
    """As many pods at once as the signals ask for."""

    makes = Unlimited
    kind: Literal["unlimited"]


class DoublingTable(RuleTable):
    """At most ``factor`` times the pods there are, or ``minimum`` (Kubernetes without ``behavior``)."""

    makes = Doubling
    kind: Literal["doubling"]
    factor: AtLeastOne = stated(Doubling, "factor", "times the pods there are, in one decision")
    minimum: Count = stated(Doubling, "minimum", "pods that are always allowed")


class PolicyTable(Table):
    """One entry of ``fleet.scale_up.policies``."""

    kind: Literal["percent", "pods"]
    value: Several = Field(description="so many pods, or per cent of those there were")
    period_s: Positive = Field(description="seconds in which they may be added")


class PoliciesTable(RuleTable):
    """What may be added in a period (Kubernetes with ``behavior.scaleUp``)."""

    makes = Policies
    kind: Literal["policies"]
    policies: list[PolicyTable] | None = Field(
        default=None, description="each a kind, a value and a period_s; default 100 percent or 4 pods in 15 s"
    )
    select: Literal["max", "min", "disabled"] = stated(Policies, "select", "which of them binds")

    @property
    def settings(self) -> dict[str, Any]:
        """Every key that is not left to the domain's default."""
        settings = super().settings
        policies = settings.pop("policies")
        if policies is not None:
            settings["policies"] = tuple(Policy(p.kind, p.value, p.period_s) for p in policies)
        return settings


ScaleUpTable = Annotated[UnlimitedTable | DoublingTable | PoliciesTable, Field(discriminator="kind")]


class FleetTable(RuleTable):
    """``[fleet]``: the autoscaler that sizes the service, what it sees and how late."""

    makes = Fleet
    signals: list[Signal] = Field(description="what it looks at; the largest proposal wins")
    target_utilization: Annotated[float, Field(gt=0, le=1)] = stated(
        Fleet, "target_utilization", "of a pod's rate (of its request, for cpu) that it aims at"
    )
    dead_time_s: NotNegative = stated(Fleet, "dead_time_s", "seconds from an order to a pod that serves")
    sync_period_s: Positive = stated(Fleet, "sync_period_s", "seconds between decisions")
    metric_lag_s: NotNegative = stated(Fleet, "metric_lag_s", "how old, in seconds, what it sees is")
    cpu_window_s: Positive = stated(Fleet, "cpu_window_s", "seconds over which cpu is averaged")
    rate_window_s: Positive = stated(Fleet, "rate_window_s", "seconds over which the others are averaged")
    limit_over_request: Positive = stated(
        Fleet, "limit_over_request", "share of its request for cpu that a saturated pod uses"
    )
    tolerance: NotNegative = stated(
        Fleet, "tolerance", "relative distance from the target at which nothing changes"
    )
    min_pods: Annotated[int, Field(ge=1, le=MAX_PODS)] = stated(Autoscaler, "min_pods", "never fewer")
    max_pods: Annotated[int, Field(ge=1, le=MAX_PODS)] | None = Field(
        default=None, description="never more; default no limit"
    )
    stabilization_s: NotNegative = stated(
        Autoscaler, "stabilization_s", "seconds whose largest recommendation a scale-down keeps"
    )
    scale_up: ScaleUpTable = UnlimitedTable(kind="unlimited")

    @property
    def settings(self) -> dict[str, Any]:
        """Every key, those of the autoscaler as one value."""
        settings = super().settings
        own = {name: settings.pop(name) for name in _OF_THE_AUTOSCALER}
        own["scale_up"] = own["scale_up"].value()
        own["max_pods"] = math.inf if own["max_pods"] is None else own["max_pods"]
        return {**settings, "signals": tuple(settings["signals"]), "autoscaler": Autoscaler(**own)}
