"""The report's words for what a client and a service were set to."""

from __future__ import annotations

from dataclasses import fields

import pytest

from analysis.report.settings import admission_rows, client_rows
from domain.admission import Admission
from domain.budgets.aws import AwsTokenBucket
from domain.codel import CoDel
from domain.degradation import Degradation
from domain.experiment import Client
from domain.hedging import Hedging
from domain.limits.vegas import VegasLimit
from domain.presets import PRESETS


def test_a_plain_client_has_few_rows() -> None:
    """What it does not do is not listed."""
    assert client_rows(Client(10.0)) == [
        ("attempts per job, the first included", "3"),
        ("backoff", "none"),
        ("deadline is told as", "x-deadline"),
        ("what a rejected attempt does", "retry"),
    ]


def test_what_holds_a_client_back_is_told_with_its_numbers() -> None:
    """Budget, breaker, clients, deadline, and the preset they came from."""
    rows = dict(client_rows(Client(10.0, **PRESETS["polly"].settings, clients=5, deadline_s=30.0)))
    assert rows["preset"] == "polly"
    assert rows["backoff"] == "fixed (fixed_s 2)"
    assert rows["breaker"].startswith("circuit-breaker (failure_ratio 0.1, window_calls 100, window_s 30")
    assert rows["what a job does that they refuse"] == "retry"
    assert rows["clients, each with its own budget and breaker"] == "5"
    assert rows["deadline of a job, retries included"] == "30 s"
    budget = dict(client_rows(Client(10.0, budget=AwsTokenBucket())))["retry budget"]
    assert budget == "aws-token-bucket (capacity 500, timeout_cost 10, error_cost 5, throttle_cost 5)"


def test_a_hedged_client_has_copies_in_place_of_attempts() -> None:
    """They are what it sends."""
    rows = dict(client_rows(Client(10.0, hedging=Hedging(3, 0.5), honours_retry_after=True)))
    assert rows["hedging"] == "3 copies, one every 0.5 s until answered"
    assert rows["Retry-After"] == "honoured"
    assert not {"attempts per job, the first included", "backoff"} & set(rows)


def test_a_service_without_defences_has_no_rows() -> None:
    """The baseline; the discipline is told with the service."""
    assert admission_rows(Admission()) == []
    assert admission_rows(Admission(discipline="lifo")) == []


def test_the_defences_of_a_service_are_told_with_their_numbers() -> None:
    """Rules with their settings, switches as yes."""
    rows = admission_rows(
        Admission(queue_cap=80, drop_expired=True, least_s=1.0, codel=CoDel(), limit=VegasLimit())
    )
    assert rows == [
        ("queue cap", "80 waiting"),
        ("drops what is past its deadline", "yes"),
        ("drops what has less than this left", "1 s"),
        ("CoDel", "target_s 0.005, interval_s 0.1"),
        ("concurrency limit", "vegas (initial 20, most 1,000)"),
    ]


@pytest.mark.parametrize("name", [f.name for f in fields(Admission) if f.name != "discipline"])
def test_no_defence_is_forgotten(name: str) -> None:
    """Each setting that is not the default has its row."""
    values = {
        "standing": 3,
        "queue_cap": 1,
        "drop_expired": True,
        "least_s": 1.0,
        "cancel_on_disconnect": True,
        "first_before_retry": True,
        "codel": CoDel(),
        "limit": VegasLimit(),
        "degradation": Degradation(5.0),
        "retry_after_s": 0.0,
        "error_rate": 0.1,
    }
    others = {"queue_cap": 1} if name == "first_before_retry" else {}
    rows = admission_rows(Admission(**{name: values[name]}, **others))  # type: ignore[arg-type]
    assert len(rows) == 1 + len(others)
