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
    factors,
    figure,
)
from tipover.commands.calc.options import AttemptsOption, FailureOption


def amplification(failure_probability: FailureOption, max_attempts: AttemptsOption) -> Calculation:
    """Attempts per job when each fails with probability p."""
    from analysis import laws

    checked(failure_probability=failure_probability, max_attempts=max_attempts)
    attempts = laws.retry_amplification(max_attempts, failure_probability)
    p, m = figure(failure_probability), figure(max_attempts)
    certain = failure_probability == 1
    return Calculation(
        "Amplification by capped retries",
        {"failure_probability": ("p", failure_probability), "max_attempts": ("m", max_attempts)},
        (
            Step(
                "Attempts per job",
                "A",
                "m, as every attempt fails" if certain else "(1 − p^m)/(1 − p)",
                "" if certain else f"(1 − {p}^{m})/(1 − {p})",
                attempts,
                key="amplification",
            ),
        ),
        f"The service sees {figure(attempts)} times the demand, and {m} times once every attempt fails.",
        f"{DEMAND_DEBT}, Definition 8",
    )


def stack(
    layer: Annotated[
        list[float] | None, typer.Option("--layer", help="Attempts one layer makes per call; repeat it.")
    ] = None,
    budget: Annotated[
        list[float] | None,
        typer.Option("--budget", help="Retry budget of one layer, as 0.2; repeat it."),
    ] = None,
) -> Calculation:
    """Amplification of layers that retry independently."""
    from analysis import laws
    from analysis.wording import percent
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
                f"1/{figure(product)}",
                laws.trap_threshold(product),
                key="threshold_utilization",
            ),
        ),
        f"The service behind this stack can be trapped from {percent(1 / product)} of its capacity on; "
        "no layer sees the product.",
        f"{DEMAND_DEBT}, Definition 8",
    )


def tree(
    failure_probability: FailureOption,
    max_attempts: AttemptsOption,
    services: Annotated[int, typer.Option("--services", help="N: services that call one another in a row.")],
) -> Calculation:
    """Load and success where every tier retries."""
    from analysis import laws
    from analysis.wording import percent

    given = (failure_probability, max_attempts, services)
    checked(failure_probability=failure_probability, max_attempts=max_attempts, services=services)
    p, m, n = figure(failure_probability), figure(max_attempts), figure(float(services))
    load, success, alone = (
        law(*given) for law in (laws.call_tree_load, laws.call_tree_success, laws.last_service_load)
    )
    tier = laws.retry_amplification(max_attempts, failure_probability)
    below = figure(float(services - 1))
    return Calculation(
        "Call tree with retries at every tier",
        {
            "failure_probability": ("p", failure_probability),
            "max_attempts": ("m", max_attempts),
            "services": ("N", services),
        },
        (
            Step("Attempts of one caller", "E", "1 + p + … + p^(m−1)", "", tier),
            Step(
                "Load on the last service per request, each tier failing with p",
                "load",
                "E^(N − 1)",
                f"{figure(tier)}^{below}",
                load,
                key="load",
            ),
            Step(
                "Success seen by the user",
                "success",
                "(1 − p^m)^N",
                f"(1 − {p}^{m})^{n}",
                success,
                key="success",
            ),
            Step(
                "Load if only the last service fails",
                "load",
                "(1 − p^M)/(1 − p), M = m^(N − 1)",
                f"(1 − {p}^({m}^{below}))/(1 − {p})",
                alone,
                key="last_service_load",
            ),
        ),
        f"The last service sees {figure(load)} times the users' demand while {percent(success)} of them "
        f"get an answer; if it alone is failing, {figure(alone)} times.",
        f"{RETRY_STORMS}, simulation A",
    )
