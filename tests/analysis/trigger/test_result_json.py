"""What is written comes back equal, and what cannot be one is refused with every key named."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.trigger.against import compare
from analysis.trigger.assertions import check
from analysis.trigger.result import Interval, TriggerResult
from analysis.trigger.result_json import (
    TriggerRecord,
    read_record,
    record_from_json,
    record_to_json,
    result_from_json,
    result_to_json,
    write_record,
)
from domain.errors import ConfigurationError
from domain.trigger.assertions import Assertions
from tests.analysis.trigger.made_up import EVERY_KIND, RECOVERS, TRAPPED, plan

ANY_FLOAT = st.floats(allow_nan=False)


def through_json(data: dict[str, Any]) -> Any:
    """What another program would read; no NaN or Infinity, which are no JSON."""
    return json.loads(json.dumps(data, allow_nan=False))


@pytest.mark.parametrize("kind", EVERY_KIND)
def test_a_result_comes_back_equal(kind: str) -> None:
    """Every kind of finding."""
    result = EVERY_KIND[kind]
    assert result_from_json(through_json(result_to_json(result))) == result


@given(ANY_FLOAT, ANY_FLOAT, ANY_FLOAT)
def test_any_numbers_come_back_equal(value: float, low: float, high: float) -> None:
    """Infinite ones too: a client that never gives up has A = ∞."""
    shot = replace(TRAPPED.shots[0], amplification=Interval(value, low, high))
    result = replace(TRAPPED, shots=(shot,), client_amplification=math.inf)
    assert result_from_json(through_json(result_to_json(result))) == result


def test_all_that_is_wrong_is_said_at_once() -> None:
    """A missing key, one that is not known, and one of another kind, each with its place."""
    data = through_json(result_to_json(TRAPPED))
    del data["verdict"]
    data["colour"] = "red"
    data["shots"][0]["utilization"] = "high"
    with pytest.raises(ConfigurationError) as caught:
        result_from_json(data)
    assert sorted(fault.field for fault in caught.value.faults) == [
        "colour",
        "shots[0].utilization",
        "verdict",
    ]
    assert "verdict: is required" in str(caught.value)
    assert "colour: is not known (got 'red')" in str(caught.value)


@pytest.mark.parametrize("data", [None, [], "trapped", {"schema_version": 7}, {}])
def test_what_is_no_record_is_refused(data: object) -> None:
    """With words, and not with a traceback."""
    with pytest.raises(ConfigurationError):
        record_from_json(data)


def test_a_record_comes_back_equal(tmp_path: Path) -> None:
    """Plan, finding, exit code, version and comparison, as a file."""
    asked = replace(plan(), assertions=Assertions(max_utilization=0.3, verdicts=("recovers",)))
    comparison = compare(asked, TRAPPED, asked, RECOVERS)
    record = TriggerRecord(asked, TRAPPED, 1, "0.1.0", comparison, check(TRAPPED, asked.assertions))
    path = write_record(tmp_path, record)
    assert read_record(tmp_path) == record == read_record(path)
    assert [file.name for file in tmp_path.iterdir()] == ["trigger.json"]


@pytest.mark.parametrize("text", ["", "{", '{"schema_version": 1}', "[1]"])
def test_a_file_that_cannot_be_read_is_named(text: str, tmp_path: Path) -> None:
    """The message begins with where it is."""
    (tmp_path / "old.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"old\.json"):
        read_record(tmp_path / "old.json")
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_record(tmp_path / "none.json")


def test_a_plan_that_is_none_is_named(tmp_path: Path) -> None:
    """A record whose plan was tampered with."""
    data = record_to_json(TriggerRecord(plan(), TRAPPED, 1, "0.1.0"))
    data["plan"]["utilisation"] = 0.4
    (tmp_path / "trigger.json").write_text(json.dumps(data))
    with pytest.raises(ConfigurationError, match="utilisation"):
        read_record(tmp_path)


def test_the_verdict_is_a_key_at_the_top() -> None:
    """A pipeline asks for it by its plain name."""
    data = record_to_json(TriggerRecord(plan(), TRAPPED, 1, "0.1.0"))
    assert (data["verdict"], data["exit_code"], data["schema_version"]) == ("trapped", 1, 1)
    assert isinstance(result_from_json(result_to_json(TRAPPED)), TriggerResult)


def test_what_was_asked_and_compared_is_there_as_numbers() -> None:
    """A pipeline needs no parsing of sentences."""
    asked = replace(plan(), assertions=Assertions(max_utilization=0.3))
    checks = check(TRAPPED, asked.assertions)
    comparison = compare(asked, TRAPPED, asked, RECOVERS)
    data = through_json(record_to_json(TriggerRecord(asked, TRAPPED, 1, "0.1.0", comparison, checks)))
    (one,) = data["checks"]
    assert (one["name"], one["passed"], one["measured"]) == ("max_utilization", True, 0.331)
    assert {"asked", "why"} <= set(one)
    assert (data["comparison"]["worse"], data["comparison"]["nothing_compared"]) == (True, False)
    threshold = next(c for c in data["comparison"]["changes"] if c["name"] == "threshold")
    assert (threshold["before_value"], threshold["now_value"]) == (0.329, 0.331)
