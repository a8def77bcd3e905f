"""What is said of the rate of patient probes: each number once."""

from __future__ import annotations

from analysis.trigger.probe_rate import probe_rate
from domain.experiment import Client
from domain.trigger.plan import Target, TriggerPlan


def test_the_share_of_capacity_is_said_once() -> None:
    plan = TriggerPlan("made up", Target("http://localhost"), Client(0.5, 3))
    said = probe_rate(plan, 158.0).said
    assert said == "4.74 patient probes/s: 3% of capacity, the most allowed"
    assert probe_rate(plan, 1000.0).said == "8 patient probes/s: 0.8% of capacity, four a timeout"
