"""The scenario file as data: which keys there are, of which type, in which range.

Each table of the file is one model; rules about a single value live here, rules that tie values
together in ``tipover.scenario_rules``. Client and service have modules of their own in
``tipover.scenario_tables``. Defaults come from ``domain.experiment``, where they are written.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from domain.arrivals import ArrivalKind
from domain.experiment import Demand, Expectation, ExpectedOutcome, Phase, RunSettings
from tipover.scenario_tables.backoffs import BackoffTable
from tipover.scenario_tables.base import LARGEST, NotNegative, Positive, Table, Text, default, stated
from tipover.scenario_tables.budgets import BreakerTable, BudgetTable
from tipover.scenario_tables.client import ClientTable, HedgingTable
from tipover.scenario_tables.fleet import FleetTable, PolicyTable, ScaleUpTable
from tipover.scenario_tables.limits import LimitTable
from tipover.scenario_tables.service import CoDelTable, DegradationTable, ServiceTable

__all__ = ["LARGEST", "TABLES", "UNIONS", "RunTable", "ScenarioTable", "scenario_json_schema"]


class PhaseTable(Table):
    """One entry of ``demand.phases``."""

    name: Text
    duration_s: Positive = Field(description="seconds of scenario time")
    factor: NotNegative = stated(Phase, "factor", "demand is multiplied by this")
    capacity_factor: Annotated[float, Field(ge=0, le=1)] = stated(
        Phase, "capacity_factor", "capacity is multiplied by this; 0 is an outage"
    )


class DemandTable(Table):
    """``[demand]``: first attempts, as ``utilization`` of the capacity or as ``arrival_rate_per_s``."""

    utilization: Annotated[Positive, Field(lt=1)] | None = Field(
        default=None, description="first attempts over capacity, at factor 1: a fraction, 0.45 for 45%"
    )
    arrival_rate_per_s: Positive | None = Field(default=None, description="first attempts/s, at factor 1")
    arrivals: ArrivalKind = default(Demand, "arrivals")
    phases: Annotated[list[PhaseTable], Field(min_length=1)]


class RunTable(Table):
    """``[run]``: every duration is divided by ``speedup``, rates and counts are not."""

    speedup: Positive = default(RunSettings, "speedup")
    seed: int = Field(default=default(RunSettings, "seed"), ge=0, le=2**63 - 1)


class ExpectTable(Table):
    """``[expect]``: what is said to happen, and by whom."""

    outcome: ExpectedOutcome
    recover_s: Positive | None = Field(default=None, description="seconds from the end of the trigger")
    tolerance: Positive = stated(Expectation, "tolerance", "relative")
    after_shed: Literal["recovers", "trapped"] | None = Field(
        default=None, description="what lowering demand does to a trapped service"
    )
    ingress_per_s: Positive | None = Field(default=None, description="all attempts/s, settled, in the watch")
    source: str = default(Expectation, "source")


class ScenarioTable(Table):
    """A Tipover scenario."""

    title: Text | None = Field(default=None, description="one line; the file's name when absent")
    service: ServiceTable | None = None
    fleet: FleetTable | None = None
    client: ClientTable
    demand: DemandTable
    run: RunTable = RunTable()
    expect: ExpectTable | None = None


def _kinds(place: tuple[str, ...], union: Any) -> dict[tuple[str, ...], type[Table]]:
    """The tables of a rule that comes in kinds, each at the rule's place and its kind."""
    models = get_args(get_args(union)[0])
    return {(*place, get_args(model.model_fields["kind"].annotation)[0]): model for model in models}


UNIONS: dict[tuple[str, ...], Any] = {
    ("client", "backoff"): BackoffTable,
    ("client", "budget"): BudgetTable,
    ("client", "breaker"): BreakerTable,
    ("service", "limit"): LimitTable,
    ("fleet", "scale_up"): ScaleUpTable,
}
"""Where a table's ``kind`` decides which model it is."""

TABLES: dict[tuple[str, ...], type[Table]] = {
    (): ScenarioTable,
    ("service",): ServiceTable,
    ("service", "codel"): CoDelTable,
    ("service", "degradation"): DegradationTable,
    ("fleet",): FleetTable,
    ("client",): ClientTable,
    ("client", "hedging"): HedgingTable,
    ("demand",): DemandTable,
    ("demand", "phases"): PhaseTable,
    ("run",): RunTable,
    ("expect",): ExpectTable,
    **{at: model for place, union in UNIONS.items() for at, model in _kinds(place, union).items()},
    ("fleet", "scale_up", "policies", "policies"): PolicyTable,
}
"""The model at each place, list positions left out; the place of one of several kinds ends with its kind."""


def scenario_json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a scenario file, for editors that complete and check TOML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ScenarioTable.model_json_schema(),
        "title": "Tipover scenario",
    }
