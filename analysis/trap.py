"""Where the trap begins for the clients of an experiment, and whether that law holds for its service."""

from __future__ import annotations

from analysis import laws
from domain.admission import Admission
from domain.experiment import Experiment

BEYOND_THE_LAW = (
    "This service does not just serve what it is sent, first come, first served: it turns away, drops or "
    "reorders work. Whether it is trapped is then no matter of Aρ alone, and the prediction is that of "
    "simulated seeds."
)


def failing_amplification(experiment: Experiment) -> float:
    """A: attempts sent per job while every attempt times out, budgets and breakers included."""
    return laws.failing_amplification(experiment.client, experiment.demand.arrival_rate_per_s)


def decided_by_law(experiment: Experiment) -> bool:
    """Whether Aρ ≥ 1 is all there is to the trap: the service serves everything, first in, first out."""
    return experiment.service is None or experiment.service.admission == Admission()
