"""The plan of a trigger test as a value: what it refuses, and that it is read as it was written."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.budgets.aws import AwsTokenBucket
from domain.experiment import Client
from domain.presets import PRESETS
from domain.request_mix import RequestMix, RequestTemplate, Success
from domain.trigger.assertions import Assertions
from domain.trigger.guards_plan import Guards
from domain.trigger.plan import Ceiling, Probing, Target, TriggerPlan
from domain.trigger.plan_json import plan_from_json, plan_to_json

TARGET = Target("http://127.0.0.1:8080")


def plan(**changes: Any) -> TriggerPlan:
    """A plan with these values."""
    return TriggerPlan(**{"name": "a", "target": TARGET, "client": Client(1.0), **changes})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"utilization": 1.0}, "utilization: must be above 0 and below 1"),
        ({"utilization": math.nan}, "utilization"),
        ({"dose": 1.0}, "dose: must be above 1 timeout, or the spike is no trigger"),
        ({"confidence": 0.4}, "confidence: must be from 0.5 to 0.999"),
        ({"capacity_per_s": 0.0}, "capacity_per_s: must be a finite number above 0"),
        ({"spike_s": math.inf}, "spike_s"),
        ({"watch_timeouts": -1.0}, "watch_timeouts"),
    ],
)
def test_a_value_out_of_range_is_refused(changes: dict[str, Any], said: str) -> None:
    """A plan that cannot be one is not made, whoever makes it."""
    with pytest.raises(ValueError, match=said):
        plan(**changes)


@pytest.mark.parametrize("made", [lambda: Probing(patience_s=0), lambda: Ceiling(rate_per_s=-1.0)])
def test_probes_and_ceilings_are_positive(made: Any) -> None:
    """So are the values inside it."""
    with pytest.raises(ValueError, match="must be a finite number above 0"):
        made()


def test_a_whole_plan_is_read_as_it_was_written() -> None:
    """Every kind of value survives: bytes that are no text, pairs, infinity, rules with their kind."""
    written = plan(
        target=Target("https://h:1", "10.0.0.1", "ca.pem", "http://p:2", "::1"),
        client=Client(0.5, math.inf, budget=AwsTokenBucket(), deadline_s=3.0),
        mix=RequestMix(
            (
                RequestTemplate("POST", "/a?b=${C}", (("A", "b"), ("T", "${S}")), b"\xff\x00", 2.0, "x"),
                RequestTemplate(body="ρ".encode()),
            ),
            Success(((200, 299), (404, 404)), "ok"),
        ),
        capacity_per_s=175.0,
        guards=Guards(allow_file="f", stop_query="up", yes=True),
        assertions=Assertions(0.6, 3.0, None, ("recovers", "not vulnerable")),
        find_threshold=True,
        locustfile="l.py",
        title="t",
    )
    assert plan_from_json(json.loads(json.dumps(plan_to_json(written)))) == written


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_survive(name: str) -> None:
    """So does every deployed client."""
    written = plan(client=Client(timeout_s=1.0, **PRESETS[name].settings))
    assert plan_from_json(json.loads(json.dumps(plan_to_json(written)))) == written


@given(st.binary(max_size=40).filter(lambda body: b"${" not in body))
def test_any_body_survives(body: bytes) -> None:
    """A body is bytes, be they text or not."""
    written = plan(mix=RequestMix((RequestTemplate("PUT", "/", (), body),)))
    assert plan_from_json(json.loads(json.dumps(plan_to_json(written)))) == written


def test_all_faults_of_a_written_plan_are_named() -> None:
    """Nonsense is refused with every place at once."""
    data = plan_to_json(plan())
    data["mix"]["success"]["statuses"] = [[200], 3]
    data["mix"]["requests"][0]["body"] = {"base64": "!"}
    data["client"]["backoff"] = {"kind": "what"}
    data["ceiling"]["extra"] = 1
    del data["name"]
    with pytest.raises(ValueError, match="name: is required") as refused:
        plan_from_json(data)
    for place in ("statuses[0]", "statuses[1]", "requests[0].body", "client.backoff.kind", "ceiling.extra"):
        assert place in str(refused.value)


def test_older_plans_get_todays_defaults() -> None:
    """What a plan does not say is the default."""
    data = {"name": "a", "target": {"url": TARGET.url}, "client": {"timeout_s": 1}}
    assert plan_from_json(data) == plan()


def test_nothing_asked_is_nothing_asserted() -> None:
    """Whether a pipeline asks for anything can be told."""
    assert not Assertions().asked
    assert Assertions(verdicts=("trapped",)).asked
