"""How far chance can move a recovery time: the diffusion approximation, phase by phase.

From the start of the trigger on, the backlog gathers variance: each arrival is worth A attempts while
everything fails, each service adds its own (``squared_variation``). When the backlog has come down to the
timeout, its spread over the drift is the spread of that moment. Runs go at live rates, so the variance is
gathered in seconds of the wall clock; what is returned is in scenario seconds.
"""

from __future__ import annotations

import math

from analysis import laws
from analysis.result import Prediction
from analysis.trap import attempts_a_job
from domain.experiment import Experiment, PlacedPhase


def passage_sd_s(experiment: Experiment, *, first_late_s: float, passage_s: float) -> float | None:
    """Standard deviation of the moment at which failing ends, given its mean ``passage_s``.

    Scenario seconds, like all times here; ``first_late_s`` is when the first late attempt is sent.
    None where the backlog does not drain at that moment or the capacity is not known. Of service times
    without a finite variance it is what as many services typically show, and not the width of a normal law.
    """
    service, client = experiment.service, experiment.client
    now = [p for p in experiment.placed_phases if p.start_s <= passage_s]
    if service is None or not now or not math.isfinite(client.amplification):
        return None
    # A recovery that comes after the run has ended happens under its last phase, prolonged.
    final = now[-1].phase
    rate = experiment.demand.arrival_rate_per_s
    drift = service.capacity_per_s * final.capacity_factor - client.amplification * rate * final.factor
    if drift <= 0:
        return None
    begin = min(first_late_s, experiment.trigger[0] if experiment.trigger else first_late_s)
    jobs, services = 0.0, 0.0
    for placed in now:
        end = passage_s if placed is now[-1] else placed.end_s
        jobs += rate * placed.phase.factor * _after(first_late_s, placed, end)
        services += service.capacity_per_s * placed.phase.capacity_factor * _after(begin, placed, end)
    live = (jobs / experiment.run.speedup, services / experiment.run.speedup)
    variance = failing_variance_per_s(
        experiment,
        arrival_rate_per_s=live[0],
        capacity_per_s=live[1],
        squared_variation=squared_variation(experiment, live[1]),
    )
    return laws.first_passage_sd_s(variance=variance, drift_per_s=drift) * experiment.run.speedup


def failing_variance_per_s(
    experiment: Experiment, *, arrival_rate_per_s: float, capacity_per_s: float, squared_variation: float
) -> float:
    """``laws.failing_variance_per_s`` for the clients and the arrivals of the experiment.

    A client without end, which no deadline or budget stops, counts as one that does not retry: its retries
    spread over the whole run.
    """
    amplification = attempts_a_job(experiment)
    return laws.failing_variance_per_s(
        arrival_rate_per_s=arrival_rate_per_s,
        capacity_per_s=capacity_per_s,
        amplification=amplification if math.isfinite(amplification) else 1.0,
        dispersion=dispersion(experiment),
        squared_variation=squared_variation,
    )


def dispersion(experiment: Experiment) -> float:
    """Variance of the number of jobs over its mean."""
    return 1.0 if experiment.demand.arrivals == "poisson" else 0.0


def squared_variation(experiment: Experiment, services: float) -> float:
    """c², the squared coefficient of variation that so many services show; 1 for a service nobody knows."""
    service = experiment.service
    return 1.0 if service is None else service.service_time.squared_variation_over(services)


def _after(begin_s: float, placed: PlacedPhase, end_s: float) -> float:
    """How much of a phase lies between the two moments."""
    return max(0.0, end_s - max(begin_s, placed.start_s))


def shed_recovery_sd_s(experiment: Experiment, prediction: Prediction) -> float | None:
    """Standard deviation of the predicted ``shed_recovery_s``; None where there is none."""
    shed, recovery = experiment.shed, prediction.values.get("shed_recovery_s")
    failed_after = prediction.values.get("failed_after_s")
    if shed is None or recovery is None or failed_after is None:
        return None
    began = experiment.trigger[0] if experiment.trigger else 0.0
    return passage_sd_s(experiment, first_late_s=began + failed_after, passage_s=shed[0] + recovery)
