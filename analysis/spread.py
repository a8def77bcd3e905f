"""How far chance can move a recovery time: the diffusion approximation, phase by phase.

From the start of the trigger on, the backlog gathers variance: each arrival is worth A attempts while
everything fails, each service adds its own. When the backlog has come down to the timeout, its spread over
the drift is the spread of that moment. Runs go at live rates, so the variance is gathered in seconds of
the wall clock; what is returned is in scenario seconds.
"""

from __future__ import annotations

import math

from analysis import laws
from analysis.result import Prediction
from domain.experiment import Experiment, PlacedPhase


def passage_sd_s(experiment: Experiment, *, first_late_s: float, passage_s: float) -> float | None:
    """Standard deviation of the moment at which failing ends, given its mean ``passage_s``.

    Scenario seconds, like all times here; ``first_late_s`` is when the first late attempt is sent.
    None where the backlog does not drain at that moment, the capacity is not known, or service times have
    no variance.
    """
    service, client = experiment.service, experiment.client
    now = [p for p in experiment.placed_phases if p.start_s <= passage_s]
    if service is None or not now or not math.isfinite(client.amplification):
        return None
    if not math.isfinite(service.service_time.squared_variation):
        return None
    # A recovery that comes after the run has ended happens under its last phase, prolonged.
    final = now[-1].phase
    rate = experiment.demand.arrival_rate_per_s
    drift = service.capacity_per_s * final.capacity_factor - client.amplification * rate * final.factor
    if drift <= 0:
        return None
    begin = min(first_late_s, experiment.trigger[0] if experiment.trigger else first_late_s)
    variance = sum(
        _gathered(experiment, placed, begin, first_late_s, passage_s if placed is now[-1] else placed.end_s)
        for placed in now
    )
    live_sd = laws.first_passage_sd_s(variance=variance / experiment.run.speedup, drift_per_s=drift)
    return live_sd * experiment.run.speedup


def _gathered(
    experiment: Experiment, placed: PlacedPhase, begin_s: float, first_late_s: float, end_s: float
) -> float:
    """Variance in attempts² gathered in one phase, were a second of scenario one of the wall clock."""
    assert experiment.service is not None
    phase = placed.phase
    dispersion = 1.0 if experiment.demand.arrivals == "poisson" else 0.0
    rate = experiment.demand.arrival_rate_per_s * phase.factor
    failing_s = max(0.0, end_s - max(first_late_s, placed.start_s))
    serving_s = max(0.0, end_s - max(begin_s, placed.start_s))
    arrivals = experiment.client.amplification**2 * rate * dispersion * failing_s
    service = experiment.service
    works = service.service_time.squared_variation
    return arrivals + works * service.capacity_per_s * phase.capacity_factor * serving_s


def shed_recovery_sd_s(experiment: Experiment, prediction: Prediction) -> float | None:
    """Standard deviation of the predicted ``shed_recovery_s``; None where there is none."""
    shed, recovery = experiment.shed, prediction.values.get("shed_recovery_s")
    failed_after = prediction.values.get("failed_after_s")
    if shed is None or recovery is None or failed_after is None:
        return None
    began = experiment.trigger[0] if experiment.trigger else 0.0
    return passage_sd_s(experiment, first_late_s=began + failed_after, passage_s=shed[0] + recovery)
