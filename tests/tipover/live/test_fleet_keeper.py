"""What the autoscaler of a live run is started with."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from domain.experiment import MAX_PODS
from tipover.live.autoscaler import FleetKeeper
from tipover.scenario import load_scenario


@pytest.mark.parametrize(("ceiling", "ordered"), [(50, 50), (float("inf"), MAX_PODS)])
def test_a_fleet_without_a_ceiling_has_the_targets(ceiling: float, ordered: int, tmp_path: Any) -> None:
    """``max_pods`` may be left out of a scenario; the autoscaler orders from nobody without one."""
    experiment = load_scenario("f3-ingress")
    assert experiment.fleet is not None
    rules = replace(experiment.fleet.autoscaler, max_pods=ceiling)
    experiment = replace(experiment, fleet=replace(experiment.fleet, autoscaler=rules))
    record: Any = SimpleNamespace(directory=tmp_path)
    target: Any = SimpleNamespace(url="http://127.0.0.1:9")
    command = FleetKeeper(experiment, record, target, restores=False)._command(0.0)
    fleet = json.loads(command[command.index("--fleet") + 1])
    assert fleet["autoscaler"]["max_pods"] == ordered
