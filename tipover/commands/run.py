"""``tipover run``: the live experiment, from a scenario to a verdict."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import ConfigurationError, ExitCode, Fault
from tipover.commands.options import JsonOption, ScenarioArgument, SeedOption, SpeedupOption

if TYPE_CHECKING:
    from tipover.live.progress import ProgressFeed

_BIND = "127.0.0.1:5557"
_WAIT_S = 60.0
_LONGEST_WAIT_S = 86_400.0
_MOST_WORKERS = 99
"""The number of a part's worker in the trace has two digits."""


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
    workers: Annotated[
        int | None,
        typer.Option("--workers", help="Let so many `tipover serve worker` started elsewhere make the load."),
    ] = None,
    bind: Annotated[
        str | None,
        typer.Option(
            "--bind", metavar="HOST:PORT", help="Where they come to.", show_default="127.0.0.1:5557"
        ),
    ] = None,
    wait_for_workers: Annotated[
        float | None,
        typer.Option("--wait-for-workers", help="Seconds to wait for them.", show_default="60"),
    ] = None,
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
    place = _check_workers(workers, bind, wait_for_workers, processes, metrics_port)

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
    options = RunOptions(
        processes,
        target,
        mode,
        tuple(allow_host or ()),
        locustfile,
        metrics_port,
        workers,
        place,
        _WAIT_S if wait_for_workers is None else wait_for_workers,
    )
    screen = error_console()
    minutes = experiment.live().duration_s / 60
    screen.print(f"{experiment.title} ({experiment.name}, {minutes:.1f} min)")
    with LiveView(experiment, screen) as view:
        watch = _with_workers(view, screen.print)
        record = run_experiment(experiment, directory, options, replace=replace, watch=watch)
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


def _check_workers(
    workers: int | None, bind: str | None, wait_s: float | None, processes: int, metrics_port: int | None
) -> tuple[str, int]:
    """Where workers come to; raises ``ConfigurationError`` if they cannot or are not wanted."""
    from tipover.live.meeting_place import fault_in_binding, meeting_place

    faults: list[Fault] = []
    host, port = meeting_place("--bind", bind or _BIND, faults)
    if workers is None:
        for option, value in (("--bind", bind), ("--wait-for-workers", wait_s)):
            if value is not None:
                faults.append(Fault(option, "goes with --workers", value))
    else:
        faults += _faults_in_company(workers, wait_s, processes, metrics_port)
        taken = fault_in_binding("--bind", host, port) if port else None
        faults += [taken] if taken else []
    if faults:
        raise ConfigurationError("the run cannot be started", faults)
    return host, port


def _faults_in_company(
    workers: int, wait_s: float | None, processes: int, metrics_port: int | None
) -> Iterator[Fault]:
    if not 1 <= workers <= _MOST_WORKERS:
        yield Fault("--workers", f"must be a whole number from 1 to {_MOST_WORKERS}", workers)
    if wait_s is not None and not 0 < wait_s <= _LONGEST_WAIT_S:
        yield Fault("--wait-for-workers", f"must be over 0 and at most {_LONGEST_WAIT_S:g} s", wait_s)
    if processes != 1:
        yield Fault("--processes", "does not go with --workers: start more workers", processes)
    if metrics_port is not None:
        yield Fault(
            "--metrics-port", "is each worker's own: tipover serve worker --metrics-port", metrics_port
        )


def _with_workers(watch: Callable[[ProgressFeed], None], say: Callable[[str], None]) -> Callable[..., None]:
    """The same watch, and a line whenever another number of workers is waited for."""
    said: tuple[int, int] | None = None

    def both(feed: ProgressFeed) -> None:
        nonlocal said
        if feed.gathering is not None and feed.gathering != said:
            said = here, wanted = feed.gathering
            say(f"waiting for {wanted - here} of {wanted} workers")
        watch(feed)

    return both
