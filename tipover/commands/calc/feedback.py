"""The feedback loop of load, failures and retries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import Fault
from tipover.commands.calc.answer import checked
from tipover.commands.calc.calculation import FEEDBACK_LESSON, Calculation, Step, figure, percent

if TYPE_CHECKING:
    from analysis.laws import Enclosure


def fixed_point(
    load: Annotated[str, typer.Option("--load", help="λ/C: offered load before retries, taken exactly.")],
    max_attempts: Annotated[
        float,
        typer.Option(
            "--max-attempts", help="m: attempts a job may make, the first included; whole, at most 10,000."
        ),
    ],
    base: Annotated[str, typer.Option("--base", help="b: failure probability under no overload, exactly.")],
    width: Annotated[
        str, typer.Option("--width", help="How close the exact ends are to be, at least 1e-60.")
    ] = "1e-9",
    steps: Annotated[int, typer.Option("--steps", help="Turns of the loop to show.")] = 5,
) -> Calculation:
    """Where load and retries settle, enclosed exactly."""
    from dataclasses import replace

    from analysis import laws

    names = {"utilization": "--load", "base_failure": "--base"}
    faults: list[Fault] = []
    try:
        checked(steps=steps)
    except laws.DomainError as error:
        faults.extend(error.faults)
    try:
        ends = laws.fixed_point_enclosure(load, max_attempts, base, width)
    except laws.DomainError as error:
        faults.extend(replace(fault, field=names.get(fault.field, fault.field)) for fault in error.faults)
    if faults:
        raise laws.DomainError(faults)
    demand, b = _float(load), _float(base)
    settled = laws.fixed_point_load(demand, max_attempts, b)
    failing = laws.overload_failure_probability(settled, b)
    first = laws.first_overload_utilization(max_attempts, b)
    turns = laws.feedback_steps(demand, max_attempts, b, steps)
    walk = tuple(turn.next_load for turn in turns)
    low, high = _decimals(ends)
    return Calculation(
        "Feedback fixed point",
        {
            "load": ("λ", load),
            "max_attempts": ("m", max_attempts),
            "base": ("b", base),
            "width": ("width", width),
        },
        (
            Step(
                "The loop: p(L) = b + (1 − b)·max(0, (L − 1)/L), then L′ = λ(1 − p^m)/(1 − p)",
                "",
                f"{figure(demand)}",
                "",
                walk,
                key="iterates",
                deduced=True,
            ),
            Step(f"At least, exactly ({low})", "L", "", "", str(ends.low), key="low"),
            Step(f"At most, exactly ({high})", "L", "", "", str(ends.high), key="high"),
            Step(
                "Closed form" + (", above capacity" if settled > 1 else ", within capacity"),
                "L",
                "(1 − b)/(1 − (1 − (1 − b)/λ)^(1/m))" if settled > 1 else "λ(1 − b^m)/(1 − b)",
                "",
                settled,
                "of capacity",
                "load",
            ),
            Step("Failure probability there", "p", "p(L)", "", failing, key="failure_probability"),
            Step(
                "Offered load from which it exceeds capacity",
                "λ",
                "(1 − b)/(1 − b^m)",
                "",
                first,
                "of capacity",
                "first_overload_utilization",
            ),
        ),
        _fixed_point_meaning(demand, settled, failing, first),
        f"{FEEDBACK_LESSON}; the closed form is derived in analysis/laws/fixed_point.py",
    )


def _fixed_point_meaning(demand: float, settled: float, failing: float, first: float) -> str:
    idle = f"Up to a demand of {percent(first)} the loop is not engaged."
    if settled <= 1:
        return f"It settles within capacity, and retries cost {percent(settled - demand)} of it. {idle}"
    return (
        f"A demand of {percent(demand)} of capacity settles at {percent(settled)} with {percent(failing)} of "
        f"the attempts failing: the retries do the rest. {idle}"
    )


def _decimals(ends: Enclosure) -> tuple[str, str]:
    """The ends in decimals, rounded outwards, a digit more than tells them apart."""
    if ends.low == ends.high:
        return f"{float(ends.low):.10g}", f"{float(ends.high):.10g}"
    places = 1
    while (ends.high - ends.low) * 10**places < 1:
        places += 1
    places += 1
    low, high = math.floor(ends.low * 10**places), math.ceil(ends.high * 10**places)
    return tuple(f"{end // 10**places}.{end % 10**places:0{places}d}" for end in (low, high))  # type: ignore[return-value]


def _float(text: str) -> float:
    """The float nearest to a decimal or a fraction such as 19/20."""
    from fractions import Fraction

    return float(Fraction(text))
