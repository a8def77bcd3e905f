"""Seed 003, and the chain of services that seeds 001 and 003 share."""

from __future__ import annotations

import math
import random
from pathlib import Path

import pytest

from analysis import laws
from analysis.studies import hop_retries
from analysis.studies.chain import READINGS, Chain, Reading
from analysis.studies.claims import StudyResult
from analysis.studies.hop_retries import attempts_before
from tests.analysis.studies.checks import check_result, silent, verdicts


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return hop_retries.run(0.1, silent)


def test_the_study_is_complete(result: StudyResult, tmp_path: Path) -> None:
    """Claims, data and figures are there."""
    assert result.name == "hop-retries"
    check_result(result, tmp_path)


def test_the_same_effort_gives_the_same_numbers(result: StudyResult) -> None:
    """Nothing depends on the clock or on what ran before."""
    again = hop_retries.run(0.1, silent)
    assert again.claims == result.claims
    assert again.data == result.data


def test_what_is_refuted(result: StudyResult) -> None:
    """The predicate contradicts the table; one slow service raises one rate; a bound is not safety."""
    refuted = {statement for statement, agrees in verdicts(result).items() if agrees is False}
    assert refuted == {
        "Retrying is safe if and only if (1 + R)^H ≤ slack",
        "A single slow dependency, retried at 3%, raises arrivals as much",
        "A propagated deadline is safe regardless of R and H",
    }


@pytest.mark.parametrize("hops", [1, 2, 3, 4])
@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_without_a_deadline_the_worst_case_is_reached(hops: int, attempts: int) -> None:
    """A last service that always fails is tried m^H times."""
    assert attempts_before(hops, attempts, 0.01, math.inf) == laws.hop_amplification(attempts, hops)


@pytest.mark.parametrize("hops", [1, 3, 6])
@pytest.mark.parametrize("fails_after_s", [0.003, 0.05, 0.7])
def test_a_deadline_bounds_the_attempts(hops: int, fails_after_s: float) -> None:
    """min(m^H, ⌈D/s⌉), whatever the hops."""
    reached = attempts_before(hops, 4, fails_after_s, 0.5)
    assert reached == min(4**hops, math.ceil(0.5 / fails_after_s))


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("failure", [0.0, 0.3, 0.7])
def test_draws_agree_with_the_exact_chain(reading: Reading, failure: float) -> None:
    """Load and success of 4,000 requests lie within four standard errors of the exact values."""
    chain = Chain(services=4, max_attempts=3)
    load, served = chain.exact(failure, reading)
    drawn = chain.draw(failure, reading, 4000, random.Random(7))
    assert abs(drawn.load.mean - load) <= 2.05 * drawn.load.half_width + 1e-12
    assert abs(drawn.served - served) <= 4 * math.sqrt(max(served * (1 - served), 1e-4) / 4000)


def test_only_the_last_service_failing_is_the_law() -> None:
    """The recursion over the hops is the closed form 1/(1 − p) cut off at m^(N−1)."""
    for p in (0.1, 0.5, 0.9):
        assert Chain(5, 3).exact(p, "only the last")[0] == pytest.approx(laws.last_service_load(p, 3, 5))


@pytest.mark.parametrize(
    ("slack", "deadline", "shared", "verdict"),
    [
        (256.0, False, False, "degraded"),
        (10.0, False, False, "do not ship"),
        (10.0, True, False, "safe"),
        (10.0, False, True, "safe"),
    ],
)
def test_the_decision_table(
    result: StudyResult, slack: float, deadline: bool, shared: bool, verdict: str
) -> None:
    """H = 4, R = 3: 256 against the slack, as the source's decision boundary says."""
    row = {"slack": slack, "deadline": deadline, "shared_budget": shared, "verdict": verdict}
    assert row in result.data["decisions"]


def test_verdicts_follow_from_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other values, other verdicts: a predicate that fits, a rise that fits, a hop that is not constant."""
    monkeypatch.setattr(hop_retries, "PREDICATE_SLACKS", (3.0,))
    monkeypatch.setattr(hop_retries, "SAID_RISE", 1.03)
    monkeypatch.setattr(hop_retries, "_lowered", lambda hops, at: 4.0**hops / (2 + at))
    found = verdicts(hop_retries.run(0.01, silent))
    assert found["Retrying is safe if and only if (1 + R)^H ≤ slack"] is True
    assert found["A single slow dependency, retried at 3%, raises arrivals as much"] is True
    assert found["Lowering R at the noisiest hop reduces fan-out by a constant factor"] is False
