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
from analysis.studies.hop_retries import single, trap_claims, traps, variants
from analysis.studies.hop_retries.single import attempts_before
from analysis.studies.hop_retries.variants import CALLERS, EDGE, NONE, SERVICES
from tests.analysis.studies.checks import check_result, silent, verdicts


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return hop_retries.run(0.02, silent)


def test_the_study_is_complete(result: StudyResult, tmp_path: Path) -> None:
    """Claims, data and figures are there."""
    assert result.name == "hop-retries"
    check_result(result, tmp_path)


def test_the_same_effort_gives_the_same_numbers(result: StudyResult) -> None:
    """Nothing depends on the clock or on what ran before."""
    again = hop_retries.run(0.02, silent)
    assert again.claims == result.claims
    assert again.data == result.data


def test_what_is_refuted(result: StudyResult) -> None:
    """The predicate contradicts the table; one slow service raises one rate; a bound is not safety."""
    refuted = {statement for statement, agrees in verdicts(result).items() if agrees is False}
    assert refuted == {
        "Retrying is safe if and only if (1 + R)^H ≤ slack",
        "A single slow dependency, retried at 3%, raises arrivals as much",
        "A propagated deadline bounds the work per request under load, whatever H",
        "A propagated deadline bounds the work per request while the last service answers with errors",
        "A propagated deadline is safe regardless of R and H",
        "A propagated deadline is safe if callers alone consume it and services serve what is late",
        "A propagated deadline is safe if it is each attempt's own end and services drop what is past it",
        "The same deadline is safe when the last service answers with errors for 20 s, no spike",
    }


def test_what_makes_a_deadline_safe(result: StudyResult) -> None:
    """Less than two timeouts, or each attempt's own end with enough time left: both hold under load."""
    held = {statement for statement, agrees in verdicts(result).items() if agrees}
    assert {
        "A propagated deadline is safe if every hop consumes it and D < 2T (here 1.75T)",
        "A propagated deadline is safe if it is each attempt's own end and services also drop what has less"
        " than 3 mean works left",
        "The deadline must be consumed by every hop",
    } <= held


def test_the_law_tells_trapped_from_recovered(result: StudyResult) -> None:
    """Above A_D · ρ = 1 every run stays failed, with the law's attempts per request; below it recovers."""
    kinds = (NONE, EDGE, CALLERS, SERVICES)
    tried = [row for row in result.data["traps"] if row["case"] in kinds]
    assert len(tried) > 10
    for row in tried:
        above = row["utilization"] * row["attempts_served_by_law"] > 1
        assert row["trapped"] == (row["runs"] if above else 0), row
        if above:
            assert row["attempts"]["mean"] == pytest.approx(row["attempts_arriving_by_law"], rel=0.02)
            assert row["useful"]["mean"] < 0.01


def test_verdicts_follow_from_the_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """If every request were answered, no deadline would be called unsafe; with none answered, none safe."""
    monkeypatch.setattr(traps, "WATCH_S", 60.0)
    monkeypatch.setattr(traps, "SHORTER_WATCH_S", 60.0)
    measured = traps.measure(0.02, lambda _: None)
    for below, verdict in ((-1.0, True), (2.0, False)):
        monkeypatch.setattr(variants, "TRAPPED_BELOW", below)
        safe = [c for c in trap_claims.claims(measured) if " is safe" in c.statement]
        assert len(safe) == 5
        assert {claim.agrees for claim in safe} == {verdict}


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
    monkeypatch.setattr(single, "PREDICATE_SLACKS", (3.0,))
    monkeypatch.setattr(single, "SAID_RISE", 1.03)
    monkeypatch.setattr(single, "_lowered", lambda hops, at: 4.0**hops / (2 + at))
    claims = single.claims(single.work_out(0.01, lambda _: None))
    found = {claim.statement: claim.agrees for claim in claims}
    assert found["Retrying is safe if and only if (1 + R)^H ≤ slack"] is True
    assert found["A single slow dependency, retried at 3%, raises arrivals as much"] is True
    assert found["Lowering R at the noisiest hop reduces fan-out by a constant factor"] is False
