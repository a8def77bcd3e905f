"""The plan file as data: which keys there are, of which type, in which range.

Rules about a single value live here, rules that tie values together in ``tipover.trigger.plan_rules``.
Defaults come from ``domain.trigger``, where they are written. ``[[request]]`` and ``[success]`` are those of
``tipover.requests.tables``, ``[client]`` is the scenario's.
"""

from __future__ import annotations

from typing import Annotated, Any, get_args

from pydantic import AfterValidator, Field

from analysis.trigger.result import Word
from domain.trigger.assertions import Assertions
from domain.trigger.guards_plan import Guards
from domain.trigger.plan import CONFIDENCES, TRIGGERING_DOSE, Ceiling, Probing, Target, TriggerPlan
from tipover.requests.tables import RequestTable, SuccessTable
from tipover.scenario_tables.base import LARGEST, AtLeastOne, Positive, Several, Share, Table, Text, stated
from tipover.scenario_tables.base import default as default_of
from tipover.scenario_tables.client import ClientTable

TIMEOUT_S = 1.0
"""Of the imitated client, unless it is said."""
VERDICTS: tuple[str, ...] = get_args(Word)


class TargetTable(Table):
    """``[target]``: where the load goes."""

    url: Text = Field(description="base URL without a path, http:// or https://")
    ca_file: Text | None = Field(default=None, description="certificates to trust instead of the system's")
    probe_url: Text | None = stated(Target, "probe_url", "where patient probes go instead, past a gateway")


class PlanClientTable(ClientTable):
    """``[client]``: the client to imitate, as in a scenario."""

    timeout_s: Positive = Field(
        default=TIMEOUT_S, description="deadline of one attempt, in seconds from its send"
    )


Utilization = Annotated[float, Field(gt=0, lt=1)]


class PushTable(Table):
    """``[test]``: how far the service is pushed, and for how long it is watched."""

    utilization: Utilization = stated(
        TriggerPlan, "utilization", "first attempts over capacity, in baseline and watch"
    )
    capacity_per_s: Positive | None = stated(TriggerPlan, "capacity_per_s", "attempts/s; found if not given")
    dose: Annotated[float, Field(gt=TRIGGERING_DOSE, le=1000)] = stated(
        TriggerPlan, "dose", "queue that the spike leaves, in timeouts"
    )
    spike_s: Positive | None = stated(TriggerPlan, "spike_s", "length of the spike; default one timeout")
    baseline_timeouts: AtLeastOne = stated(TriggerPlan, "baseline_timeouts", "length of the baseline")
    watch_timeouts: AtLeastOne = stated(TriggerPlan, "watch_timeouts", "undecided after so many timeouts")
    rescue_s: Positive = stated(TriggerPlan, "rescue_s", "longest rescue")
    confidence: Annotated[float, Field(ge=CONFIDENCES[0], le=CONFIDENCES[1])] = stated(
        TriggerPlan, "confidence", "of the verdict: a fraction"
    )
    seed: int = Field(default=default_of(TriggerPlan, "seed"), ge=0, le=2**63 - 1)
    find_threshold: bool = stated(TriggerPlan, "find_threshold", "bisect the utilization afterwards")
    locustfile: Text | None = stated(
        TriggerPlan, "locustfile", "a user class of your own, which is what is sent"
    )


class ProbesTable(Table):
    """``[probes]``: requests that wait long enough to see the true wait, and what else can."""

    rate_per_s: Positive | None = stated(
        Probing, "rate_per_s", "probes/s; default four a timeout, at most 3% of the capacity"
    )
    patience_s: Positive | None = Field(
        default=None, description="seconds a probe waits; default 60, or 20 timeouts if that is more"
    )
    most_open: Several = stated(Probing, "most_open", "probes that may be open at once")
    prometheus: Text | None = Field(default=None, description="URL of a Prometheus that knows the service")
    received: Text | None = Field(
        default=None, description="query: attempts that the service has received, a counter"
    )


class LimitsTable(Table):
    """``[limits]``: what is never exceeded."""

    rate_per_s: Positive = stated(Ceiling, "rate_per_s", "attempts of any kind in any one second")
    attempts: Annotated[int, Field(ge=1, le=int(LARGEST))] = stated(Ceiling, "attempts", "in all")
    duration_s: Positive = stated(Ceiling, "duration_s", "of the whole test, the rescue included")


class GuardsTable(Table):
    """``[guards]``: who may be loaded, and what ends the load at once."""

    allow_file: Text | None = stated(Guards, "allow_file", "hosts other than loopback that may be loaded")
    health_url: Text | None = stated(Guards, "health_url", "a bystander that must stay well")
    health_for_s: Positive = stated(Guards, "health_for_s", "seconds it may fail before that is a stop")
    prometheus: Text | None = Field(default=None, description="URL; default that of [probes]")
    stop_query: Text | None = stated(Guards, "stop_query", "a value above 0 means stop, and so does none")
    stop_for_s: Positive = stated(Guards, "stop_for_s", "seconds it may say so before that is a stop")
    stop_file: Text = stated(
        Guards, "stop_file", "a file that ends the test when it is there, as STOP in the run directory does"
    )
    max_error_rate: Share = Field(
        default=default_of(Guards, "most_error_ratio"),
        description="share of attempts failing before the spike",
    )


class AssertTable(Table):
    """``[assert]``: what must hold for exit status 0."""

    min_threshold: Utilization | None = Field(
        default=None, description="the service must come back at least up to this utilization"
    )
    max_amplification: Positive | None = stated(Assertions, "max_amplification", "of the measured A")
    max_recovery_s: Positive | None = stated(Assertions, "max_recovery_s", "from the end of the spike")
    verdict: list[Word] = Field(default=[], description="verdicts that are accepted")


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be one line without control characters")
    return text


class PlanTable(Table):
    """A Tipover trigger plan."""

    title: Annotated[Text, AfterValidator(_one_line)] | None = Field(
        default=None, description="one line; the file's name when absent"
    )
    target: TargetTable
    request: list[RequestTable] = Field(default=[], max_length=1000, description="default: GET /")
    success: SuccessTable = SuccessTable()
    client: PlanClientTable = PlanClientTable()
    test: PushTable = PushTable()
    probes: ProbesTable = ProbesTable()
    limits: LimitsTable = LimitsTable()
    guards: GuardsTable = GuardsTable()
    # "assert" is a word of Python's; pydantic knows the key by its alias.
    assertions: AssertTable = Field(default=AssertTable(), alias="assert")


TABLES: dict[tuple[str, ...], type[Table]] = {
    (): PlanTable,
    ("target",): TargetTable,
    ("request",): RequestTable,
    ("success",): SuccessTable,
    ("client",): PlanClientTable,
    ("test",): PushTable,
    ("probes",): ProbesTable,
    ("limits",): LimitsTable,
    ("guards",): GuardsTable,
    ("assert",): AssertTable,
}
"""The model at each place, list positions left out."""


def plan_json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of a plan file, for editors that complete and check TOML."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **PlanTable.model_json_schema(by_alias=True),
        "title": "Tipover trigger plan",
    }
