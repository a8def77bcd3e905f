"""``[service]``: what is tipped over, and its defences."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from domain.admission import Admission
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.experiment import MAX_PODS, Service
from domain.queue_order import Discipline
from domain.routing import Routing
from domain.service_time import DEFAULT_SHAPES, KINDS, SHAPE_RULES, ServiceTime, shape_is_valid
from tipover.scenario_tables.base import (
    Count,
    NotNegative,
    Positive,
    RuleTable,
    Share,
    Table,
    default,
    stated,
)
from tipover.scenario_tables.limits import LimitTable


def _service_time(value: object) -> object:
    table = {"kind": value} if isinstance(value, str) else value
    if not isinstance(table, dict) or table.get("kind") not in KINDS or not set(table) <= {"kind", "shape"}:
        kinds = ", ".join(repr(kind) for kind in KINDS)
        raise PydanticCustomError(
            "service_time", "must be one of {kinds}, or a table of kind and shape", {"kinds": kinds}
        )
    kind, shape = table["kind"], table.get("shape", DEFAULT_SHAPES.get(table["kind"]))
    number = float(shape) if isinstance(shape, int | float) and not isinstance(shape, bool) else None
    if "shape" in table and not (number is not None and shape_is_valid(kind, number)):
        rule = SHAPE_RULES.get(kind)
        raise PydanticCustomError(
            "service_time",
            "must have a shape that is {rule}" if rule else "takes no shape with kind {kind}",
            {"rule": rule, "kind": repr(kind)},
        )
    return ServiceTime(kind, number)


ServiceTimeValue = Annotated[
    Any,
    BeforeValidator(_service_time),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": list(KINDS)},
                {
                    "type": "object",
                    "properties": {
                        "kind": {"enum": list(KINDS)},
                        "shape": {
                            "type": "number",
                            "description": "; ".join(f"{kind}: {rule}" for kind, rule in SHAPE_RULES.items()),
                        },
                    },
                    "required": ["kind"],
                    "additionalProperties": False,
                },
            ]
        }
    ),
]


class CoDelTable(RuleTable):
    """Shed what has waited long, while even the shortest wait of an interval is long (Facebook)."""

    makes = CoDel
    target_s: Positive = stated(CoDel, "target_s", "seconds: a shortest wait above this is a standing queue")
    interval_s: Positive = stated(CoDel, "interval_s", "seconds over which the shortest wait is taken")


class DegradationTable(RuleTable):
    """The service slows down as the number in the system grows."""

    makes = Degradation
    half_queue: Positive = Field(description="attempts in the system at which half of the loss is there")
    floor: Share = stated(Degradation, "floor", "share of the rate that is left under an endless queue")


class ServiceTable(Table):
    """``[service]``: what is tipped over; absent when the target is somebody else's."""

    pods: int = Field(ge=1, le=MAX_PODS, description="servers; at the start, if there is a [fleet]")
    rate_per_pod: Positive = Field(description="attempts/s of one pod")
    service_time: ServiceTimeValue = ServiceTime()
    routing: Routing = stated(
        Service, "routing", "one queue before all pods, or which pod's own queue is joined"
    )
    discipline: Discipline = stated(Admission, "discipline", "which of those that wait is served next")
    standing: Count | None = Field(
        default=default(Admission, "standing"),
        description="waiting attempts above which adaptive-lifo serves the newest first; default pods",
    )
    queue_cap: Count | None = Field(
        default=default(Admission, "queue_cap"), description="attempts that may wait; more are rejected"
    )
    drop_expired: bool = stated(
        Admission, "drop_expired", "drop what is past its deadline when its turn comes"
    )
    least_s: NotNegative = stated(Admission, "least_s", "seconds that must be left of the deadline")
    cancel_on_disconnect: bool = stated(
        Admission, "cancel_on_disconnect", "drop what waits when its client hangs up"
    )
    first_before_retry: bool = stated(
        Admission, "first_before_retry", "a first attempt takes the place of a waiting retry"
    )
    codel: CoDelTable | None = Field(default=default(Admission, "codel"), description="shed by waiting time")
    limit: LimitTable | None = Field(
        default=default(Admission, "limit"), description="attempts in the system at once"
    )
    degradation: DegradationTable | None = Field(
        default=default(Admission, "degradation"), description="slower with a longer queue"
    )
    retry_after_s: NotNegative | None = Field(
        default=default(Admission, "retry_after_s"), description="what a rejection tells the client to wait"
    )
    error_rate: Annotated[float, Field(ge=0, lt=1)] = stated(
        Admission, "error_rate", "share of answers that are errors although the work was done"
    )

    def value(self) -> Service:
        """The service it describes."""
        settings = self.settings
        own = {name: settings.pop(name) for name in ("pods", "rate_per_pod", "service_time", "routing")}
        for name in ("codel", "limit", "degradation"):
            settings[name] = None if settings[name] is None else settings[name].value()
        return Service(**own, admission=Admission(**settings))
