"""The size of a trigger: a spike of load, or a cut of capacity."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from domain.errors import Fault
from tipover.commands.calc.answer import checked, exactly_one, faulty
from tipover.commands.calc.calculation import DEMAND_DEBT, Calculation, Step, figure, operand, told_apart
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
            " > ".join(told_apart(wait, timeout_s)),
            triggers,
            key="triggers",
            deduced=True,
        ),
    )
    # After the spike the wait, so far w, falls at 1 − ρ, back to T.
    late_s = duration_s - t0 + (wait - timeout_s) / (1.0 - rho)
    meaning = (
        f"The spike is a trigger: attempts time out from {seconds(t0)} into it on. {_fate(late_s, timeout_s)}"
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

    wait = laws.capacity_cut_wait_s(cut_factor=k, utilization=rho, cut_duration_s=duration_s)
    triggers = laws.cut_triggers(
        cut_factor=k, utilization=rho, cut_duration_s=duration_s, timeout_s=timeout_s
    )
    late = (
        laws.cut_first_late_s(cut_factor=k, utilization=rho, cut_duration_s=duration_s, timeout_s=timeout_s),
        laws.cut_last_late_s(cut_factor=k, utilization=rho, cut_duration_s=duration_s, timeout_s=timeout_s),
    )
    sent, served = told_apart(max(0.0, rho * (duration_s - timeout_s)), duration_s / k)
    steps = [
        Step(
            "Wait left when capacity is back, were nothing retried meanwhile",
            "w",
            "max(0, (ρ − 1/k)Δ)",
            f"max(0, ({figure(rho)} − 1/{operand(k)})·{figure(duration_s)})",
            wait,
            "s",
            key="wait_s",
        ),
        Step(
            "Is it a trigger: an attempt sent T before its end has it worst, and is late iff what was sent "
            "before it is more than the cut serves",
            "",
            "ρ·max(0, Δ − T) > Δ/k",
            f"{sent} > {served}",
            triggers,
            key="triggers",
            deduced=True,
        ),
    ]
    if triggers:
        steps += _late_steps(k, rho, duration_s, timeout_s, late)
    return Calculation(
        "Size of a trigger: a cut of capacity",
        inputs | {"cut_factor": ("k", k), "cut_duration_s": ("Δ", duration_s)},
        tuple(steps),
        _cut_meaning(wait, timeout_s, late, triggers=triggers),
        f"the fluid balance of {DEMAND_DEBT}, Proposition 8; derived in analysis/laws/trigger.py",
    )


def _late_steps(
    k: float, rho: float, duration_s: float, timeout_s: float, late: tuple[float, float]
) -> list[Step]:
    share, length, deadline = figure(rho), figure(duration_s), figure(timeout_s)
    return [
        Step(
            "When into the cut the first late attempt is sent",
            "t0",
            "T/(kρ − 1)",
            f"{deadline}/({figure(k)}·{share} − 1)",
            late[0],
            "s",
            "first_timeout_s",
        ),
        Step(
            "When the last one is, before retries add to it",
            "t1",
            "((1 − 1/k)Δ − T)/(1 − ρ)",
            f"((1 − 1/{operand(k)})·{length} − {deadline})/(1 − {share})",
            late[1],
            "s",
            "last_timeout_s",
        ),
    ]


def _cut_meaning(wait_s: float, timeout_s: float, late: tuple[float, float], *, triggers: bool) -> str:
    from analysis.wording import seconds

    if not triggers:
        return (
            f"The cut is no trigger: no attempt times out, and the {seconds(wait_s)} of work that wait when "
            "capacity is back drain."
        )
    left = "although only" if wait_s <= timeout_s else "and"
    return (
        f"The cut is a trigger: attempts sent from {seconds(late[0])} into it on time out, {left} "
        f"{seconds(wait_s)} of work wait when capacity is back. {_fate(late[1] - late[0], timeout_s)}"
    )


def _fate(late_s: float, timeout_s: float) -> str:
    """What comes of it; retries come back T later, so a trigger must last for about T to feed itself."""
    says = "What happens then is for `tipover calc trap` to say"
    if late_s >= 2 * timeout_s:
        return f"{says}."
    return (
        f"{says}; but that is so near the least trigger that the wait may be gone before the retries come, "
        "which `tipover predict` works out."
    )
