"""Seed 001: call trees, the ramp, four thousand clients."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.studies import retry_storms
from analysis.studies.chain import Chain
from analysis.studies.claims import StudyResult
from analysis.studies.retry_storms import call_tree, crowd, ramp
from analysis.studies.retry_storms.call_tree import CHAIN
from tests.analysis.studies.checks import check_result, silent, verdicts

EFFORT = 0.05


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return retry_storms.run(EFFORT, silent)


def test_the_study_is_complete(result: StudyResult, tmp_path: Path) -> None:
    """Claims, data and figures are there."""
    assert result.name == "retry-storms"
    check_result(result, tmp_path)


def test_the_same_effort_gives_the_same_numbers(result: StudyResult) -> None:
    """Seeds are fixed, and the cores do not matter."""
    again = retry_storms.run(EFFORT, silent)
    assert again.claims == result.claims


@pytest.mark.parametrize(("p", "load", "served"), [(0.1, 1.518, 0.995), (0.7, 23.0, 0.122)])
def test_the_call_tree(p: float, load: float, served: float) -> None:
    """Five services, three attempts: load and success to the digits of the design's table."""
    ours = CHAIN.exact(p, "each hop alone")
    assert ours[0] == pytest.approx(load, rel=5e-4)
    assert ours[1] == pytest.approx(served, abs=5.1e-4)


def test_the_ceiling_of_the_call_tree() -> None:
    """81 at p = 1."""
    assert CHAIN.exact(1.0, "each hop alone")[0] == 81.0


def test_the_ramp_has_two_thresholds(result: StudyResult) -> None:
    """Up: within 10% of 950/s. Down: about capacity/m or not far below, halved or not."""
    for row in result.data["ramp"]["fluid"]:
        assert row["collapse_per_s"] == pytest.approx(950, rel=0.1)
        if np.isfinite(row["recovery_per_s"]):
            assert 0.7 * row["law_per_s"] <= row["recovery_per_s"] <= 1.1 * row["law_per_s"]
    for row in result.data["ramp"]["simulated"]:
        assert row["collapse_per_s"] == pytest.approx(950, rel=0.15)
        assert row["recovery_per_s"] == pytest.approx(320, rel=0.2)


def test_an_endless_queue_does_not_drain_on_the_way_down(result: StudyResult) -> None:
    """Without a cap the debt outlasts the ramp."""
    row = result.data["ramp"]["fluid"][-1]
    assert "no limit" in row["variant"]
    assert np.isnan(row["recovery_per_s"])


def test_the_ramp_goes_up_and_down() -> None:
    """Each level once on the way up and once on the way down, the highest once."""
    levels = ramp.levels()
    assert levels[0] == levels[-1] == 100
    assert max(levels) == 1350
    assert levels == levels[::-1]
    assert len(set(levels)) == 51


def test_waves_of_the_exponential_rule() -> None:
    """At 1, 3, 7 and 15 s, each over 3,000/s in buckets of a second."""
    clients = crowd.work_out()
    rate = clients.per_s("exponential", 1.0)
    assert np.flatnonzero(rate).tolist() == [1, 3, 7, 15]
    assert (rate[[1, 3, 7, 15]] == 4000).all()


def test_full_jitter_sends_everybody_in_the_first_second() -> None:
    """The first wait is U(0, 1 s): the source's bound of 400/s does not hold in buckets of a second."""
    clients = crowd.work_out()
    assert (clients.sent_s["full jitter"][:, 0] < 1.0).all()
    assert clients.peak_per_s("full jitter", 1.0) > 4000
    assert clients.peak_per_s("full jitter", 1.0, after_s=10.0) < 400


def test_decorrelated_waits_lie_in_their_range() -> None:
    """Each wait is from base to three times the one before, and at most the cap."""
    sent = crowd.work_out().sent_s[crowd.DECORRELATED]
    waits = np.diff(sent, axis=1, prepend=0.0)
    before = np.hstack([np.full((len(waits), 1), crowd.BASE_S), waits[:, :-1]])
    assert (waits >= crowd.BASE_S - 1e-9).all()
    assert (waits <= np.minimum(crowd.CAP_S, 3 * before) + 1e-9).all()


def test_what_is_refuted(result: StudyResult) -> None:
    """The findings about the source, whatever the effort."""
    refuted = {statement for statement, agrees in verdicts(result).items() if agrees is False}
    assert {
        '"Each tier is allowed up to 3 retries" has the ceiling 3⁴ = 81×',
        '"The bottom service fails" 10% of the time, and nothing else does',
        '"The bottom service fails" 70% of the time, and nothing else does',
        "Demand has to be cut, from collapse to recovery, by",
        "Peak load under full jitter",
    } <= refuted


def test_figures_that_our_capacity_decides_are_not_compared(result: StudyResult) -> None:
    """Requests per second on the ramp; what does not depend on the capacity is judged on one variant."""
    rows = {claim.statement: claim for claim in result.claims if claim.source == "001 Sim B"}
    undecided = {statement for statement, claim in rows.items() if claim.agrees is None}
    assert undecided == {
        "Going up, goodput collapses at a demand of",
        "Before it collapses, goodput reaches",
        "Coming down, it recovers at a demand of",
    }
    for statement in undecided:
        assert "1,000/s, was chosen" in rows[statement].why
    assert ramp.STATED.words in rows["Demand has to be cut, from collapse to recovery, by"].ours


def test_the_cut_is_judged_on_the_stated_variant(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another variant as the stated one gives another verdict."""
    demand = np.array([100.0, 500.0, 1000.0, 500.0, 300.0, 100.0])
    loop = ramp.Loop(demand, np.array([100.0, 500.0, 0.0, 0.0, 300.0, 100.0]))
    early = ramp.Loop(demand, np.array([100.0, 500.0, 0.0, 500.0, 300.0, 100.0]))
    storm = ramp.Ramp({ramp.STATED: early, ramp.STEADY: loop}, [loop], [loop], None)
    assert loop.cut == pytest.approx(0.7)
    assert ramp._cut(storm).agrees is False
    assert f"only {ramp.STEADY.words} would be within it" in ramp._cut(storm).why
    monkeypatch.setattr(ramp, "STATED", ramp.STEADY)
    assert ramp._cut(storm).agrees is True


def test_retries_or_attempts_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """With three attempts for the four the source's ceiling would hold."""
    assert call_tree._retries_or_attempts().agrees is False
    monkeypatch.setattr(call_tree, "Chain", lambda services, max_attempts: Chain(services, max_attempts - 1))
    assert call_tree._retries_or_attempts().agrees is True
