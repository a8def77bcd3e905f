"""Presets: the numbers of the deployed systems, as their own sources state them."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest

from domain.budgets.account import BudgetAccount
from domain.budgets.decide import FAILED, REFUSED, THROTTLED, TIMED_OUT
from domain.experiment import Client, Demand, Experiment, Phase
from domain.experiment_json import from_json, to_json
from domain.presets import PRESETS

NAMES = (
    "aws-standard",
    "aws-2026",
    "grpc",
    "finagle",
    "linkerd",
    "envoy",
    "istio",
    "polly",
    "resilience4j",
    "sre-10-percent",
    "naive-3",
)


def client_of(name: str) -> Client:
    """A client with a timeout of 10 s and everything else from the preset."""
    return Client(timeout_s=10.0, **PRESETS[name].settings)


def test_the_names() -> None:
    """Those people know."""
    assert tuple(PRESETS) == NAMES
    assert all(name == preset.name for name, preset in PRESETS.items())


@pytest.mark.parametrize("name", NAMES)
def test_each_names_its_source_and_makes_a_client(name: str) -> None:
    """All it sets are fields of a client, which survives JSON under the preset's name."""
    preset = PRESETS[name]
    assert preset.source
    assert preset.note.endswith(".")
    assert set(preset.settings) <= {field.name for field in fields(Client)} - {"timeout_s"}
    client = client_of(name)
    assert client.preset == name
    experiment = Experiment("x", "y", client, Demand(1.0, (Phase("a", 1.0),)))
    assert from_json(to_json(experiment)) == experiment


@pytest.mark.parametrize(
    ("name", "attempts"),
    [
        ("aws-standard", 3),  # botocore: max_attempts, the first included
        ("aws-2026", 3),
        ("grpc", 4),  # maxAttempts, the original included
        ("finagle", 3),  # two retries
        ("linkerd", float("inf")),
        ("envoy", 2),  # num_retries 1
        ("istio", 3),  # attempts: 2, which are retries
        ("polly", 4),  # MaxRetryAttempts 3, in addition to the original call
        ("resilience4j", 3),  # maxAttempts, the initial call included
        ("sre-10-percent", 3),
        ("naive-3", 3),
    ],
)
def test_attempts_include_the_first_whatever_the_source_counts(name: str, attempts: float) -> None:
    """Three retries are four attempts."""
    assert client_of(name).max_attempts == attempts


@pytest.mark.parametrize(
    ("name", "ranges"),
    [
        ("aws-standard", [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 20)]),  # rand · min(2^i, 20), i from 0
        ("aws-2026", [(0, 0.05), (0, 0.1), (0, 0.2)]),  # rand · min(0.05 · 2^i, 20)
        ("grpc", [(0.08, 0.12), (0.16, 0.24), (0.32, 0.48), (0.64, 0.96), (0.8, 1.2)]),
        ("finagle", [(0.005, 0.005), (0.005, 0.015)]),
        ("linkerd", [(0, 0)]),
        ("envoy", [(0, 0.025), (0, 0.075), (0, 0.175), (0, 0.25)]),  # as router_filter.rst spells out
        ("polly", [(2, 2), (2, 2)]),
        ("resilience4j", [(0.5, 0.5), (0.5, 0.5)]),
        ("naive-3", [(0, 0)]),
    ],
)
def test_the_waits_are_those_the_source_spells_out(name: str, ranges: list[tuple[float, float]]) -> None:
    """After one failure, after two, and so on."""
    backoff = client_of(name).backoff
    for failed, expected in enumerate(ranges, start=1):
        assert backoff.bounds_s(failed) == pytest.approx(expected)


def retries_in_a_row(name: str, cause: int, at_most: int = 1000) -> int:
    """How many first attempts in a row, all failing and none answered before, may be retried."""
    account = BudgetAccount(client_of(name).budget)
    for job in range(at_most):
        account.sent(0.0, 1)
        account.ended(0.0, 1, False, 0.0)
        if account.price(0.0, cause) == REFUSED:
            return job
    return at_most


@pytest.mark.parametrize(
    ("name", "cause", "retries"),
    [
        ("aws-standard", TIMED_OUT, 50),  # 500 tokens at 10
        ("aws-standard", FAILED, 100),  # at 5
        ("aws-2026", TIMED_OUT, 35),  # at 14: 490
        ("aws-2026", THROTTLED, 100),  # at 5
        ("grpc", FAILED, 4),  # the fifth failure leaves 5 of 10 tokens, which is no longer above half
        ("envoy", TIMED_OUT, 3),  # max_retries, all under way at once
        ("istio", TIMED_OUT, 1000),
        ("naive-3", TIMED_OUT, 1000),
    ],
)
def test_a_full_budget_allows_so_many_retries(name: str, cause: int, retries: int) -> None:
    """Arithmetic on the sources' own numbers."""
    assert retries_in_a_row(name, cause) == retries


def test_finagle_starts_with_a_hundred_retries_in_hand() -> None:
    """Ten a second for ten seconds, and a fifth of one for each request: n = 100 + n/5 makes 125."""
    assert 123 <= retries_in_a_row("finagle", TIMED_OUT) <= 126
    assert client_of("linkerd").budget == client_of("finagle").budget


def test_only_what_nests_a_retry_around_a_breaker_retries_a_refusal() -> None:
    """Everywhere else a refused retry ends the job."""
    assert {name for name in NAMES if client_of(name).on_refusal == "retry"} == {"polly", "resilience4j"}
    assert {name for name in NAMES if client_of(name).breaker.kind != "none"} == {"polly", "resilience4j"}


def test_a_preset_is_a_client_like_any_other_when_the_clock_runs_faster() -> None:
    """Its times scale with the speed-up, its counts do not."""
    client = client_of("polly").scaled(0.1)
    assert client.backoff.bounds_s(1) == pytest.approx((0.2, 0.2))
    assert replace(client, preset=None).max_attempts == 4
