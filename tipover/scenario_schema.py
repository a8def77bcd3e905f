"""The scenario file as data: which keys there are, of which type, in which range.

Each table of the file is one model; rules about a single value live here, rules that tie values
together in ``tipover.scenario_rules``. Defaults come from ``domain.experiment``, where they are written.
"""

from __future__ import annotations

import math
from dataclasses import fields
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from domain.admission import Admission
from domain.arrivals import ArrivalKind
from domain.experiment import (
    MAX_PODS,
    Client,
    Demand,
    Expectation,
    ExpectedOutcome,
    Phase,
    RunSettings,
)
from domain.queue_order import Discipline
from domain.service_time import DEFAULT_SHAPES, KINDS, SHAPE_RULES, ServiceTime, shape_is_valid

LARGEST = 1e9
"""No number in a scenario may be larger, so that products of two or three of them stay finite."""

Positive = Annotated[float, Field(gt=0, le=LARGEST)]
NotNegative = Annotated[float, Field(ge=0, le=LARGEST)]
Text = Annotated[str, Field(min_length=1)]


def _whole_or_inf(value: object) -> object:
    whole = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= LARGEST
    if whole or (isinstance(value, float) and value == math.inf):
        return value
    raise PydanticCustomError(
        "max_attempts", "must be a whole number of at least 1, the first attempt included, or inf"
    )


MaxAttempts = Annotated[
    Any,
    BeforeValidator(_whole_or_inf),
    WithJsonSchema({"type": "number", "minimum": 1}),
]


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


def _default(kind: type, name: str) -> Any:
    return next(f.default for f in fields(kind) if f.name == name)


class Table(BaseModel):
    """What all tables share: unknown keys, booleans or text for numbers, NaN and infinity are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class ServiceTable(Table):
    """``[service]``: what is tipped over; absent when the target is somebody else's."""

    pods: int = Field(ge=1, le=MAX_PODS, description="servers behind one queue")
    rate_per_pod: Positive = Field(description="attempts/s of one pod")
    service_time: ServiceTimeValue = ServiceTime()
    discipline: Discipline = _default(Admission, "discipline")


class NoBackoffTable(Table):
    """Retry at once."""

    kind: Literal["none"]


class FixedBackoffTable(Table):
    """Wait ``fixed_s`` before each retry."""

    kind: Literal["fixed"]
    fixed_s: NotNegative | None = Field(default=None, description="seconds; default timeout_s / 2")


class ExponentialBackoffTable(Table):
    """Wait min(base_s · 2^(n−1), cap_s) after n failed attempts."""

    kind: Literal["exponential"]
    base_s: Positive | None = Field(default=None, description="seconds; default timeout_s")
    cap_s: Positive | None = Field(default=None, description="seconds; default 8 · timeout_s")


class FullJitterBackoffTable(Table):
    """Wait U(0, min(base_s · 2^n, cap_s)) after n failed attempts."""

    kind: Literal["full-jitter"]
    base_s: Positive | None = Field(default=None, description="seconds; default timeout_s")
    cap_s: Positive | None = Field(default=None, description="seconds; default 8 · timeout_s")


BackoffTable = Annotated[
    NoBackoffTable | FixedBackoffTable | ExponentialBackoffTable | FullJitterBackoffTable,
    Field(discriminator="kind"),
]


class ClientTable(Table):
    """``[client]``: how long it waits and how often it tries."""

    timeout_s: Positive = Field(description="deadline of one attempt, in seconds from its send")
    max_attempts: MaxAttempts = Field(
        default=_default(Client, "max_attempts"),
        description="attempts a job may make, the first included; or inf",
    )
    backoff: BackoffTable = NoBackoffTable(kind="none")


class PhaseTable(Table):
    """One entry of ``demand.phases``."""

    name: Text
    duration_s: Positive = Field(description="seconds of scenario time")
    factor: NotNegative = Field(default=_default(Phase, "factor"), description="demand is multiplied by this")
    capacity_factor: Annotated[float, Field(ge=0, le=1)] = Field(
        default=_default(Phase, "capacity_factor"),
        description="capacity is multiplied by this; 0 is an outage",
    )


class DemandTable(Table):
    """``[demand]``: first attempts, as ``utilization`` of the capacity or as ``arrival_rate_per_s``."""

    utilization: Annotated[Positive, Field(lt=1)] | None = Field(
        default=None, description="first attempts over capacity, at factor 1: a fraction, 0.45 for 45%"
    )
    arrival_rate_per_s: Positive | None = Field(default=None, description="first attempts/s, at factor 1")
    arrivals: ArrivalKind = _default(Demand, "arrivals")
    phases: Annotated[list[PhaseTable], Field(min_length=1)]


class RunTable(Table):
    """``[run]``: every duration is divided by ``speedup``, rates are not."""

    speedup: Positive = _default(RunSettings, "speedup")
    seed: int = Field(default=_default(RunSettings, "seed"), ge=0, le=2**63 - 1)


class ExpectTable(Table):
    """``[expect]``: what is said to happen, and by whom."""

    outcome: ExpectedOutcome
    recover_s: Positive | None = Field(default=None, description="seconds from the end of the trigger")
    tolerance: Positive = Field(default=_default(Expectation, "tolerance"), description="relative")
    after_shed: Literal["recovers", "trapped"] | None = Field(
        default=None, description="what lowering demand does to a trapped service"
    )
    ingress_per_s: Positive | None = Field(default=None, description="all attempts/s, settled, in the watch")
    source: str = _default(Expectation, "source")


class ScenarioTable(Table):
    """A Tipover scenario."""

    title: Text | None = Field(default=None, description="one line; the file's name when absent")
    service: ServiceTable | None = None
    client: ClientTable
    demand: DemandTable
    run: RunTable = RunTable()
    expect: ExpectTable | None = None


TABLES: dict[tuple[str, ...], type[Table]] = {
    (): ScenarioTable,
    ("service",): ServiceTable,
    ("client",): ClientTable,
    ("client", "backoff", "none"): NoBackoffTable,
    ("client", "backoff", "fixed"): FixedBackoffTable,
    ("client", "backoff", "exponential"): ExponentialBackoffTable,
    ("client", "backoff", "full-jitter"): FullJitterBackoffTable,
    ("demand",): DemandTable,
    ("demand", "phases"): PhaseTable,
    ("run",): RunTable,
    ("expect",): ExpectTable,
}
"""The model at each place, list positions left out; a backoff's place ends with its kind."""


def scenario_json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario file, for editors that complete and check TOML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ScenarioTable.model_json_schema(),
        "title": "Tipover scenario",
    }
