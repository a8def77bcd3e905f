"""Options that several calculations take. An option is called after the law's field, units included."""

from __future__ import annotations

from typing import Annotated

import typer

ArrivalRateOption = Annotated[
    float, typer.Option("--arrival-rate-per-s", help="λ: jobs per second, first attempts only.")
]
AttemptsOption = Annotated[
    float,
    typer.Option("--max-attempts", help="m: attempts a job may make, the first included; inf for no limit."),
]
AmplificationOption = Annotated[
    float | None,
    typer.Option("--amplification", help="A: attempts a job costs when every attempt fails."),
]
AttemptsOrNone = Annotated[
    float | None, typer.Option("--max-attempts", help="Instead of A: attempts a job may make in all.")
]
BudgetOrNone = Annotated[
    float | None, typer.Option("--budget", help="Instead of A: retries allowed per first attempt, as 0.2.")
]
FailureOption = Annotated[
    float, typer.Option("--failure-probability", help="p: probability that one attempt fails.")
]
SlackOption = Annotated[
    float,
    typer.Option(
        "--timeout-slack",
        help="θ = C·T: the timeout in mean service times of the whole service (pods × rate per pod × T).",
    ),
]
SpikeDurationOption = Annotated[
    float, typer.Option("--spike-duration-s", help="Δ: length of the spike, seconds.")
]
SpikeFactorOption = Annotated[float, typer.Option("--spike-factor", help="k: demand is multiplied by this.")]
TimeoutOption = Annotated[float, typer.Option("--timeout-s", help="T: deadline of one attempt, seconds.")]
UtilizationOption = Annotated[
    float, typer.Option("--utilization", help="ρ = λ/C: first attempts over capacity.")
]
