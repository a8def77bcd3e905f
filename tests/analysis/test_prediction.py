from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest

from analysis.prediction import predict
from analysis.result import QUANTITIES
from domain.experiment import Phase
from tests.analysis.fifo import demo, kit, outage


@pytest.mark.parametrize(
    ("utilization", "watch_s", "outcome"),
    [(0.2, 1200, "healthy"), (0.25, 4000, "recovered"), (0.3, 2000, "undecided"), (0.4, 1200, "trapped")],
)
def test_predicted_outcomes_of_the_kit(utilization: float, watch_s: float, outcome: str) -> None:
    """Four utilizations, four outcomes; every quantity has its key."""
    prediction = predict(kit(utilization, watch_s=watch_s))
    assert prediction.outcome == outcome
    assert set(prediction.values) == set(QUANTITIES)


def test_threshold_itself_is_a_trap() -> None:
    """Aρ = 1 up to rounding: failing at the end, and for ever."""
    assert predict(kit(1 / 3)).outcome == "trapped"


def test_recovery_after_the_watch_is_found_and_noted() -> None:
    """The watch is too short for f2-30; the number is the same as with a long one."""
    short, long = predict(kit(0.3, watch_s=2000)), predict(kit(0.3, watch_s=12_000))
    assert short.values["recovery_s"] == pytest.approx(long.values["recovery_s"], abs=1)
    assert any("after the watch has ended" in note for note in short.notes)
    assert not long.notes


def test_spread_is_in_scenario_seconds() -> None:
    """Ten times the speed makes the spread √10 times as large, counted in scenario time."""
    slow, fast = predict(kit(0.3, watch_s=12_000, speedup=1)), predict(kit(0.3, watch_s=12_000, speedup=10))
    assert slow.recovery_sd_s is not None
    assert fast.recovery_sd_s == pytest.approx(slow.recovery_sd_s * math.sqrt(10), rel=1e-6)
    assert 400 < (fast.recovery_sd_s or 0) < 600


def test_outage_has_a_recovery_and_a_spread() -> None:
    """A capacity cut is predicted like a spike, from its own phases."""
    prediction = predict(outage(0.2))
    assert prediction.outcome == "recovered"
    assert prediction.values["failed_after_s"] == pytest.approx(0, abs=0.3)
    assert prediction.recovery_sd_s is not None


def test_shedding_is_predicted() -> None:
    """By hand: 1,508 s of wait when shedding begins, 7.4 s less after the last full retries, then 0.94 a
    second down to the timeout."""
    prediction = predict(kit(0.4, watch_s=300, after=(Phase("shed", 2000, 0.05),)))
    assert prediction.outcome == "trapped"
    assert prediction.values["shed_recovery_s"] == pytest.approx(1605.7, abs=1)


def test_foreign_service_has_no_prediction() -> None:
    """Without a capacity there is nothing to predict, and the note says so."""
    prediction = predict(replace(kit(0.4), service=None))
    assert prediction.outcome is None
    assert prediction.fluid is None
    assert prediction.values["utilization"] is None
    assert "not ours" in prediction.notes[0]


def test_endless_client_is_trapped_without_numbers_that_are_not() -> None:
    """A = ∞: trapped at any utilization, no settled ingress."""
    prediction = predict(kit(0.2, factor=10, max_attempts=math.inf))
    assert prediction.outcome == "trapped"
    assert prediction.values["ingress_per_s"] is None


def test_notes_warn_of_noise() -> None:
    """A timeout of a few mean services is noisy: slack below 20, and single services that outlast it."""
    notes = predict(demo()).notes
    assert not notes
    noisy = predict(replace(demo(), run=replace(demo().run, speedup=10.0))).notes
    assert any("below 20" in note for note in noisy)
    assert any("P(S > T)" in note for note in noisy)
    assert any("Lower the speed-up" in note for note in noisy)


def test_a_run_at_full_length_is_not_told_to_slow_down() -> None:
    """At speed-up 1 only a longer timeout or more capacity helps; large counts have separators."""
    small = kit(0.3, speedup=1.0, rate_per_pod=0.4, watch_s=40_000)
    (note, touched) = predict(small).notes[:2]
    assert note.endswith("Only a longer timeout or more capacity makes it less so.")
    assert re.search(r"of \d+,\d{3} jobs see a timeout", touched)
