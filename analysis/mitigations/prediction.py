"""What the laws say of a mitigated client."""

from __future__ import annotations

from analysis.laws.failing_amplification import failing_amplification
from domain.experiment import Experiment


def predicted_amplification(experiment: Experiment) -> float | None:
    """Attempts per job while every attempt fails, by the law of the client's budget."""
    live = experiment.live()
    return failing_amplification(live.client, live.demand.arrival_rate_per_s)
