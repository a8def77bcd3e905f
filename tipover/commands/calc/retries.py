"""What retries multiply to: attempts per job, layers, hops, call trees, and the feedback loop."""

from __future__ import annotations

import math
from typing import Annotated

import typer

from tipover.commands.calc.answer import checked, option
from tipover.commands.calc.calculation import (
    DEMAND_DEBT,
    RETRY_STORMS,
    Calculation,
    Step,
    demand_times,
    digits_to_subtract,
    factors,
    figure,
    operand,
    percent,
)
from tipover.commands.calc.options import AttemptsOption, FailureOption


def amplification(failure_probability: FailureOption, max_attempts: AttemptsOption) -> Calculation:
    """Attempts per job when each fails with probability p."""
    from analysis import laws

    checked(failure_probability=failure_probability, max_attempts=max_attempts)
    attempts = laws.retry_amplification(max_attempts, failure_probability)
    p, m = _probability(failure_probability), figure(max_attempts)
    certain = failure_probability == 1
    return Calculation(
        "Amplification by capped retries",
        {"failure_probability": ("p", failure_probability), "max_attempts": ("m", max_attempts)},
        (
            Step(
                "Attempts per job",
                "A",
                "m, as every attempt fails" if certain else "(1 − p^m)/(1 − p)",
                ""
                if certain
                else f"(1 − {operand(failure_probability, _digits(failure_probability))}^{m})/(1 − {p})",
                attempts,
                key="amplification",
            ),
        ),
        f"The service sees {demand_times(attempts)}, and {demand_times(max_attempts)} once every attempt "
        "fails.",
        f"{DEMAND_DEBT}, Definition 8",
    )


def stack(
    layer: Annotated[
        list[float] | None,
        typer.Option(
            "--layer",
            help="A of one layer: attempts it makes per call, a mean if not whole. Repeat it.",
        ),
    ] = None,
    budget: Annotated[
        list[float] | None,
        typer.Option("--budget", help="Retry budget of one layer, as 0.2; repeat it."),
    ] = None,
) -> Calculation:
    """Amplification of layers that retry independently."""
    from analysis import laws
    from domain.errors import Fault

    layers, budgets = layer or [], budget or []
    faults = [
        Fault(option(name), rule, value)
        for name, rule, broken in (
            ("layer", "must be at least 1", [v for v in layers if not v >= 1]),
            ("budget", "must be finite and at least 0", [v for v in budgets if not 0 <= v < math.inf]),
        )
        for value in broken
    ]
    if not layers and not budgets:
        faults.append(Fault("--layer, --budget", "give at least one of them", None))
    if faults:
        raise laws.DomainError(faults)
    amplifications = [*layers, *(laws.budget_amplification(value) for value in budgets)]
    product = laws.layered_amplification(amplifications)
    return Calculation(
        "Amplification of a stack",
        {"layer": ("m", layers or None), "budget": ("β", budgets or None)},
        (
            *(
                Step("A layer with a budget", "A", "1 + β", f"1 + {figure(b)}", laws.budget_amplification(b))
                for b in budgets
            ),
            Step("All layers", "A", "∏ Aᵢ", factors(amplifications), product, key="amplification"),
            Step(
                "Threshold",
                "1/A",
                "",
                f"1/{operand(product)}",
                laws.trap_threshold(product),
                key="threshold_utilization",
            ),
        ),
        "The service behind this stack can be trapped "
        + ("at any demand; " if math.isinf(product) else f"from {percent(1 / product)} of its capacity on; ")
        + "no layer sees the product.",
        f"{DEMAND_DEBT}, Definition 8",
    )


def tree(
    failure_probability: FailureOption,
    max_attempts: AttemptsOption,
    services: Annotated[int, typer.Option("--services", help="N: services that call one another in a row.")],
) -> Calculation:
    """Load and success where every tier retries."""
    from analysis import laws

    given = (failure_probability, max_attempts, services)
    checked(failure_probability=failure_probability, max_attempts=max_attempts, services=services)
    p, m, n = _probability(failure_probability), figure(max_attempts), figure(float(services))
    load, success, alone = (
        law(*given) for law in (laws.call_tree_load, laws.call_tree_success, laws.last_service_load)
    )
    tier = laws.retry_amplification(max_attempts, failure_probability)
    below = figure(float(services - 1))
    certain = failure_probability == 1
    power = operand(failure_probability, _digits(failure_probability))
    return Calculation(
        "Call tree with retries at every tier",
        {
            "failure_probability": ("p", failure_probability),
            "max_attempts": ("m", max_attempts),
            "services": ("N", services),
        },
        (
            Step("Attempts of one caller", "E", "m" if certain else "1 + p + … + p^(m−1)", "", tier),
            Step(
                "Load on the last service per request, each tier failing with p",
                "load",
                "E^(N − 1)",
                f"{operand(tier)}^{below}",
                load,
                key="load",
            ),
            Step(
                "Success seen by the user",
                "success",
                "(1 − p^m)^N",
                f"(1 − {power}^{m})^{n}",
                success,
                key="success",
            ),
            Step(
                "Load if only the last service fails",
                "load",
                "m^(N − 1)" if certain else "(1 − p^M)/(1 − p), M = m^(N − 1)",
                f"{operand(max_attempts)}^{below}" if certain else f"(1 − {power}^({m}^{below}))/(1 − {p})",
                alone,
                key="last_service_load",
            ),
        ),
        f"The last service sees {demand_times(load)} of the users while {percent(success)} of them get an "
        f"answer; if it alone is failing, {demand_times(alone)}.",
        f"{RETRY_STORMS}, simulation A",
    )


def _digits(failure_probability: float) -> int:
    """Figures of p that 1 − p needs."""
    return digits_to_subtract(1.0, failure_probability)


def _probability(failure_probability: float) -> str:
    return figure(failure_probability, _digits(failure_probability))
