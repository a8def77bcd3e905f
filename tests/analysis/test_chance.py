"""Bands in words, and how many seeds there are for them."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from analysis.chance import contested, meaning, tally, to_json, too_few, with_bands
from analysis.prediction import predict
from analysis.result import Prediction
from analysis.seeds import (
    affordable_seeds,
    available_cores,
    cores_that_fit,
    expected_attempts,
    expected_bytes,
    fluid_attempts,
    seeds_of,
    simulation_s,
)
from analysis.simulation.bands import Band, Bands, simulate_bands
from analysis.simulation.observed import observe
from domain.admission import Admission
from domain.backoff import ExponentialBackoff, FixedBackoff
from domain.budgets.ratio import RatioBudget
from domain.hedging import Hedging
from tests.analysis.fifo import demo, kit
from tests.analysis.test_leeway import NOTHING


def bands(outcomes: dict[str, int], **values: Band) -> Bands:
    """Bands of made-up seeds."""
    seeds = tuple(range(1, sum(outcomes.values()) + 1))
    return Bands(
        seeds, outcomes, {"recovered": len(seeds)} if "shed_recovery_s" in values else {}, values, NOTHING
    )


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ({"trapped": 40}, "all 40 seeds are trapped"),
        ({"trapped": 12, "recovered": 28}, "28 of 40 seeds recover, 12 are trapped"),
        ({"healthy": 39, "recovered": 1}, "39 of 40 seeds stay healthy, 1 recovers"),
        ({"undecided": 1}, "the only seed is left undecided"),
    ],
)
def test_seeds_are_counted_in_words(counts: dict[str, int], words: str) -> None:
    """The most frequent end comes first."""
    assert tally(counts) == words


def test_what_it_means_for_a_single_run() -> None:
    """Alike: how rare anything else is. A band: one run in twenty on each side. Mixed: the chances."""
    alike = meaning(bands({"recovered": 100}, recovery_s=Band(900, 1000, 1200, 100)), "the spike ends")
    assert alike[0] == (
        "All 100 seeds recover: fewer than 3% of runs end in any other way (with 95% confidence)."
    )
    assert alike[1].startswith("One run in twenty recovers in less than 900 s after the spike ends, one in")
    forty = meaning(bands({"trapped": 40}), "x")[0]
    assert "fewer than 8% of runs" in forty, "7.2%, rounded up: 7% would claim too much"
    mixed = meaning(bands({"recovered": 28, "trapped": 12}, recovery_s=Band(900, 1000, 1200, 28)), "x")
    assert mixed[0] == (
        "Judging by 40 seeds, a single run recovers with a chance of 70%, is trapped with a chance of 30%."
    )
    assert mixed[1].startswith("Of the runs that recover one in twenty is well in less than 900 s after x,")
    shed = meaning(bands({"trapped": 40}, shed_recovery_s=Band(16, 18, 20, 40)), "x")
    assert "is freed in less than 16 s after shedding begins" in shed[1]


@pytest.mark.parametrize(
    ("outcomes", "median", "words"),
    [
        ({"recovered": 40}, 1020.0, None),
        ({"recovered": 40}, 1100.0, "The fluid limit is poor here"),
        ({"recovered": 28, "trapped": 12}, 1000.0, "Chance decides how a single run ends"),
        (
            {"trapped": 40},
            1000.0,
            "The fluid model says recovered, but in the request-level simulation all 40",
        ),
    ],
)
def test_notes_where_fluid_and_simulation_part(
    outcomes: dict[str, int], median: float, words: str | None
) -> None:
    """5% off in the median, seeds that disagree, seeds that all disagree with the fluid model."""
    fluid = Prediction("recovered", {"recovery_s": 1000.0}, None, notes=("a note",))
    found = with_bands(fluid, bands(outcomes, recovery_s=Band(median - 50, median, median + 50, 40)))
    assert found.notes[0] == "a note"
    assert len(found.notes) == (1 if words is None else 2)
    assert words is None or words in found.notes[1]


def test_a_median_of_few_scattered_seeds_is_no_bias() -> None:
    """6% off, but its own standard error is as much."""
    fluid = Prediction("recovered", {"recovery_s": 1000.0}, None)
    scattered = Band(600, 1060, 1500, 20)
    assert not with_bands(fluid, bands({"recovered": 20}, recovery_s=scattered)).notes


def test_the_number_of_seeds_follows_from_what_they_cost() -> None:
    """Forty at most; none rather than fewer than ten; none for a service nobody knows."""
    experiment = demo()
    each = expected_attempts(experiment)
    assert each == pytest.approx(50 * (10 + 40 + 40) * 3)
    assert [affordable_seeds(experiment, n * each * 1.001) for n in (100, 25, 10, 9)] == [40, 25, 10, 0]
    assert affordable_seeds(replace(experiment, service=None), 1e9) == 0
    assert list(seeds_of(experiment, 3)) == [3, 4, 5]
    assert simulation_s(each, 100, 2) == pytest.approx(5 * simulation_s(each, 10, 1))


def test_the_fluid_model_says_what_a_seed_will_cost() -> None:
    """Within a tenth of what is simulated, and a third of the most where nothing is ever retried."""
    for experiment in (kit(0.2), kit(0.3, watch_s=6000)):
        attempts = fluid_attempts(experiment, predict(experiment).fluid)
        assert attempts == pytest.approx(observe(experiment).attempts.sent_s.size, rel=0.1)
    calm = kit(0.2)
    assert fluid_attempts(calm, predict(calm).fluid) == pytest.approx(expected_attempts(calm) / 3, rel=0.01)
    assert fluid_attempts(calm, None) == expected_attempts(calm)


def test_few_seeds_make_no_band_and_are_not_to_be_trusted() -> None:
    """No quantiles in words, no "trust the band", but that there are too few; nine of forty neither."""
    fluid = Prediction("recovered", {"recovery_s": 1000.0}, None)
    far = Band(2000, 2000, 2000, 2)
    two = bands({"recovered": 2}, recovery_s=far)
    few = "2 seeds are too few for a band of chance; --seeds 10 or more give one."
    assert meaning(two, "x") == ["All 2 seeds recover.", few]
    assert meaning(bands({"trapped": 1}), "x")[0] == "The only seed is trapped."
    assert meaning(bands({"trapped": 1, "recovered": 2}), "x")[0] == "2 of 3 seeds recover, 1 is trapped."
    assert not with_bands(fluid, two).notes
    rare = bands({"undecided": 31, "recovered": 9}, recovery_s=Band(2000, 2000, 2000, 9))
    assert len(meaning(rare, "x")) == 1
    assert [note.split(":")[0] for note in with_bands(fluid, rare).notes] == [
        "Chance decides how a single run ends"
    ]
    assert too_few(bands({"recovered": 1})).startswith("One seed is too few")
    assert too_few(bands({"recovered": 10})) == ""


@pytest.mark.parametrize(
    ("outcomes", "disputed"),
    [({"recovered": 40}, False), ({"recovered": 39, "trapped": 1}, True), ({"trapped": 40}, True)],
)
def test_seeds_that_end_otherwise_contest_the_fluid_model(outcomes: dict[str, int], disputed: bool) -> None:
    """One is enough."""
    prediction = with_bands(Prediction("recovered", {}, None), bands(outcomes))
    assert contested(prediction) is disputed
    assert not contested(Prediction("recovered", {}, None))


def test_endless_clients_cost_at_most_an_attempt_a_timeout() -> None:
    """Infinity would be no number of attempts."""
    endless = kit(0.2, max_attempts=math.inf)
    assert expected_attempts(endless) == pytest.approx(endless.live().arrival_plan.expected_jobs * 161)


@pytest.mark.parametrize(
    ("client", "admission", "attempts"),
    [
        ({}, {"queue_cap": 3}, 161),
        ({"backoff": FixedBackoff(0.5)}, {}, 161),
        ({"backoff": FixedBackoff(0.5)}, {"queue_cap": 3}, 3201),
        ({"backoff": FixedBackoff(0.5), "on_rejection": "give-up"}, {"queue_cap": 3}, 161),
        ({"backoff": ExponentialBackoff(0.5, 5.0)}, {"queue_cap": 3}, 321),
        ({"backoff": FixedBackoff(0.5), "budget": RatioBudget(), "on_refusal": "retry"}, {}, 3201),
        ({"backoff": FixedBackoff(0.5), "max_attempts": 1000}, {"queue_cap": 3}, 1000),
        ({"max_attempts": 1000}, {"queue_cap": 3}, 1000),
        ({"hedging": Hedging(5, 1.0)}, {}, 5),
    ],
)
def test_clients_that_are_told_no_at_once_cost_an_attempt_a_backoff(
    client: dict[str, Any], admission: dict[str, Any], attempts: int
) -> None:
    """1,600 s are 160 timeouts and 3,200 backoffs: the memory of a run is bounded by what may come."""
    endless = kit(0.2, max_attempts=math.inf)
    assert endless.service is not None
    service = replace(endless.service, admission=Admission(**admission))
    tried = replace(endless, client=replace(endless.client, **client), service=service)
    assert expected_attempts(tried) == pytest.approx(tried.live().arrival_plan.expected_jobs * attempts)


def test_as_many_seeds_at_a_time_as_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of a run that is larger than what is free."""
    experiment = kit(0.2)
    for seeds, cores in ((0.9, 0), (1.1, 1), (1e6, available_cores())):
        free = SimpleNamespace(available=int(seeds * expected_bytes(experiment)))
        monkeypatch.setattr(psutil, "virtual_memory", lambda free=free: free)
        assert cores_that_fit(expected_bytes(experiment)) == cores


def test_bands_are_the_same_on_any_number_of_cores() -> None:
    """Seed by seed, and in order."""
    one, four = (simulate_bands(demo(), range(3, 9), cores=cores) for cores in (1, 4))
    assert to_json(one) == to_json(four)
    assert (one.backlog.high_s == four.backlog.high_s).all()


def test_the_band_of_a_recovery_is_as_wide_as_the_diffusion_says() -> None:
    """90% of the seeds are within ± 1.645 standard deviations, as far as forty of them can tell."""
    experiment = kit(0.25, watch_s=6000, speedup=50)
    prediction = predict(experiment)
    band = simulate_bands(experiment, range(1, 41)).values["recovery_s"]
    assert prediction.recovery_sd_s is not None
    assert (band.high - band.low) / 3.29 == pytest.approx(prediction.recovery_sd_s, rel=0.4)
