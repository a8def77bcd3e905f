"""The autoscaled fleet, request by request."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from analysis.simulation import simulate, simulate_fleet
from domain.autoscaler import Autoscaler
from domain.experiment import Client, Demand, Experiment, Phase, RunSettings, Service
from domain.fleet import Fleet, specimen
from domain.roster import Roster

KIT = Experiment(
    "kit",
    "",
    Client(10.0, 3),
    Demand(80.0, (Phase("base", 300.0), Phase("step", 1500.0, 5.0))),
    Service(4, 40.0),
)
EDGES = np.arange(0.0, 1801.0, 10.0)


def test_a_fleet_that_may_not_change_is_a_plain_service() -> None:
    """Attempt for attempt the run of one server as fast as the four pods together."""
    fixed = Fleet(("first",), autoscaler=Autoscaler(min_pods=4, max_pods=4))
    (run,) = simulate_fleet(KIT, fixed, [5])
    plain = simulate(replace(KIT, service=Service(1, 160.0), run=RunSettings(1.0, 5)))
    for name in ("jobs", "attempts", "late", "answered", "depth"):
        np.testing.assert_array_equal(getattr(run.counts, name), getattr(plain, name))
    np.testing.assert_allclose(run.counts.backlog_s, plain.backlog_s, rtol=1e-9)
    assert set(run.ordered) == {4.0}


def test_the_signal_decides() -> None:
    """Seed 002 F3 and F4: first attempts alone stay failed at about the 20 pods the demand needs; ingress,
    alone or paired, climbs to the ceiling of 50 and is healthy within minutes."""
    (first,) = simulate_fleet(KIT, specimen("first", max_pods=50), [1], edges_s=EDGES)
    assert first.ordered.max() == pytest.approx(20, abs=2)
    assert first.counts.answered[0, 60:].sum() < 0.01 * first.counts.jobs[0, 60:].sum()
    for signals in (("ingress",), ("first", "ingress")):
        (run,) = simulate_fleet(KIT, specimen(*signals, max_pods=50), [1], edges_s=EDGES)  # type: ignore[arg-type]
        failing = np.flatnonzero(run.counts.goodput_ratio[0] < 0.9)
        assert EDGES[failing[-1] + 1] - 300.0 == pytest.approx(270, rel=0.1)
        assert run.ordered.max() == 50
        assert run.ordered[-1] == pytest.approx(20, abs=2)


def test_a_fleet_at_speed_is_the_scaled_fleet() -> None:
    """Five times as fast is the run of an experiment and a fleet whose durations are all a fifth."""
    short = replace(KIT, demand=Demand(80.0, (Phase("base", 60.0), Phase("step", 240.0, 5.0))))
    fleet = specimen("ingress", max_pods=50)
    (fast,) = simulate_fleet(replace(short, run=RunSettings(5.0)), fleet, [1])
    live = replace(short, run=RunSettings(5.0)).live()
    (scaled,) = simulate_fleet(live, fleet.scaled(0.2), [1])
    np.testing.assert_array_equal(fast.t_s, scaled.t_s)
    np.testing.assert_array_equal(fast.ordered, scaled.ordered)
    np.testing.assert_array_equal(fast.counts.attempts, scaled.counts.attempts)
    assert fast.t_s[-1] == pytest.approx(60.0)


def test_same_run_whatever_the_cores() -> None:
    short = replace(KIT, demand=Demand(80.0, (Phase("base", 60.0), Phase("step", 200.0, 5.0))))
    one, two = (simulate_fleet(short, specimen("cpu"), [1, 2, 3], cores=cores) for cores in (1, 2))
    for a, b in zip(one, two, strict=True):
        np.testing.assert_array_equal(a.counts.attempts, b.counts.attempts)
        np.testing.assert_array_equal(a.ordered, b.ordered)


def test_roster() -> None:
    roster = Roster.of(4)
    roster.set(10, ready_s=100.0)
    roster.set(12, ready_s=115.0)
    assert (roster.total, roster.ready(99.9), roster.ready(100.0), roster.ready(115.0)) == (12, 4, 10, 12)
    assert roster.ready_between(0.0, 115.0) == [100.0]
    assert roster.ready_between(100.0, math.inf) == [115.0]
    seen = roster.seen(100.0)
    assert (seen.ready, seen.unready) == (10, 2)
    roster.set(7, ready_s=math.inf)
    assert (roster.total, roster.ready(99.9), roster.ready(200.0)) == (7, 4, 7)
    roster.set(2, ready_s=math.inf)
    assert (roster.total, roster.ready(0.0)) == (2, 2)


@pytest.mark.parametrize(
    ("experiment", "message"),
    [
        (replace(KIT, service=None), "service: must be known"),
        (replace(KIT, demand=Demand(1.0, (Phase("cut", 9.0, capacity_factor=0.5),))), "capacity_factor"),
    ],
)
def test_what_cannot_be_simulated(experiment: Experiment, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        simulate_fleet(experiment, specimen("first"), [1])
