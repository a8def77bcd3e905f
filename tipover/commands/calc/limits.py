"""What breaks the loop: a queue cap in the server, an empty budget in the client."""

from __future__ import annotations

import math
from enum import Enum
from typing import Annotated

import typer

from domain.errors import Fault
from tipover.commands.calc.answer import checked, faulty, option
from tipover.commands.calc.calculation import (
    COLLAPSE_LAW,
    DEMAND_DEBT,
    Calculation,
    Step,
    counted,
    figure,
    operand,
    percent,
    told_apart,
)
from tipover.commands.calc.options import AttemptsOption, SlackOption


class Bucket(Enum):
    """Retry budgets of deployed clients."""

    AWS = "aws"
    GRPC = "grpc"
    BUDGET = "budget"


def cap(
    queue_cap: Annotated[int, typer.Option("--queue-cap", help="L: attempts that may wait.")],
    timeout_slack: SlackOption,
    max_attempts: AttemptsOption,
) -> Calculation:
    """Whether a queue cap breaks the retry loop."""
    from analysis import laws

    checked(queue_cap=queue_cap, timeout_slack=timeout_slack, max_attempts=max_attempts)
    given = (queue_cap, timeout_slack, max_attempts)
    late, gain = laws.capped_timeout_probability(queue_cap, timeout_slack), laws.loop_gain(*given)
    breaks = gain < 1
    theta, m = figure(timeout_slack), figure(max_attempts)
    steps = [
        Step(
            "An admitted attempt times out with at most",
            "q_L",
            "P(Erlang(L + 1) > θ)",
            f"P(Erlang({figure(queue_cap + 1.0)}) > {theta})",
            late,
            key="timeout_probability",
        ),
        Step("Loop gain", "m·q_L", "", f"{m}·{figure(late)}", gain, key="loop_gain"),
        Step(
            "Does it break the loop",
            "",
            "m·q_L < 1",
            " < ".join(told_apart(gain, 1.0)),
            breaks,
            "",
            "breaks_loop",
            True,
        ),
    ]
    advice = ""
    try:
        most = laws.largest_breaking_cap(timeout_slack, max_attempts)
    except laws.DomainError as error:
        fault = error.faults[0]
        advice = f" No cap would: {option(fault.field)} {fault.rule}."
        if breaks or math.isinf(max_attempts):
            advice = ""
    else:
        steps.append(
            Step("Largest cap that does, m·q_L < 1", "L", "", "", most, "attempts", "largest_breaking_cap")
        )
    return Calculation(
        "Queue cap",
        {
            "queue_cap": ("L", queue_cap),
            "timeout_slack": ("θ", timeout_slack),
            "max_attempts": ("m", max_attempts),
        },
        tuple(steps),
        _cap_meaning(late, max_attempts, breaks=breaks) + advice,
        f"{COLLAPSE_LAW} §6.5",
    )


def _cap_meaning(late: float, max_attempts: float, *, breaks: bool) -> str:
    most = f"At most {percent(late)} of what is admitted is late"
    attempts = counted(max_attempts, "attempts")
    if breaks:
        return (
            f"{most}, and with {attempts} per job that cannot sustain itself: overload "
            "sheds load and does not collapse."
        )
    if math.isinf(max_attempts):
        return f"{most}, and endless clients send it again for ever: no cap prevents the collapse."
    return f"{most}, and with {attempts} per job that feeds on itself: the cap does not prevent the collapse."


def drain_point(
    bucket: Annotated[
        Bucket,
        typer.Option("--bucket", help="aws: SDK retry quota; grpc: retry throttle; budget: retries per job."),
    ] = Bucket.AWS,
    retry_cost: Annotated[
        float | None, typer.Option("--retry-cost", help="aws: tokens a retry costs.  [default: 14]")
    ] = None,
    ratio: Annotated[
        float | None, typer.Option("--ratio", help="grpc: tokens a success gives.  [default: 0.1]")
    ] = None,
    budget: Annotated[
        float | None, typer.Option("--budget", help="budget: retries per first attempt.  [default: 0.1]")
    ] = None,
    max_attempts: Annotated[
        float | None, typer.Option("--max-attempts", help="aws, budget: attempts per job.  [default: 3]")
    ] = None,
) -> Calculation:
    """Failures from which a retry budget runs empty."""
    given = {"retry_cost": retry_cost, "ratio": ratio, "budget": budget, "max_attempts": max_attempts}
    takes = {
        Bucket.AWS: {"retry_cost", "max_attempts"},
        Bucket.GRPC: {"ratio"},
        Bucket.BUDGET: {"budget", "max_attempts"},
    }[bucket]
    unused = [
        Fault(option(field), f"does not go with --bucket {bucket.value}", value)
        for field, value in given.items()
        if value is not None and field not in takes
    ]
    if unused:
        raise faulty(unused)
    checked(**given)
    attempts = 3.0 if max_attempts is None else max_attempts
    if bucket is Bucket.AWS:
        return _aws(14.0 if retry_cost is None else retry_cost, attempts)
    if bucket is Bucket.GRPC:
        return _grpc(0.1 if ratio is None else ratio)
    return _budget(0.1 if budget is None else budget, attempts)


def _aws(cost: float, m: float) -> Calculation:
    from analysis import laws

    point = laws.aws_drain_point(cost, m)
    powers = "p² + … + p^m" if m != 3 else "p² + p³"
    return Calculation(
        "Drain point of the AWS retry quota",
        {"retry_cost": ("c", cost), "max_attempts": ("m", m)},
        (
            Step(
                "A first-try success earns 1 token, a retry costs c, a success refunds the last retry",
                "p",
                f"1 − p = c·({powers})",
                f"1 − p = {figure(cost)}·({powers})",
                point,
                key="drain_failure_probability",
                deduced=True,
            ),
            Step("Earned and spent per job there", "1 − p", "", "", 1.0 - point, "tokens"),
        ),
        _drained(point),
        "botocore retries/quota.py and retries/standard.py; derived in analysis/laws/drain_points.py",
    )


def _grpc(ratio: float) -> Calculation:
    from analysis import laws

    point = laws.grpc_drain_point(ratio)
    return Calculation(
        "Drain point of the gRPC retry throttle",
        {"ratio": ("r", ratio)},
        (
            Step(
                "A failed attempt takes 1 token, a success gives r",
                "p",
                "r/(1 + r)",
                f"{operand(ratio)}/(1 + {figure(ratio)})",
                point,
                key="drain_failure_probability",
            ),
        ),
        _drained(point),
        "gRPC proposal A6",
    )


def _budget(budget: float, m: float) -> Calculation:
    from analysis import laws

    point = laws.budget_drain_point(budget, m)
    root = "p + … + p^(m−1) = β" if math.isfinite(m) else "p/(1 − p) = β"
    return Calculation(
        "Where a retry budget begins to refuse",
        {"budget": ("β", budget), "max_attempts": ("m", m)},
        (
            Step(
                "As many retries are asked for as the budget allows",
                "p",
                root,
                "",
                point,
                deduced=True,
                key="drain_failure_probability",
            ),
        ),
        _drained(point),
        f"{DEMAND_DEBT}, Definition 8",
    )


def _drained(point: float) -> str:
    return (
        f"Above {percent(point)} failed attempts the budget runs empty and retries stop, which cuts the "
        "storm; below it every failure is retried."
    )
