"""Seed 002: propositions, scalers, falsification criteria."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.studies import demand_debt
from analysis.studies.claims import StudyResult
from analysis.studies.demand_debt.scaled import Step
from analysis.studies.demand_debt.specimen import Spike, scaled_rate, seeds
from domain.fleet import specimen
from tests.analysis.studies.checks import check_result, silent, verdicts


@pytest.fixture(scope="module")
def result() -> StudyResult:
    return demand_debt.run(0.02, silent)


def test_the_study_is_complete(result: StudyResult, tmp_path: Path) -> None:
    """Claims, data and figures are there."""
    assert result.name == "demand-debt"
    check_result(result, tmp_path)


@pytest.mark.parametrize(
    ("spike", "stated", "tolerance"),
    [
        (Spike(0.5, 10, 1), 2398, 0.01),
        (Spike(0.2, 10, 3), 3641, 0.02),
        (Spike(0.8 / 3, 10, 3), 10343, 0.01),
        (Spike(0.25, 5, pods=4), 2867, 0.01),
        (Spike(0.3, 5, pods=4), 9756, 0.01),
        (Spike(0.8, 10, budget=0.1), 19398, 0.01),
        (Spike(0.8, 10, budget=0.2), 63881, 0.01),
    ],
)
def test_recovery_times_of_the_fluid(spike: Spike, stated: float, tolerance: float) -> None:
    """The design's table of spikes and budgets; the two ranges by their middles."""
    assert spike.fluid_s() == pytest.approx(stated, rel=tolerance)
    assert spike.law_s == pytest.approx(stated, rel=2 * tolerance)


@pytest.mark.parametrize(
    "spike", [Spike(0.4, 5, pods=4), Spike(0.8, 10, budget=0.5), Spike(0.5, 10, budget=1.0)]
)
def test_never(spike: Spike) -> None:
    """Aρ of at least 1 is for ever."""
    assert math.isinf(spike.fluid_s())
    assert math.isinf(spike.law_s)


def test_no_trigger() -> None:
    """kρ = 1 leaves no debt."""
    assert Spike(0.2, 5, pods=4).fluid_s() == pytest.approx(0.0, abs=0.2)


def test_seeds_give_the_fluid_s_recovery_and_the_same_again() -> None:
    """Slower pods only add chance: within four of its standard deviations of 3% here; the same twice."""
    spike = Spike(0.2, 10, 3)
    sample = spike.recovered_s(spike.counts(20.0, [1, 2, 3]))
    assert sample.mean == pytest.approx(spike.fluid_s(), rel=0.12)
    assert spike.recovered_s(spike.counts(20.0, [1, 2, 3])) == sample


@pytest.mark.parametrize(
    ("signal", "recovers_s", "peak"), [("cpu", 771, 12.5), ("ingress", 266, 3.0), ("first", math.inf, 1.0)]
)
def test_three_signals(signal: str, recovers_s: float, peak: float) -> None:
    """Who gets out, when and at what price, to 5%."""
    run = Step(specimen(signal)).run()  # type: ignore[arg-type]
    assert run.healthy_after_s == pytest.approx(recovers_s, rel=0.05)
    assert run.peak_over_needed == pytest.approx(peak, rel=0.05)


def test_effort_changes_rate_and_seeds_only_where_it_says() -> None:
    """Never fewer than three seeds, never faster pods than the source's."""
    assert [len(seeds(effort, 5)) for effort in (0.02, 1.0, 2.0)] == [3, 5, 10]
    assert [scaled_rate(effort) for effort in (0.02, 0.5, 1.0, 4.0)] == [5.0, 50.0, 100.0, 100.0]


def test_what_is_confirmed(result: StudyResult) -> None:
    """The claims that are arithmetic or outcomes hold whatever the effort."""
    found = verdicts(result)
    for statement in (
        "Retry stack: client retries twice, gateway retries twice",
        "Four pods, ρ = 0.2: the same spike is no trigger, kρ = 1",
        "No trigger, 10 pods, ρ = 0.95, Aρ = 2.85",
        "Retry budget 50% at ρ = 0.8",
        "First attempts: state at the end",
        "F2: after the fivefold spike the 30% run recovers, the 40% run does not",
        "F4: with no step the pair holds",
    ):
        assert found[statement] is True, statement
