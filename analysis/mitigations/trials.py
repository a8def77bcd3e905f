"""What a mitigation is put through besides the storm: overload that lasts, random errors, an outage, nothing.

Each trial makes an experiment of the storm's client and service with another demand, and reads numbers off
the run of it. Everything is measured after a warm-up, in scenario time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from analysis.mitigations.score import attempts_per_job, latencies, longest_job_s, stretch
from analysis.simulation.observed import ObservedRun
from domain.experiment import Experiment, Phase, Service

OVERLOADS = (1.0, 2.0, 5.0)
ERROR_RATES = (0.01, 0.05)
WARM_UP_TIMEOUTS = 10.0
MEASURED_TIMEOUTS = 60.0
OUTAGE_S = 480.0
"""An outage lasts at least so long: the longest memory of a deployed budget or breaker is two minutes."""
FEWER = 4
"""A trial with ``fewer`` seeds has one for so many of the storm's: its attempts are many."""

Numbers = dict[str, float | None]


@dataclass(frozen=True, slots=True)
class Trial:
    """``make`` the experiment out of a mitigated one; ``read`` the numbers off its run."""

    name: str
    make: Callable[[Experiment], Experiment]
    read: Callable[[ObservedRun, Experiment], Numbers]
    fewer: bool = False

    def seeds(self, storm: int) -> int:
        """How many seeds it gets when the storm gets so many."""
        return math.ceil(storm / FEWER) if self.fewer else storm


def trials() -> tuple[Trial, ...]:
    """Every trial but the storm itself."""
    return (
        Trial("healthy", _healthy, _read_healthy),
        *(_error_trial(rate) for rate in ERROR_RATES),
        *(_overload_trial(factor) for factor in OVERLOADS),
        Trial("outage", _outage, _read_outage, fewer=True),
    )


def overload_key(factor: float) -> str:
    """The name of the goodput under so many times the capacity."""
    return f"goodput_{factor:g}x"


def error_key(name: str, rate: float) -> str:
    """The name of a share at so many random errors."""
    return f"{name}_{100 * rate:g}pct"


def _service(experiment: Experiment) -> Service:
    assert experiment.service is not None
    return experiment.service


def _steady(experiment: Experiment, rate_per_s: float, *measured: Phase) -> Experiment:
    """A warm-up, what is measured, and perhaps what comes after it."""
    warm_up = Phase("warm-up", WARM_UP_TIMEOUTS * experiment.client.timeout_s)
    demand = replace(experiment.demand, arrival_rate_per_s=rate_per_s, phases=(warm_up, *measured))
    return replace(experiment, demand=demand, expect=None)


def _measured(experiment: Experiment) -> tuple[float, float]:
    """Start and end of the phase after the warm-up, in seconds of the wall clock."""
    measured = experiment.live().placed_phases[1]
    return measured.start_s, measured.end_s


def _second_half(experiment: Experiment) -> tuple[float, float]:
    start, end = _measured(experiment)
    return (start + end) / 2, end


def _healthy(experiment: Experiment) -> Experiment:
    measured = Phase("measured", MEASURED_TIMEOUTS * experiment.client.timeout_s)
    return _steady(experiment, experiment.demand.arrival_rate_per_s, measured)


def _read_healthy(run: ObservedRun, experiment: Experiment) -> Numbers:
    p50, p99 = latencies(run.attempts, *_measured(experiment))
    scale = experiment.run.speedup
    return {
        "latency_p50_s": None if p50 is None else p50 * scale,
        "latency_p99_s": None if p99 is None else p99 * scale,
    }


def _error_trial(rate: float) -> Trial:
    def make(experiment: Experiment) -> Experiment:
        service = _service(experiment)
        admission = replace(service.admission, error_rate=rate)
        return replace(_healthy(experiment), service=replace(service, admission=admission))

    def read(run: ObservedRun, experiment: Experiment) -> Numbers:
        start, end = _measured(experiment)
        # Jobs due in the last timeouts may still be under way.
        settled = end - (end - start) * WARM_UP_TIMEOUTS / MEASURED_TIMEOUTS
        seen = stretch(run.attempts, start, settled)
        return {
            error_key("refused", rate): seen.refused,
            error_key("turned_away", rate): seen.turned_away,
            error_key("failed", rate): None if seen.answered is None else 1.0 - seen.answered,
        }

    return Trial(f"{100 * rate:g}% errors", make, read)


def _overload_trial(factor: float) -> Trial:
    def make(experiment: Experiment) -> Experiment:
        overload = Phase("overload", MEASURED_TIMEOUTS * experiment.client.timeout_s)
        return _steady(experiment, factor * _service(experiment).capacity_per_s, overload)

    def read(run: ObservedRun, experiment: Experiment) -> Numbers:
        seen = stretch(run.attempts, *_second_half(experiment))
        assert seen.goodput_per_s is not None
        return {overload_key(factor): seen.goodput_per_s / _service(experiment).capacity_per_s}

    # At just its capacity chance decides whether a service tips, and that takes all the seeds there are.
    return Trial(f"{factor:g}× overload", make, read, fewer=factor > 1.0)


def _outage(experiment: Experiment) -> Experiment:
    timeout_s = experiment.client.timeout_s
    outage = Phase("outage", max(MEASURED_TIMEOUTS * timeout_s, OUTAGE_S), capacity_factor=0.0)
    return _steady(experiment, experiment.demand.arrival_rate_per_s, outage, Phase("restored", timeout_s))


def _read_outage(run: ObservedRun, experiment: Experiment) -> Numbers:
    """While nothing at all is answered, attempts sent are what failing alone lets through.

    They are counted by job, over the jobs due once a quarter of the outage is over and early enough for all
    of their attempts. Where jobs take longer than a quarter of it, or have no end, attempts sent in its
    second half are set against the jobs due in it.
    """
    start, end = _measured(experiment)
    quarter = (end - start) / 4
    longest = longest_job_s(run.attempts, start, start + quarter)
    if longest > quarter:
        return {"amplification": stretch(run.attempts, *_second_half(experiment)).attempts}
    return {"amplification": attempts_per_job(run.attempts, start + quarter, end - longest)}
