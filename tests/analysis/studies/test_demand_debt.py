"""Seed 002: propositions, scalers, falsification criteria."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from analysis.studies import demand_debt
from analysis.studies.claims import StudyResult
from analysis.studies.demand_debt import specimen as spike_module
from analysis.studies.demand_debt.recovery import HALF, SIX, Recovery, _models_agree
from analysis.studies.demand_debt.scaled import Step
from analysis.studies.demand_debt.specimen import Spike, looks_s, scaled_rate, seeds
from analysis.studies.sample import Sample
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
    assert [len(seeds(effort, 5, fewest=5)) for effort in (0.02, 1.0, 2.0)] == [5, 5, 10]
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
        "With two retries a first-attempt scaler is trapped from a target of",
        "F2: after the fivefold spike the 30% run recovers, the 40% run does not",
        "F4: with no step the pair holds",
    ):
        assert found[statement] is True, statement


def test_what_is_fitted(result: StudyResult) -> None:
    """Nothing that the autoscaler's metrics or the length of the run decide counts as plain agreement."""
    fitted = {claim.statement: claim.fitted for claim in result.claims if claim.fitted}
    for statement in (
        "CPU: capacity meets the load after",
        "Ingress rate: first-attempt work lost",
        "First attempts: peak pods over pods needed",
        "First attempts at a target of 30%: recovers after",
        "First attempts at 50% with a retry budget of 20%: recovers after",
        "F3: scaled on ingress, it recovers after",
        "F3: its pods climb to the ceiling and settle",
        "F4: paired, it recovers after",
    ):
        assert fitted[statement] == "metric windows, sync period and tolerance", statement
    losses = [statement for statement, words in fitted.items() if "900 s" in words]
    assert len(losses) == 3
    assert not any("Retry stack" in statement or "No trigger" in statement for statement in fitted)


@pytest.mark.parametrize("every_s", [1, 3, 4, 7, 10])
@pytest.mark.parametrize("duration_s", [100.0, 101.0, 102.0, 103.0])
def test_looks_never_pass_the_end(duration_s: float, every_s: int) -> None:
    """The last look is at the end of the run, whatever the step; the others are whole steps."""
    looks = looks_s(duration_s, every_s)
    assert looks[0] == 0.0
    assert looks[-1] == duration_s
    assert looks[:-1] == [every_s * n for n in range(len(looks) - 1)]
    assert 0 < looks[-1] - looks[-2] <= every_s


def test_a_long_watch_with_rare_looks_can_be_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third second or rarer, over a length that is no multiple of it."""
    monkeypatch.setattr(spike_module, "MOST_LOOKS", 700)
    spike = Spike(0.2, 10, 3)
    counts = spike.counts(5.0, [1])
    assert counts.edges_s[1] >= 3
    assert counts.edges_s[-1] == spike.experiment().duration_s
    assert math.isfinite(spike.recovered_s(counts).mean)


@pytest.mark.parametrize(
    ("values", "agrees"),
    [
        ([1000.0, 1001.0, 999.0], True),
        ([1015.0, 1015.0, 1015.0], True),
        ([1050.0, 1050.0, 1051.0], False),
        ([900.0, 1000.0, 1100.0], None),
        ([700.0, 1300.0, 1150.0], None),
    ],
)
def test_more_noise_does_not_make_the_models_agree(values: list[float], agrees: bool | None) -> None:
    """Within 2% means all of the interval; a wide one is undecided, not confirmed."""
    recovery = Recovery({HALF: 1000.0}, {HALF: Sample.of(values)}, 100.0)
    assert _models_agree(recovery).agrees is agrees


def test_a_seed_that_never_recovers_is_left_out_and_said() -> None:
    """It has no mean."""
    recovery = Recovery(
        {HALF: 1000.0, SIX: 1000.0},
        {HALF: Sample.of([1000.0, math.inf]), SIX: Sample.of([1000.0, 1000.0])},
        100.0,
    )
    judged = _models_agree(recovery)
    assert judged.agrees is True
    assert "1 left out, where a seed never recovers" in judged.why
    assert _models_agree(Recovery({HALF: 1000.0}, {HALF: Sample.of([math.inf])}, 100.0)).agrees is None
