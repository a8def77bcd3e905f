"""``trigger.json``: the finding with its plan, what was asked of it and how it was judged, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from analysis.trigger.against import Comparison
from analysis.trigger.assertions import AssertionCheck
from analysis.trigger.result import TriggerResult
from domain.errors import ConfigurationError, Fault
from domain.trigger.plan import TriggerPlan
from domain.trigger.plan_json import plan_from_json, plan_to_json

FILE_NAME = "trigger.json"
SCHEMA_VERSION = 1

Value = TypeVar("Value")


@dataclass(frozen=True)
class TriggerRecord:
    """Everything that ``trigger.json`` holds."""

    plan: TriggerPlan
    result: TriggerResult
    exit_code: int
    tool_version: str
    comparison: Comparison | None = None
    checks: tuple[AssertionCheck, ...] = ()


def result_to_json(result: TriggerResult) -> dict[str, Any]:
    """A value that ``json.dumps`` takes and ``result_from_json`` turns back into an equal one."""
    data: dict[str, Any] = _plain(asdict(result))
    return data


def result_from_json(data: object) -> TriggerResult:
    """The finding that was written; raises ``ConfigurationError`` that names every key that is missing, not
    known, or of another kind."""
    return _value_of(TriggerResult, data, "")


def record_to_json(record: TriggerRecord) -> dict[str, Any]:
    """The whole file: the result's own keys beside those of the test."""
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": record.tool_version,
        "exit_code": record.exit_code,
        **result_to_json(record.result),
        "plan": plan_to_json(record.plan),
        "checks": [_plain(asdict(check)) for check in record.checks],
        "comparison": None if record.comparison is None else _comparison_to_json(record.comparison),
    }


def _comparison_to_json(comparison: Comparison) -> dict[str, Any]:
    """With what a pipeline asks first, which is worked out from the rest."""
    data: dict[str, Any] = _plain(asdict(comparison))
    return {"worse": bool(comparison.worse), "nothing_compared": comparison.nothing_compared, **data}


def _comparison_from_json(data: object) -> Comparison:
    if isinstance(data, Mapping):
        data = {key: value for key, value in data.items() if key not in ("worse", "nothing_compared")}
    return _value_of(Comparison, data, "comparison")


def record_from_json(data: object) -> TriggerRecord:
    """What ``record_to_json`` wrote; raises ``ConfigurationError`` with everything that is wrong."""
    if not isinstance(data, Mapping):
        raise ConfigurationError("this is no finding of a trigger test: a JSON object is needed")
    if data.get("schema_version") != SCHEMA_VERSION:
        rule = f"must be {SCHEMA_VERSION}: another version of tipover wrote this"
        raise ConfigurationError(
            "this finding of a trigger test cannot be read",
            [Fault("schema_version", rule, data.get("schema_version"))],
        )
    own = {field.name for field in fields(TriggerRecord)} - {"result"} | {"schema_version"}
    result = result_from_json({key: value for key, value in data.items() if key not in own})
    missing = [Fault(key, "is required", None) for key in ("plan", "exit_code") if key not in data]
    if missing:
        raise ConfigurationError("this finding of a trigger test cannot be read", missing)
    comparison = data.get("comparison")
    return TriggerRecord(
        plan_from_json(data["plan"]),
        result,
        _value_of(int, data["exit_code"], "exit_code"),
        str(data.get("tool_version", "")),
        None if comparison is None else _comparison_from_json(comparison),
        _value_of(tuple[AssertionCheck, ...], data.get("checks", []), "checks"),
    )


def write_record(directory: Path, record: TriggerRecord) -> Path:
    """Write ``trigger.json`` whole or not at all."""
    path = directory / FILE_NAME
    part = path.with_suffix(".json.part")
    text = json.dumps(record_to_json(record), indent=2, allow_nan=False)
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
    return path


def read_record(place: Path) -> TriggerRecord:
    """The record of a run directory, or of a ``trigger.json`` that was kept elsewhere.

    Raises ``ConfigurationError`` if there is none or it cannot be understood.
    """
    path = place / FILE_NAME if place.is_dir() else place
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise ConfigurationError(f"{path} is not JSON: {error}") from error
    try:
        return record_from_json(data)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error.summary}", error.faults) from error
    except (ValueError, KeyError, TypeError) as error:  # the plan's codec, in its own words
        raise ConfigurationError(f"{path}: its plan cannot be read ({error})") from error


def _value_of(kind: type[Value], data: object, at: str) -> Value:
    """A value of this dataclass from plain data, with all faults at once."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    # A dataclass takes no settings from outside, what contains one does.
    adapter: TypeAdapter[Any] = TypeAdapter(tuple[kind], config=ConfigDict(extra="forbid"))  # type: ignore[valid-type]
    try:
        made: Value = adapter.validate_python((data,))[0]
    except ValidationError as error:
        faults = [_fault(entry, at) for entry in error.errors(include_url=False)]
        raise ConfigurationError("this finding of a trigger test cannot be read", faults) from error
    return made


def _fault(entry: Any, at: str) -> Fault:
    place = at
    for part in entry["loc"][1:]:
        place += f"[{part}]" if isinstance(part, int) else f".{part}" if place else str(part)
    place = place or "the file"
    match entry["type"]:
        case "missing":
            return Fault(place, "is required", None)
        case "unexpected_keyword_argument":
            return Fault(place, "is not known", entry["input"])
        case _:
            return Fault(place, str(entry["msg"]), entry["input"])


def _plain(value: Any) -> Any:
    """Tuples as lists, and what JSON has no number for as the words that ``float`` reads."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
