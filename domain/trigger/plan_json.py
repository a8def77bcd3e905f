"""The plan as JSON, for the run directory and for the generator."""

from __future__ import annotations

from typing import Any

from domain.errors import Fault
from domain.trigger.plan import TriggerPlan
from domain.value_json import decoded, encoded


def plan_to_json(plan: TriggerPlan) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``plan_from_json`` turns back into an equal plan; what is secret
    is a name in it, as in the plan."""
    data: dict[str, Any] = encoded(plan)
    return data


def plan_from_json(data: dict[str, Any]) -> TriggerPlan:
    """The plan that ``plan_to_json`` wrote; raises ``ValueError`` that names all that cannot be one."""
    faults: list[Fault] = []
    plan: TriggerPlan = decoded(TriggerPlan, data, "", faults)
    if faults:
        raise ValueError("; ".join(map(str, faults)))
    return plan
