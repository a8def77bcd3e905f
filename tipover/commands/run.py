"""``tipover run``: the live experiment, from a scenario to a verdict."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from domain.errors import ConfigurationError, ExitCode, Fault
from tipover.commands.options import JsonOption, ScenarioArgument, SeedOption, SpeedupOption


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run_scenario)


def run_scenario(
    scenario: ScenarioArgument,
    out: Annotated[
        Path | None, typer.Option("--out", help="Run directory to make.  [default: runs/NAME-TIME]")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the run that --out holds.")] = False,
    speedup: SpeedupOption = None,
    seed: SeedOption = None,
    processes: Annotated[
        int, typer.Option("--processes", help="Generator processes that share the load.")
    ] = 1,
    target: Annotated[
        str | None, typer.Option("--target", help="Base URL of a running service instead of our own.")
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", help="How our own service works: sleep or spin (burns CPU).")
    ] = "sleep",
    allow_host: Annotated[
        list[str] | None,
        typer.Option("--allow-host", help="A host or address other than loopback that may be loaded."),
    ] = None,
    locustfile: Annotated[
        Path | None, typer.Option("--locustfile", help="A locustfile with a StormUser of your own.")
    ] = None,
    metrics_port: Annotated[
        int | None, typer.Option("--metrics-port", help="Serve the generator's Prometheus metrics here.")
    ] = None,
    as_json: JsonOption = False,
) -> ExitCode:
    """Run a scenario on real sockets and judge what happens."""
    _check(processes, mode, locustfile)

    from analysis.prediction import predict
    from tipover.commands.output import console, error_console
    from tipover.live.conductor import RunOptions, run_experiment
    from tipover.live.record import default_directory
    from tipover.live.view import LiveView
    from tipover.scenario import load_scenario
    from tipover.verdict import exit_code, publish, show

    experiment = load_scenario(scenario, speedup=speedup, seed=seed, need_service=target is None)
    predict(experiment)  # refuses what could not be judged afterwards, before anything is started
    directory = out or default_directory(experiment.name)
    options = RunOptions(processes, target, mode, tuple(allow_host or ()), locustfile, metrics_port)
    screen = error_console()
    minutes = experiment.live().duration_s / 60
    screen.print(f"{experiment.title} ({experiment.name}, {minutes:.1f} min)")
    with LiveView(experiment, screen) as view:
        record = run_experiment(experiment, directory, options, replace=replace, watch=view)
    for fault in record.facts["harness_faults"]:
        screen.print(f"tipover: {fault}", style="red")
    result = publish(directory, screen)
    code = ExitCode.INTERRUPTED if record.facts["state"] == "interrupted" else exit_code(result)
    show(result, code, as_json=as_json, out=console())
    return code


def _check(processes: int, mode: str, locustfile: Path | None) -> None:
    faults = []
    if processes < 1:
        faults.append(Fault("--processes", "must be at least 1", processes))
    most = max(2, os.cpu_count() or 1)
    if processes > most:
        faults.append(Fault("--processes", f"must be at most the machine's {most} cores", processes))
    if mode not in {"sleep", "spin"}:
        faults.append(Fault("--mode", "must be sleep or spin", mode))
    if locustfile is not None and not locustfile.is_file():
        faults.append(Fault("--locustfile", "must be a file", str(locustfile)))
    if faults:
        raise ConfigurationError("the run cannot be started", faults)
