"""The way back: from a spike, and out of a storm."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tipover.commands.calc.amplified import amplification_inputs, amplified
from tipover.commands.calc.answer import checked
from tipover.commands.calc.calculation import COLLAPSE_LAW, DEMAND_DEBT, Calculation, Step, figure
from tipover.commands.calc.options import (
    AmplificationOption,
    ArrivalRateOption,
    AttemptsOption,
    AttemptsOrNone,
    BudgetOrNone,
    SpikeDurationOption,
    SpikeFactorOption,
    TimeoutOption,
    UtilizationOption,
)


def recovery(
    utilization: UtilizationOption,
    spike_factor: SpikeFactorOption,
    spike_duration_s: SpikeDurationOption,
    timeout_s: TimeoutOption,
    amplification: AmplificationOption = None,
    max_attempts: AttemptsOrNone = None,
    budget: BudgetOrNone = None,
) -> Calculation:
    """How long the way back from a load spike takes."""
    from analysis import laws

    a, first = amplified(
        amplification,
        max_attempts,
        budget,
        utilization=utilization,
        spike_factor=spike_factor,
        spike_duration_s=spike_duration_s,
        timeout_s=timeout_s,
    )
    took = laws.recovery_time_s(
        amplification=a,
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
        timeout_s=timeout_s,
    )
    long = laws.long_spike_recovery_time_s(
        amplification=a,
        spike_factor=spike_factor,
        utilization=utilization,
        spike_duration_s=spike_duration_s,
    )
    t0 = laws.time_to_first_timeout_s(spike_factor=spike_factor, utilization=utilization, timeout_s=timeout_s)
    triggered = laws.spike_wait_s(spike_factor, utilization, spike_duration_s) > timeout_s
    rho, k, delta, t = (figure(v) for v in (utilization, spike_factor, spike_duration_s, timeout_s))
    grows, drains = f"{figure(a)}·{k}·{rho} − 1", f"1 − {figure(a)}·{rho}"
    steps = list(first)
    if not triggered:
        steps.append(Step("Recovery time", "T_rec", "(kρ − 1)Δ ≤ T", "", took, "s", "recovery_s", True))
    elif math.isinf(took):
        steps.append(
            Step("Recovery time", "T_rec", "Aρ ≥ 1", f"{figure(a)}·{rho} ≥ 1", took, "s", "recovery_s", True)
        )
    else:
        steps += [
            Step(
                "Time to the first late attempt",
                "t0",
                "T/(kρ − 1)",
                f"{t}/({k}·{rho} − 1)",
                t0,
                "s",
                "first_timeout_s",
            ),
            Step(
                "Recovery time, from the end of the spike to an empty queue",
                "T_rec",
                "(Akρ − 1)(Δ − t0)/(1 − Aρ) + T/(1 − ρ)",
                f"({grows})·({delta} − {figure(t0)})/({drains}) + {t}/(1 − {rho})",
                took,
                "s",
                "recovery_s",
            ),
            Step(
                "The same for a spike much longer than t0",
                "T_long",
                "Δ(Akρ − 1)/(1 − Aρ)",
                f"{delta}·({grows})/({drains})",
                long,
                "s",
                "long_spike_recovery_s",
            ),
        ]
    return Calculation(
        "Recovery time",
        {
            "utilization": ("ρ", utilization),
            "spike_factor": ("k", spike_factor),
            "spike_duration_s": ("Δ", spike_duration_s),
            "timeout_s": ("T", timeout_s),
            **amplification_inputs(amplification, max_attempts, budget),
        },
        tuple(steps),
        _recovery_meaning(took, spike_duration_s, triggered=triggered),
        f"{DEMAND_DEBT}, Proposition 7",
    )


def _recovery_meaning(took: float, duration_s: float, *, triggered: bool) -> str:
    from analysis.wording import seconds
    from tipover.commands.output import span

    if not triggered:
        return "The spike is no trigger: there is nothing to recover from but the wait it built."
    if math.isinf(took):
        return "It never recovers by itself: the spike has to be undone by shedding demand below C/A."
    return (
        f"It comes back by itself {span(took)} after the spike has ended, {figure(took / duration_s, 2)} "
        f"times as long as the {seconds(duration_s)} that caused it."
    )


def drain(
    depth: Annotated[float, typer.Option("--depth", help="D: attempts queued.")],
    capacity_per_s: Annotated[float, typer.Option("--capacity-per-s", help="C: attempts/s it can do.")],
    arrival_rate_per_s: ArrivalRateOption,
    max_attempts: AttemptsOption,
) -> Calculation:
    """How long a storm of retries takes to drain."""
    from analysis import laws
    from tipover.commands.output import span

    checked(
        depth=depth,
        capacity_per_s=capacity_per_s,
        arrival_rate_per_s=arrival_rate_per_s,
        max_attempts=max_attempts,
    )
    took = laws.drain_time_s(
        depth=depth,
        capacity_per_s=capacity_per_s,
        arrival_rate_per_s=arrival_rate_per_s,
        amplification=max_attempts,
    )
    ingress = laws.trapped_ingress_per_s(max_attempts, arrival_rate_per_s)
    release = laws.recovery_threshold(max_attempts) * capacity_per_s
    steps = (
        Step(
            "Demand below which it drains",
            "λr",
            "C/m",
            f"{figure(capacity_per_s)}/{figure(max_attempts)}",
            release,
            "jobs/s",
            "recovery_demand_per_s",
        ),
        Step(
            "Drain rate",
            "C − λm",
            "",
            f"{figure(capacity_per_s)} − {figure(arrival_rate_per_s)}·{figure(max_attempts)}",
            capacity_per_s - ingress,
            "attempts/s",
            "drain_rate_per_s",
        ),
        Step(
            "Time to drain",
            "t",
            "D/(C − λm)" if math.isfinite(took) else "C ≤ λm",
            f"{figure(depth)}/{figure(capacity_per_s - ingress)}" if math.isfinite(took) else "",
            took,
            "s",
            "drain_s",
            math.isinf(took),
        ),
    )
    if math.isfinite(took):
        meaning = f"The queue is gone after {span(took)} at this demand, unless a restart drops it."
    elif release > 0:
        meaning = f"It does not drain: shed demand below {figure(release)} jobs/s, or drop the queue."
    else:
        meaning = "Clients that never give up let it drain at no demand: drop the queue, or stop the retries."
    return Calculation(
        "Drain time of a storm",
        {
            "depth": ("D", depth),
            "capacity_per_s": ("C", capacity_per_s),
            "arrival_rate_per_s": ("λ", arrival_rate_per_s),
            "max_attempts": ("m", max_attempts),
        },
        steps,
        meaning,
        f"{COLLAPSE_LAW}, Proposition 2",
    )
