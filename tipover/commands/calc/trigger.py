"""The size of a trigger: a spike of load, or a cut of capacity."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from domain.errors import Fault
from tipover.commands.calc.answer import checked, exactly_one, faulty
from tipover.commands.calc.calculation import DEMAND_DEBT, Calculation, Step, figure
from tipover.commands.calc.options import (
    TimeoutOption,
    UtilizationOption,
)


def trigger(
    utilization: UtilizationOption,
    timeout_s: TimeoutOption,
    spike_factor: Annotated[
        float | None, typer.Option("--spike-factor", help="k: demand is multiplied by this.")
    ] = None,
    spike_duration_s: Annotated[
        float | None, typer.Option("--spike-duration-s", help="Δ: length of the spike, seconds.")
    ] = None,
    cut_factor: Annotated[
        float | None,
        typer.Option("--cut-factor", help="Instead: capacity is divided by this; inf for an outage."),
    ] = None,
    cut_duration_s: Annotated[
        float | None, typer.Option("--cut-duration-s", help="Length of the cut, seconds.")
    ] = None,
) -> Calculation:
    """Whether a spike or a cut makes attempts time out."""
    exactly_one(spike_factor=spike_factor, cut_factor=cut_factor)
    checked(
        utilization=utilization,
        timeout_s=timeout_s,
        spike_factor=spike_factor,
        spike_duration_s=spike_duration_s,
        cut_factor=cut_factor,
        cut_duration_s=cut_duration_s,
    )
    kind = "spike" if cut_factor is None else "cut"
    mine, other = (
        (spike_duration_s, cut_duration_s) if kind == "spike" else (cut_duration_s, spike_duration_s)
    )
    wrong = "cut" if kind == "spike" else "spike"
    if mine is None:
        raise faulty([Fault(f"--{kind}-duration-s", f"is required with --{kind}-factor", None)])
    if other is not None:
        raise faulty([Fault(f"--{wrong}-duration-s", f"does not go with --{kind}-factor", other)])
    inputs = {"utilization": ("ρ", utilization), "timeout_s": ("T", timeout_s)}
    if spike_factor is not None:
        return _spike(inputs, spike_factor, utilization, mine, timeout_s)
    assert cut_factor is not None
    return _cut(inputs, cut_factor, utilization, mine, timeout_s)


def _spike(
    inputs: dict[str, tuple[str, float]], k: float, rho: float, duration_s: float, timeout_s: float
) -> Calculation:
    from analysis import laws
    from analysis.wording import seconds

    triggers = laws.spike_triggers(
        spike_factor=k, utilization=rho, spike_duration_s=duration_s, timeout_s=timeout_s
    )
    wait = laws.spike_wait_s(k, rho, duration_s)
    t0 = laws.time_to_first_timeout_s(spike_factor=k, utilization=rho, timeout_s=timeout_s)
    excess = f"{figure(k)}·{figure(rho)} − 1"
    steps = (
        Step(
            "Wait the spike builds",
            "w",
            "max(0, (kρ − 1)Δ)",
            f"max(0, ({excess})·{figure(duration_s)})",
            wait,
            "s",
            key="wait_s",
        ),
        Step(
            "Time to the first late attempt",
            "t0",
            "T/(kρ − 1)" if math.isfinite(t0) else "kρ ≤ 1",
            f"{figure(timeout_s)}/({excess})" if math.isfinite(t0) else "",
            t0,
            "s",
            "first_timeout_s",
            math.isinf(t0),
        ),
        Step(
            "Is it a trigger",
            "",
            "w > T",
            f"{figure(wait)} > {figure(timeout_s)}",
            triggers,
            key="triggers",
            deduced=True,
        ),
    )
    meaning = (
        f"The spike is a trigger: attempts time out from {seconds(t0)} into it on, and what happens then is "
        "for `tipover calc trap` to say."
        if triggers
        else f"The spike is no trigger: the wait reaches {seconds(wait)} of the {seconds(timeout_s)} that a "
        "client gives it, and drains when demand is back."
    )
    spike = {"spike_factor": ("k", k), "spike_duration_s": ("Δ", duration_s)}
    return Calculation(
        "Size of a trigger: a load spike",
        inputs | spike,
        steps,
        meaning,
        f"{DEMAND_DEBT}, Propositions 7 and 8",
    )


def _cut(
    inputs: dict[str, tuple[str, float]], k: float, rho: float, duration_s: float, timeout_s: float
) -> Calculation:
    from analysis import laws
    from analysis.wording import seconds

    wait = laws.capacity_cut_wait_s(cut_factor=k, utilization=rho, cut_duration_s=duration_s)
    triggers = wait > timeout_s
    steps = (
        Step(
            "Wait left when capacity is back, were nothing retried meanwhile",
            "w",
            "max(0, (ρ − 1/k)Δ)",
            f"max(0, ({figure(rho)} − 1/{figure(k)})·{figure(duration_s)})",
            wait,
            "s",
            key="wait_s",
        ),
        Step(
            "Is it a trigger",
            "",
            "w > T",
            f"{figure(wait)} > {figure(timeout_s)}",
            triggers,
            key="triggers",
            deduced=True,
        ),
    )
    meaning = (
        f"The cut is a trigger: {seconds(wait)} of work wait when capacity is back, more than the timeout."
        if triggers
        else f"When capacity is back {seconds(wait)} of work wait, within the timeout. During the cut it is "
        "served more slowly, so attempts may time out then all the same and their retries add to it."
    )
    cut = {"cut_factor": ("k", k), "cut_duration_s": ("Δ", duration_s)}
    return Calculation(
        "Size of a trigger: a cut of capacity",
        inputs | cut,
        steps,
        meaning,
        f"the fluid balance of {DEMAND_DEBT}, Proposition 8",
    )
