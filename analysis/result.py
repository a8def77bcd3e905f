"""The values that pass between prediction, measurement, verdict and report.

Everything here is in scenario time: durations of the live run times the speed-up; rates as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from domain.experiment import Experiment

if TYPE_CHECKING:  # pandas takes a third of a second to import, and predictions need none of it
    import pandas as pd

    from analysis.simulation.bands import Bands

Floats = NDArray[np.float64]
Outcome = Literal["healthy", "recovered", "trapped", "undecided"]

QUANTITIES: dict[str, tuple[str, str]] = {
    "utilization": ("1", "ρ: first attempts over capacity, in the watch; of a fleet, at its end"),
    "amplification": ("1", "A: attempts per job due while the service fails, answered or not"),
    "amplified_utilization": ("1", "Aρ: trapped for ever iff at least 1, served in turn by as many pods"),
    "capacity_per_s": (
        "attempts/s",
        "C: what the service completes when saturated; of a fleet, with the pods at the end of the watch",
    ),
    "demand_per_s": ("jobs/s", "λ: first attempts per second in the watch"),
    "ingress_per_s": ("attempts/s", "all attempts per second, settled, in the watch"),
    "failed_after_s": ("s", "from the start of the trigger to the first attempt that fails for good"),
    "recovery_s": (
        "s",
        "from the end of the trigger, or a step of demand that stays, to the last failing attempt of "
        "the episode",
    ),
    "goodput_ratio": ("1", "jobs answered in time over jobs, in the last fifth of the watch"),
    "shed_recovery_s": ("s", "from the start of shedding to the last failing attempt"),
    "peak_pods": ("pods", "most pods of the fleet that served at once, from the step of demand on"),
    "settled_pods": ("pods", "pods of the fleet that serve at the end of the watch"),
    "capacity_met_s": ("s", "from the step of demand until as much capacity serves"),
    "over_provisioning": ("1", "max N/N*: most pods over those the demand needs at the target utilization"),
    "lost_s": ("s", "jobs due from the step on and not answered in time, in seconds of that demand"),
    "pod_seconds": ("pod·s", "pods that serve times how long, in the watch: what the fleet costs"),
}
"""Keys of ``Prediction.values`` and ``Measurement.values``, with unit and meaning. A value is None when
it does not apply (no failure, capacity not known, no fleet)."""

Values = dict[str, float | None]


@dataclass(frozen=True)
class FluidTrace:
    """The fluid model's path on one time grid (all arrays of shape (n,)).

    ``ingress_per_s`` are all attempts sent, the rejected ones too; ``backlog`` counts attempts at
    ``t_s``, the rates hold over the step that begins there. ``wait_s`` is the time an attempt sent then
    would wait in the queue; inf while capacity is cut to nothing and stays so. ``pods`` are those that
    serve.
    """

    t_s: Floats
    demand_per_s: Floats
    ingress_per_s: Floats
    goodput_per_s: Floats
    backlog: Floats
    wait_s: Floats
    late: NDArray[np.bool_]
    rejected_per_s: Floats
    capacity_per_s: Floats
    pods: Floats


@dataclass(frozen=True)
class Prediction:
    """What the laws and the fluid model say of an experiment.

    ``recovery_sd_s`` is the standard deviation of the recovery time at the run's own rates and
    speed-up (diffusion approximation); ``notes`` are warnings in words. ``bands`` are what chance makes
    of it over simulated seeds, None when none were simulated. ``simulated``: budgets, breakers or the
    service's own defences are beyond laws and fluid model, and the outcome and all that follows from it is
    the most frequent one, and the medians, of those seeds.
    """

    outcome: Outcome | None
    values: Values
    fluid: FluidTrace | None
    recovery_sd_s: float | None = None
    notes: tuple[str, ...] = ()
    bands: Bands | None = None
    simulated: bool = False


@dataclass(frozen=True)
class Measurement:
    """What the trace says. ``evidence`` are the sentences behind the outcome."""

    outcome: Outcome
    values: Values
    evidence: tuple[str, ...]
    after_shed: Literal["recovered", "trapped", "undecided"] | None = None


@dataclass(frozen=True)
class Check:
    """One comparison of the prediction (or the scenario's word) with the measurement.

    ``tolerance`` is relative unless ``absolute``; numbers are None when the check is of a word. ``low``
    and ``high`` are the 5% and 95% quantiles over simulated seeds, where there are any.
    """

    name: str
    predicted: float | str | None
    measured: float | str | None
    tolerance: float | None
    passed: bool
    absolute: bool = False
    why: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class GeneratorHealth:
    """How the load generator did, over all its workers. Lags are wall-clock seconds."""

    workers: int
    planned: int
    sent: int
    attempts: int
    lag_p50_s: float
    lag_p99_s: float
    lag_max_s: float
    cpu_ratio: float
    cpu_ratio_peak: float
    refused_sockets: int
    recorder_fault: str | None = None


@dataclass(frozen=True)
class RunResult:
    """Everything the report shows.

    ``series`` has one row per time bucket: ``t_s`` (start of the bucket), ``demand_per_s``,
    ``ingress_per_s``, ``goodput_per_s``, ``success_ratio`` (jobs planned in the bucket that were
    answered in time), ``amplification`` (attempts per job planned in the bucket), ``latency_p50_s``,
    ``latency_p95_s`` (from the planned start of each attempt), ``wait_s`` (backlog the server reports;
    NaN when it reports none), ``pods`` (ready) and ``replicas`` (ordered) that it reports.
    ``attempts_sample`` has at most some ten thousand attempts: ``planned_s, latency_s, outcome``.
    """

    directory: str
    experiment: Experiment
    run: dict[str, object]
    outcome: Outcome
    valid: bool
    invalid_reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    confirmed: bool | None
    prediction: Prediction
    measurement: Measurement
    checks: tuple[Check, ...]
    generator: GeneratorHealth | None
    series: pd.DataFrame
    attempts_sample: pd.DataFrame
    totals: dict[str, int] = field(default_factory=dict)
    decisions: pd.DataFrame | None = None
    """What the autoscaler decided (``analysis.fleets.decisions``); None where there is no record of it."""
