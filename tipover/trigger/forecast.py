"""What is known of a trigger test before it: what the imitated client does while all fails, and to a queue.

The service is taken to serve everything, first come, first served, at its capacity; whether it does is what
the test finds out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from analysis import laws
from analysis.wording import number
from domain.experiment import Client, Demand, Experiment, Phase, Service
from domain.trigger.plan import TriggerPlan
from domain.trigger.spike import Spike, spike_of

NOMINAL_CAPACITY_PER_S = 1000.0
"""Stands for a capacity that is not known where only ratios matter."""
TLS_CONNECTION_CPU_S = 0.0016
"""CPU time of the generator for a fresh TLS connection, measured."""
TLS_ATTEMPTS_PER_S = 600.0
"""So one generator process makes about so many attempts a second, each on a connection of its own."""
_SAME = 0.01
_FAR_APART_PER_S = (1.0, 1000.0)


@dataclass(frozen=True, slots=True)
class Forecast:
    """``amplification`` A: attempts per job while every attempt fails (None: depends on a rate that is
    not known). ``threshold`` 1/A, at most 1. ``outcome`` of a FIFO service, and ``recovery_s`` from the end
    of the spike, if it recovers."""

    amplification: float | None
    threshold: float | None
    amplified_utilization: float | None
    outcome: Literal["trapped", "recovers"] | None
    recovery_s: float | None
    notes: tuple[str, ...] = ()


def forecast(plan: TriggerPlan, capacity_per_s: float | None) -> Forecast:
    """The laws' word, and for a client without budget, breaker or deadline that of the fluid model."""
    amplification = _amplification(plan, capacity_per_s)
    if amplification is None:
        note = (
            "What this client sends while all fails depends on the rate, so on the capacity: give --capacity."
        )
        return Forecast(None, None, None, None, None, (note,))
    held = amplification * plan.utilization
    trapped = amplification >= 1 and laws.is_trap(amplification, plan.utilization)
    recovery_s, notes = None, []
    if not trapped:
        recovery_s = _recovery_s(plan, capacity_per_s or NOMINAL_CAPACITY_PER_S, amplification)
    if plan.client.may_refuse:
        notes.append(
            "A budget that is full at the start pays for more retries at first than in the long run."
        )
    if plan.locustfile is not None:
        notes.append("This is what [client] describes; what is sent is the locustfile's.")
    return Forecast(
        amplification,
        1.0 / amplification if amplification > 1 else 1.0,
        held,
        "trapped" if trapped else "recovers",
        recovery_s,
        tuple(notes),
    )


def tls_note(plan: TriggerPlan) -> str | None:
    """What https costs the generator; None for a plan without."""
    if not plan.target.url.startswith("https:"):
        return None
    return (
        f"https: an attempt that fails takes its connection with it, and a fresh TLS connection costs about "
        f"{number(1000 * TLS_CONNECTION_CPU_S)} ms of CPU: one generator process tops out near "
        f"{number(TLS_ATTEMPTS_PER_S)} attempts/s"
    )


def tls_warning(plan: TriggerPlan, peak_per_s: float) -> str | None:
    """That the peak is more than the generator can send over TLS; None if it is not, or there is none."""
    if tls_note(plan) is None or peak_per_s <= TLS_ATTEMPTS_PER_S:
        return None
    return (
        f"the peak of {number(peak_per_s)} attempts/s is above the {number(TLS_ATTEMPTS_PER_S)} that one "
        "generator process sends over fresh TLS connections: it may lag, which makes the test invalid (test "
        "without TLS, or a part of the service with less capacity)"
    )


def _amplification(plan: TriggerPlan, capacity_per_s: float | None) -> float | None:
    if capacity_per_s is not None:
        return laws.failing_amplification(plan.client, plan.utilization * capacity_per_s)
    if not plan.client.may_refuse:
        return laws.failing_amplification(plan.client, NOMINAL_CAPACITY_PER_S)
    few, many = (laws.failing_amplification(plan.client, rate) for rate in _FAR_APART_PER_S)
    return many if math.isclose(few, many, rel_tol=_SAME) else None


def _recovery_s(plan: TriggerPlan, capacity_per_s: float, amplification: float) -> float | None:
    spike, experiment = spike_of(plan), _experiment(plan, capacity_per_s)
    if experiment.is_defended:
        return _by_the_law(plan.client, plan.utilization, spike, amplification)
    from analysis.prediction import predict

    return predict(experiment).values["recovery_s"]


def _by_the_law(client: Client, utilization: float, spike: Spike, amplification: float) -> float | None:
    """Proposition 7, for A of at least 1; below that failing clients do not even fill what they leave."""
    recovery_s = laws.recovery_time_s(
        amplification=max(1.0, amplification),
        spike_factor=spike.factor,
        utilization=utilization,
        spike_duration_s=spike.duration_s,
        timeout_s=client.timeout_s,
    )
    return recovery_s if math.isfinite(recovery_s) else None


def _experiment(plan: TriggerPlan, capacity_per_s: float) -> Experiment:
    spike, timeout_s = spike_of(plan), plan.client.timeout_s
    phases = (
        Phase("baseline", plan.baseline_timeouts * timeout_s),
        Phase("spike", spike.duration_s, spike.factor),
        Phase("watch", plan.watch_timeouts * timeout_s),
    )
    demand = Demand(plan.utilization * capacity_per_s, phases)
    return Experiment(plan.name, plan.title, plan.client, demand, Service(1, capacity_per_s))
