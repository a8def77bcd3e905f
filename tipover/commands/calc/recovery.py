"""The way back: from a spike, and out of a storm."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tipover.commands.calc.amplified import amplification_inputs, amplified
from tipover.commands.calc.answer import checked
from tipover.commands.calc.calculation import (
    COLLAPSE_LAW,
    DEMAND_DEBT,
    Calculation,
    Step,
    digits_to_subtract,
    figure,
    lasting,
    operand,
    told_apart,
)
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
    k, delta, t = (figure(v) for v in (spike_factor, spike_duration_s, timeout_s))
    # As many figures of ρ as 1 − Aρ needs.
    rho = figure(utilization, digits_to_subtract(1.0, a * utilization) if utilization else 4)
    grows, drains = f"{figure(a)}·{k}·{rho} − 1", f"1 − {figure(a)}·{rho}"
    steps = list(first)
    if not triggered:
        wait, deadline = told_apart(laws.spike_wait_s(spike_factor, utilization, spike_duration_s), timeout_s)
        steps.append(
            Step(
                "Recovery time",
                "T_rec",
                "max(0, (kρ − 1)Δ) ≤ T",
                f"{wait} ≤ {deadline}",
                took,
                "s",
                "recovery_s",
                True,
            )
        )
    elif math.isinf(took):
        product, one = told_apart(a * utilization, 1.0, most=12)
        numbers = f"{figure(a)}·{rho} = {product} ≥ {one}"
        steps.append(Step("Recovery time", "T_rec", "Aρ ≥ 1", numbers, took, "s", "recovery_s", True))
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
        _recovery_meaning(took, spike_duration_s, triggered=triggered)
        + (_recovery_caveat(utilization, timeout_s, spike_duration_s - t0, took) if triggered else ""),
        f"{DEMAND_DEBT}, Proposition 7",
    )


def _recovery_meaning(took: float, duration_s: float, *, triggered: bool) -> str:
    from analysis.wording import seconds

    if not triggered:
        return "The spike is no trigger: there is nothing to recover from but the wait it built."
    if math.isinf(took):
        return "It never recovers by itself: the spike has to be undone by shedding demand below C/A."
    return (
        f"It comes back by itself {lasting(took)} after the spike has ended, {figure(took / duration_s, 2)} "
        f"times as long as the {seconds(duration_s)} that caused it."
    )


def _recovery_caveat(utilization: float, timeout_s: float, late_spike_s: float, took: float) -> str:
    """What the law leaves out: it counts retries from the first late attempt on, a timeout too early."""
    from analysis.wording import seconds

    short = (
        f" The spike goes on for only {seconds(late_spike_s)} after its first late attempt, and retries "
        f"begin a timeout ({seconds(timeout_s)}) after that"
    )
    if math.isinf(took):
        if late_spike_s >= 2 * timeout_s:
            return ""
        return f"{short}: so near the least trigger it may come back all the same; ask `tipover predict`."
    until = (
        " That is until the queue is empty; the last failing attempt, which `tipover predict` times, is "
        f"{seconds(timeout_s / (1.0 - utilization))} earlier."
    )
    if late_spike_s >= 5 * timeout_s:
        return until
    return f"{until}{short}: so near the least trigger this overstates; ask `tipover predict`."


def drain(
    depth: Annotated[float, typer.Option("--depth", help="D: attempts queued.")],
    capacity_per_s: Annotated[float, typer.Option("--capacity-per-s", help="C: attempts/s it can do.")],
    arrival_rate_per_s: ArrivalRateOption,
    max_attempts: AttemptsOption,
) -> Calculation:
    """How long a storm of retries takes to drain."""
    from analysis import laws

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
            f"{figure(capacity_per_s)}/{operand(max_attempts)}",
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
            f"{figure(depth)}/{operand(capacity_per_s - ingress)}" if math.isfinite(took) else "",
            took,
            "s",
            "drain_s",
            math.isinf(took),
        ),
    )
    return Calculation(
        "Drain time of a storm",
        {
            "depth": ("D", depth),
            "capacity_per_s": ("C", capacity_per_s),
            "arrival_rate_per_s": ("λ", arrival_rate_per_s),
            "max_attempts": ("m", max_attempts),
        },
        steps,
        _drain_meaning(depth, took, ingress - capacity_per_s, release, arrival_rate_per_s >= capacity_per_s),
        f"{COLLAPSE_LAW}, Proposition 2",
    )


def _drain_meaning(depth: float, took: float, growth_per_s: float, release: float, overloaded: bool) -> str:
    if depth == 0 and growth_per_s > 0:
        return (
            "Nothing is queued yet, "
            + (
                "but it is overloaded without any trigger: "
                if overloaded
                else "but should attempts begin to fail "
            )
            + f"the queue grows by {figure(growth_per_s)} attempts/s and does not drain."
        )
    if math.isfinite(took):
        return f"The queue is gone after {lasting(took)} at this demand, unless a restart drops it."
    if release > 0:
        return f"It does not drain: shed demand below {figure(release)} jobs/s, or drop the queue."
    return "Clients that never give up let it drain at no demand: drop the queue, or stop the retries."
