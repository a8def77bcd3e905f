"""Every word that comes through a Locust port is of the right shape or refused."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from domain.errors import ConfigurationError
from loadgen.cluster_words import (
    Answer,
    Order,
    Start,
    answer_from,
    end_from,
    order_from,
    progress_from,
    run_of,
    start_from,
)
from tipover.scenario import load_scenario

RUN = "0123456789abcdef" * 2


@pytest.fixture(scope="module")
def order() -> Order:
    """A proper one, with the largest seed."""
    experiment = load_scenario("f2-40")
    experiment = replace(experiment, run=replace(experiment.run, seed=2**63 - 1))
    return Order(RUN, 1, 3, 2, "http://10.0.0.7:8080", "TipoverUser", Path("/results/a"), True, experiment)


def test_an_order_arrives_as_it_was_sent(order: Order) -> None:
    """The experiment, the place and the share are the same on the other side."""
    assert order_from(order.as_message()) == order


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", "../../etc"),
        ("run", None),
        ("worker", 3),
        ("worker", -1),
        ("worker", True),
        ("workers", 0),
        ("workers", 10**9),
        ("neighbours", 4),
        ("neighbours", 1.5),
        ("target", 7),
        ("target", "h" * 5000),
        ("user", None),
        ("out", "results/a"),
        ("out", "/results\0/a"),
        ("out", 3),
        ("stats", "no"),
        ("experiment", {}),
        ("experiment", "[]"),
        ("experiment", "[" * 100_000),
        ("experiment", '{"name": 3}'),
        ("experiment", "x" * 2_000_000),
    ],
)
def test_an_order_with_something_wrong_in_it_is_refused(order: Order, field: str, value: Any) -> None:
    """The message names the field, and nothing but a ConfigurationError comes of it."""
    with pytest.raises(ConfigurationError) as refused:
        order_from({**order.as_message(), field: value})
    assert field in {fault.field for fault in refused.value.faults}


@pytest.mark.parametrize("message", [None, [], "tipover", 3, {}, {1: 2}])
def test_what_is_no_word_at_all_is_refused(message: object) -> None:
    """Any value that msgpack can carry may come."""
    for reader in (order_from, answer_from, start_from, lambda m: progress_from(m, 0, 1)):
        with pytest.raises(ConfigurationError):
            reader(message)
    assert run_of(message) == ""
    assert end_from(message) == (None, None)


def test_answer_and_start_arrive_as_they_were_sent() -> None:
    """A refusal and a time zero."""
    answer = Answer(RUN, "no", "boot a", "net a")
    assert answer_from(answer.as_message()) == answer
    start = Start(RUN, 12.5, 0.5, "boot a")
    assert start_from(start.as_message()) == start


@pytest.mark.parametrize("number", [math.nan, math.inf, "1", None])
def test_a_time_zero_that_is_no_time_is_refused(number: object) -> None:
    """It would be slept for."""
    with pytest.raises(ConfigurationError, match="start_monotonic_s"):
        start_from({**Start(RUN, 1.0, 0.5, "a").as_message(), "start_monotonic_s": number})


@pytest.mark.parametrize(
    ("clock", "now_s", "begins_s"),
    [
        ("boot a", 100.1, 100.5),
        ("boot b", 100.1, 100.6),
        ("boot b", 7.0, 7.5),
        ("boot a", 7.0, 7.5),
    ],
    ids=["shared", "another, close by", "another", "of the same name and far off"],
)
def test_time_zero_is_the_masters_on_a_shared_clock_only(clock: str, now_s: float, begins_s: float) -> None:
    """Elsewhere it is so many seconds after the message has come."""
    start = Start(RUN, 100.5, 0.5, "boot a")
    assert start.on_clock(clock, now_s) == pytest.approx(begins_s)


def test_a_progress_line_has_its_share_from_the_master() -> None:
    """A worker cannot speak for another one, and what else it sends is left out."""
    numbers = dict.fromkeys(
        ("start_monotonic_s", "t_s", "planned", "first", "retries", "answered", "failed", "open"), 1
    )
    said = {**numbers, "lag_p99_s": 0.1, "state": "running", "worker": 7, "more": "x"}
    line = progress_from(said, 0, 2)
    assert line["worker"] == 0
    assert line["workers"] == 2
    assert "more" not in line
    with pytest.raises(ConfigurationError, match="state"):
        progress_from({**said, "state": "begun"}, 0, 2)
