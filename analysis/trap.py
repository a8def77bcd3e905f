"""Where the trap begins for the clients of an experiment, and whether that law holds for its service."""

from __future__ import annotations

import math
from functools import lru_cache

from analysis import laws
from domain.admission import Admission
from domain.experiment import Client, Experiment

BEYOND_THE_LAW = (
    "This service does not just serve what it is sent, first come, first served: it turns away, drops or "
    "reorders work. Whether it is trapped is then no matter of Aρ alone, and the prediction is that of "
    "simulated seeds."
)


def failing_amplification(experiment: Experiment) -> float:
    """A: attempts sent per job while every attempt times out, budgets and breakers included.

    At the speed of the run: a speed-up shortens durations and leaves rates, so fewer jobs fall into the
    timeout of a budget of concurrency, or into the open time of a breaker.
    """
    return _failing_amplification(experiment.live().client, experiment.demand.arrival_rate_per_s)


def attempts_a_job(experiment: Experiment) -> float:
    """m; of a client without end what budget, breaker or deadline leave of it, at least 1; ∞ without them."""
    most = experiment.client.amplification
    return most if math.isfinite(most) else max(1.0, failing_amplification(experiment))


@lru_cache(maxsize=64)
def _failing_amplification(client: Client, arrival_rate_per_s: float) -> float:
    # A random backoff under a deadline takes a while, and the verdict on every seed asks.
    return laws.failing_amplification(client, arrival_rate_per_s)


def decided_by_law(experiment: Experiment) -> bool:
    """Whether Aρ ≥ 1 is all there is to the trap: the service serves everything, first in, first out."""
    return experiment.service is None or experiment.service.admission == Admission()
