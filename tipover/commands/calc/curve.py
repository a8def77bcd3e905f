"""The steady-state curve: kernel, fixed points, ceiling, hysteresis loop."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tipover.commands.calc.answer import checked
from tipover.commands.calc.calculation import (
    COLLAPSE_LAW,
    Calculation,
    Step,
    digits_to_subtract,
    figure,
    operand,
    percent,
    told_apart,
)
from tipover.commands.calc.curve_words import ceiling_meaning, edges, tipping
from tipover.commands.calc.options import AttemptsOption, SlackOption, UtilizationOption

ONE_QUEUE = "M/M/1: one queue as fast as all pods together"


def kernel(
    offered_utilization: Annotated[
        float, typer.Option("--offered-utilization", help="x: all attempts, retries included, over capacity.")
    ],
    timeout_slack: SlackOption,
) -> Calculation:
    """Probability that an attempt times out."""
    from analysis import laws

    checked(offered_utilization=offered_utilization, timeout_slack=timeout_slack)
    q = laws.timeout_kernel(offered_utilization, timeout_slack)
    numbers = f"e^(−{figure(timeout_slack)}·(1 − {figure(offered_utilization)}))"
    return Calculation(
        "Timeout kernel",
        {"offered_utilization": ("x", offered_utilization), "timeout_slack": ("θ", timeout_slack)},
        (Step("Probability of a timeout", "q", "e^(−θ(1 − x))", numbers, q, key="timeout_probability"),),
        f"At {percent(offered_utilization)} busy, {percent(q)} of the attempts outlast a timeout of "
        f"{figure(timeout_slack)} mean service times, and each of them may come back as a retry.",
        f"{COLLAPSE_LAW} §4.1 ({ONE_QUEUE})",
    )


def ceiling(timeout_slack: SlackOption, max_attempts: AttemptsOption = math.inf) -> Calculation:
    """Largest demand that has a healthy steady state."""
    from analysis import laws

    checked(timeout_slack=timeout_slack, max_attempts=max_attempts)
    steps = _ceiling_steps(timeout_slack, max_attempts)
    top = laws.collapse_ceiling(timeout_slack, max_attempts)
    return Calculation(
        "Collapse ceiling",
        {"timeout_slack": ("θ", timeout_slack), "max_attempts": ("m", max_attempts)},
        (
            *steps,
            Step(
                "Timeout tax",
                "1 − λc/μ",
                "",
                f"1 − {figure(top, digits_to_subtract(1.0, top))}",
                1.0 - top,
                key="timeout_tax",
            ),
        ),
        ceiling_meaning(timeout_slack, max_attempts, top),
        f"{COLLAPSE_LAW}, Propositions 1 and 3 ({ONE_QUEUE})",
    )


def _ceiling_steps(theta: float, m: float) -> tuple[Step, ...]:
    from analysis import laws

    x, top = laws.ceiling_offered_utilization(theta, m), laws.collapse_ceiling(theta, m)
    peak = "Offered utilization at the ceiling"
    name = "Ceiling, in units of capacity"
    if math.isinf(m):
        t, shown = figure(theta), figure(x, digits_to_subtract(1.0, x))
        return (
            Step(
                f"{peak}, the root of e^(θ(1 − x)) = 1 + θx (ω: Wright omega)",
                "x*",
                "(ω(θ + 1) − 1)/θ",
                f"(ω({figure(theta + 1)}) − 1)/{operand(theta)}",
                x,
                key="ceiling_offered_utilization",
            ),
            Step(
                name,
                "λc/μ",
                "θx*²/(1 + θx*)",
                f"{t}·{shown}²/(1 + {t}·{shown})",
                top,
                key="ceiling_utilization",
            ),
        )
    return (
        Step(
            f"{peak}, where g_m(x) = x(1 − q)/(1 − q^m), q = e^(−θ(1 − x)), is largest",
            "x*",
            "argmax g_m",
            "",
            x,
            key="ceiling_offered_utilization",
        ),
        Step(
            name, "λc/μ", "g_m(x*)", f"g_{figure(m)}({told_apart(x, 1.0)[0]})", top, key="ceiling_utilization"
        ),
    )


def bistability(timeout_slack: SlackOption, max_attempts: AttemptsOption = math.inf) -> Calculation:
    """Whether there is a hysteresis loop, and how wide it is."""
    from analysis import laws

    checked(timeout_slack=timeout_slack, max_attempts=max_attempts)
    loop = laws.is_bistable(timeout_slack, max_attempts)
    top, end = laws.collapse_ceiling(timeout_slack, max_attempts), laws.recovery_threshold(max_attempts)
    width = laws.hysteresis_width(timeout_slack, max_attempts)
    product, two = told_apart((max_attempts - 1.0) * timeout_slack, 2.0)
    digits, (low, high) = digits_to_subtract(top, end), edges(end, top)
    steps = (
        Step(
            "A loop exists iff (m − 1)θ > 2",
            "",
            "(m − 1)θ > 2",
            f"{product} > {two}",
            loop,
            key="bistable",
            deduced=True,
        ),
        *_ceiling_steps(timeout_slack, max_attempts)[1:],
        Step(
            "Recovery threshold, the end of the curve",
            "λr/μ",
            "1/m",
            f"1/{figure(max_attempts)}",
            end,
            key="recovery_utilization",
        ),
        Step(
            "Width of the loop",
            "(λc − λr)/μ",
            "",
            f"{figure(top, digits)} − {figure(end, digits)}",
            width,
            key="hysteresis_width",
        ),
    )
    if max_attempts == 1:
        meaning = "Without retries nothing feeds on itself: it is overloaded above capacity and only there."
    elif not loop:
        meaning = (
            f"Failure and recovery happen at the same demand, {percent(top)} of capacity (1/m): it degrades "
            "without a cliff and comes back as demand does."
        )
    elif end == 0:
        meaning = (
            f"It collapses at {high} of capacity, and clients that never give up hold it there at "
            "any demand: shedding does not help, only breaking the retry loop or a restart."
        )
    else:
        meaning = (
            f"It collapses at {high} of capacity and does not come back before demand is below {low}; in "
            "between both states are stable."
        )
    return Calculation(
        "Bistability",
        {"timeout_slack": ("θ", timeout_slack), "max_attempts": ("m", max_attempts)},
        steps,
        meaning,
        f"{COLLAPSE_LAW}, Propositions 2 to 4 ({ONE_QUEUE})",
    )


def fixed_points(
    utilization: UtilizationOption, timeout_slack: SlackOption, max_attempts: AttemptsOption = math.inf
) -> Calculation:
    """Steady states at a demand, and the separatrix."""
    from analysis import laws

    checked(utilization=utilization, timeout_slack=timeout_slack, max_attempts=max_attempts)
    given = (utilization, timeout_slack, max_attempts)
    good = laws.healthy_offered_utilization(*given)
    q = laws.timeout_kernel(good, timeout_slack)
    curve = "g_m(x) = x(1 − q)/(1 − q^m), q = e^(−θ(1 − x))"
    root = f"g_{figure(max_attempts)}(x) = {figure(utilization)}"
    steps = [
        Step(
            f"Healthy fixed point, the smaller root of λ/μ = {curve}",
            "x",
            root,
            "",
            good,
            key="healthy_offered_utilization",
            deduced=True,
        ),
        Step(
            "Timeouts in the healthy state",
            "q",
            "e^(−θ(1 − x))",
            f"e^(−{figure(timeout_slack)}·(1 − {figure(good)}))",
            q,
            key="timeout_probability",
        ),
    ]
    threshold = laws.recovery_threshold(max_attempts)
    if laws.is_bistable(timeout_slack, max_attempts) and utilization > threshold:
        bad, depth = laws.separatrix_offered_utilization(*given), laws.separatrix_depth(*given)
        steps += [
            Step(
                "Separatrix, the larger root",
                "x",
                root,
                "",
                bad,
                key="separatrix_offered_utilization",
                deduced=True,
            ),
            Step(
                "Queue at the separatrix",
                "depth",
                "x/(1 − x)",
                # Near 1, x has no digits left for 1 − x, which is 1/(1 + depth).
                f"{figure(bad)}/{operand(1.0 / (1.0 + depth))}",
                depth,
                "attempts",
                key="separatrix_depth",
            ),
        ]
        fate = tipping(timeout_slack, depth, good)
    else:
        fate = f"up to {percent(threshold)} of capacity (1/m) there is no other state to tip it into"
    return Calculation(
        "Steady states of the retry curve",
        {
            "utilization": ("λ/μ", utilization),
            "timeout_slack": ("θ", timeout_slack),
            "max_attempts": ("m", max_attempts),
        },
        tuple(steps),
        f"When healthy the server is {percent(good)} busy and {percent(q)} of the attempts are late; {fate}.",
        f"{COLLAPSE_LAW} §4.2, §4.4 and §4.5 ({ONE_QUEUE})",
    )
