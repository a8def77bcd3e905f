"""Arguments and options that several commands take, so that they read the same everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

ScenarioArgument = Annotated[
    str, typer.Argument(help="A built-in scenario (see `tipover list`) or a TOML file.", show_default=False)
]
SpeedupOption = Annotated[
    float | None,
    typer.Option("--speedup", help="Divide every duration by this instead of the scenario's own."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", help="Seed of the random streams.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, errors included.")]
