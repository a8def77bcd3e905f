"""What a band excuses and what it does not: the rules as a table of cases."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.leeway import with_leeway
from analysis.result import Check, Prediction
from analysis.simulation.bands import Band, Bands, Envelope

NOTHING = Envelope(*(np.zeros(2) for _ in range(4)))


def prediction(band: tuple[float, float, float] | None, count: int = 40, seeds: int = 40) -> Prediction:
    """A prediction with the same band for the two times of recovery; the other seeds are trapped."""
    values = {key: Band(*band, count) for key in ("recovery_s", "shed_recovery_s")} if band else {}
    outcomes = {"recovered": count, "trapped": seeds - count} if count < seeds else {"recovered": seeds}
    return Prediction(
        "recovered", {}, None, bands=Bands(tuple(range(1, seeds + 1)), outcomes, {}, values, NOTHING)
    )


def check(name: str, predicted: float, measured: float | None, tolerance: float) -> Check:
    """A relative check as the comparison makes it."""
    passed = measured is not None and abs(measured - predicted) <= tolerance * predicted
    return Check(name, predicted, measured, tolerance, passed, why="before")


NARROW, WIDE, TIGHT = (900.0, 1000.0, 1200.0), (300.0, 1000.0, 1900.0), (990.0, 1000.0, 1010.0)


@pytest.mark.parametrize("name", ["recovery_s", "recovery_s_expected", "shed_recovery_s"])
@pytest.mark.parametrize(
    ("predicted", "measured", "tolerance", "band", "count", "passes", "words"),
    [
        (1000, 1050, 0.1, NARROW, 40, True, "inside the band"),
        (1000, 1150, 0.1, NARROW, 40, True, "no more than chance does to this very run"),
        (1000, 1090, 0.1, TIGHT, 40, True, "inside the tolerance but outside the band"),
        (1000, 1250, 0.1, NARROW, 40, False, "outside the tolerance and outside the band"),
        (1000, 1800, 0.1, WIDE, 40, False, "chance decides: the band is wider than its median"),
        (1000, 1050, 0.1, WIDE, 40, True, "chance decides: the band is wider than its median"),
        (1000, 1150, 0.1, NARROW, 28, False, "chance decides: only 28 of 40 seeds have such a time"),
        (1000, None, 0.1, NARROW, 28, False, "chance decides: only 28 of 40 seeds have such a time"),
        (1000, None, 0.1, NARROW, 40, False, "chance makes it 900 to 1,200 s"),
    ],
)
def test_a_time_of_recovery_is_judged_by_tolerance_and_band(
    name: str,
    predicted: float,
    measured: float | None,
    tolerance: float,
    band: tuple[float, float, float],
    count: int,
    passes: bool,
    words: str,
) -> None:
    """The band may excuse what the tolerance does not, unless agreement with it would mean nothing."""
    judged = with_leeway(check(name, predicted, measured, tolerance), prediction(band, count))
    assert judged.passed is passes
    assert words in judged.why
    assert judged.why.startswith("before; ")
    assert (judged.low, judged.high) == (band[0], band[2])


def test_a_figure_that_the_simulation_refutes_is_not_excused() -> None:
    """Measured and simulated agree on 1,000 s; the scenario's 500 s is wrong all the same."""
    expected = with_leeway(check("recovery_s_expected", 500, 1000, 0.15), prediction(NARROW))
    assert not expected.passed
    assert "does not hold the expected figure" in expected.why


def test_a_fluid_figure_outside_the_band_is_said_to_be_so() -> None:
    """The prediction as a whole holds: the run is where the simulation puts it, and the reader is told."""
    judged = with_leeway(check("recovery_s", 500, 1000, 0.15), prediction(NARROW))
    assert judged.passed
    assert "the fluid model's figure is outside it" in judged.why


def test_few_seeds_excuse_nothing() -> None:
    """Five seeds have no 5% quantile worth the name."""
    judged = with_leeway(check("recovery_s", 1000, 1150, 0.1), prediction(NARROW, 5, 5))
    assert not judged.passed
    assert judged.why == "before; chance cannot be told from 5 seeds"
    inside = with_leeway(check("recovery_s", 1000, 1050, 0.1), prediction(NARROW, 1, 1))
    assert inside.passed
    assert inside.why == "before; chance cannot be told from one seed"


@pytest.mark.parametrize(
    ("speedup", "words"), [(10, "lower the speed-up"), (1, "a longer timeout or more capacity is needed")]
)
def test_what_would_tell_more_depends_on_the_speed(speedup: float, words: str) -> None:
    """At speed-up 1 there is nothing to lower."""
    judged = with_leeway(check("recovery_s", 1000, 1800, 0.1), prediction(WIDE), speedup=speedup)
    assert words in judged.why


def test_the_outcome_is_not_excused_but_the_seeds_are_told() -> None:
    """A word stays a word; who reads it learns that chance decides."""
    outcome = Check("outcome", "recovered", "trapped", None, False, why="expected by the scenario")
    judged = with_leeway(outcome, prediction(NARROW, 28))
    assert not judged.passed
    assert judged.why == ("expected by the scenario; simulated: 28 of 40 seeds recover, 12 are trapped")


def test_other_checks_get_their_band_to_be_shown_and_nothing_else() -> None:
    """Capacity is not left to chance: it has a tolerance of its own."""
    bands = prediction(NARROW).bands
    assert bands is not None
    shown = Prediction("recovered", {}, None, bands=bands)
    capacity = check("capacity_per_s", 160, 150, 0.01)
    assert with_leeway(capacity, shown) == capacity
    assert with_leeway(capacity, Prediction("recovered", {}, None)) == capacity
