"""The autoscaler orders what the simulated one ordered, fed with the counters of the simulated run."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from analysis.simulation.fleet import FleetRun, FleetSimulation
from domain.autoscaler import Autoscaler, Doubling, Policies
from domain.experiment import Client, Demand, Experiment, Phase, Service
from domain.fleet import Fleet, specimen
from domain.roster import Roster
from tests.tipover.autoscaling.fakes import FakeFleet, FakePage, Time, controller, dues
from tipover.autoscaling.exposition import ATTEMPTS, BUSY, FIRST, POD_SECONDS
from tipover.autoscaling.readings import ScrapedReadings, Source

STEP = Experiment(
    "step",
    "",
    Client(10.0, 3),
    Demand(80.0, (Phase("base", 60.0), Phase("step", 600.0, 5.0), Phase("after", 600.0, 0.5))),
    Service(4, 40.0),
)
LAGGED = replace(specimen("cpu", "first", max_pods=50), metric_lag_s=15.0, cpu_window_s=45.0)
FLEETS = {
    "first": specimen("first", max_pods=50),
    "ingress": specimen("ingress", max_pods=50),
    "cpu": specimen("cpu", max_pods=50),
    "paired": specimen("first", "ingress", max_pods=50),
    "all, with limits": Fleet(
        ("cpu", "ingress", "first"), autoscaler=Autoscaler(2, 40, 120.0, Policies()), dead_time_s=45.0
    ),
    "doubling, lag": replace(LAGGED, dead_time_s=60.0, autoscaler=Autoscaler(2, 60, 60.0, Doubling())),
    "told when, between looks": replace(LAGGED, dead_time_s=52.0),
}


@cache
def simulated(fleet: Fleet) -> tuple[FleetSimulation, FleetRun]:
    """The simulation after its run."""
    simulation = FleetSimulation(STEP, fleet)
    return simulation, simulation.run()


@pytest.mark.parametrize("name", FLEETS)
@pytest.mark.parametrize(("tells", "pages"), [(True, 1), (False, 3)])
def test_the_same_readings_make_the_same_orders(name: str, tells: bool, pages: int) -> None:
    """Decision by decision, up, down and held; the counters come from one page or from several, and the
    target says when pods will be ready or does not (then they are looked at when they are)."""
    fleet = FLEETS[name]
    simulation, run = simulated(fleet)
    time = Time()
    counted = {
        ATTEMPTS: simulation._all,
        FIRST: simulation._first,
        BUSY: [work / 40.0 for work in simulation._done],
        POD_SECONDS: [work / 40.0 for work in simulation._possible],
    }

    def shown(at_s: float) -> dict[str, float]:
        return {
            name: float(np.interp(at_s, simulation._at, values)) / pages for name, values in counted.items()
        }

    sources = [Source(FakePage(time, shown), frozenset(fleet.signals)) for _ in range(pages)]
    readings = ScrapedReadings(sources, fleet, fleet.sync_period_s / 3)
    # Pods that become ready between looks are seen late by whoever is not told when.
    target = FakeFleet(time, Roster.of(4), fleet.dead_time_s, tells or name.startswith("told"))
    autoscaler = controller(fleet, readings, target, time)
    readings.look()
    for index, due in enumerate(dues(fleet.sync_period_s, len(run.t_s), time)):
        for third in (2, 1):
            time.now_s = due.at_s - third * fleet.sync_period_s / 3
            readings.look()
        time.now_s = due.at_s
        made = autoscaler.decide(due)
        assert due.at_s == run.t_s[index]
        assert made.ordered == run.ordered[index], made.words()
        assert min(made.ready or 0, made.ordered or 0) == run.serving[index]
        assert (made.error is None) == (due.at_s > fleet.metric_lag_s)
    assert len(set(run.ordered)) > 3
