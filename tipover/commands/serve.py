"""``tipover serve``: one part on its own."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from typing import TYPE_CHECKING, Annotated

import typer

from domain.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    from domain.service_time import ServiceTime, ServiceTimeKind


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(help="Start one part on its own.", rich_markup_mode=None, no_args_is_help=True)
    group.command("target")(serve_target)
    app.add_typer(group, name="serve")


def serve_target(
    pods: Annotated[int, typer.Option("--pods", help="Servers behind the one queue.")] = 4,
    rate_per_pod: Annotated[float, typer.Option("--rate-per-pod", help="Attempts/s of one pod.")] = 40.0,
    service_time: Annotated[
        str, typer.Option("--service-time", help="Distribution of service times; see docs/scenarios.md.")
    ] = "exponential",
    shape: Annotated[
        float | None, typer.Option("--shape", help="Its shape, for kinds that have one.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the service times.")] = 1,
    mode: Annotated[str, typer.Option("--mode", help="sleep, or spin to burn CPU instead.")] = "sleep",
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 for any free one.")] = 8080,
    announce: Annotated[
        bool, typer.Option("--announce", "--json", help="Say where it listens as a line of JSON.")
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.", hidden=True)
    ] = False,
) -> None:
    """Serve /work from one FIFO queue, until SIGTERM or Ctrl-C."""
    from prometheus_client import CollectorRegistry

    from meter.counting import AttemptCounts
    from meter.exporter import ServerPage
    from target_service.server import run_target
    from target_service.settings import TargetSettings
    from tipover.version import VERSION

    settings = TargetSettings(
        pods=pods,
        rate_per_pod=rate_per_pod,
        service_time=_service_time(service_time, shape),  # type: ignore[arg-type]  # checked there
        seed=seed,
        mode=mode,  # type: ignore[arg-type]  # checked by the settings
        host=host,
        port=port,
    )

    def ready(bound_host: str, bound_port: int) -> None:
        url = f"http://{bound_host}:{bound_port}"
        if announce:
            print(json.dumps({"url": url}), flush=True)
        else:
            print(
                f"{url}/work  ({pods} pods × {rate_per_pod:g}/s, {mode}; /state, /metrics)", file=sys.stderr
            )

    if stop_with_stdin:
        threading.Thread(target=_stop_at_end_of_stdin, name="stdin", daemon=True).start()
    counts = AttemptCounts()
    run_target(
        settings, ready=ready, observer=counts, metrics=ServerPage(CollectorRegistry(), counts, VERSION)
    )


def _service_time(kind: ServiceTimeKind, shape: float | None) -> ServiceTime:
    from domain.service_time import KINDS, SHAPE_RULES, ServiceTime, shape_is_valid

    if kind not in KINDS:
        fault = Fault("--service-time", f"must be one of {', '.join(KINDS)}", kind)
        raise ConfigurationError("the target cannot be started", [fault])
    if shape is not None and not (kind in SHAPE_RULES and shape_is_valid(kind, shape)):
        rule = f"must be {SHAPE_RULES[kind]}" if kind in SHAPE_RULES else f"does not go with {kind}"
        raise ConfigurationError("the target cannot be started", [Fault("--shape", rule, shape)])
    return ServiceTime(kind, shape)


def _stop_at_end_of_stdin() -> None:
    # Raw reads: a thread inside a buffered one would hold a lock that the interpreter needs at exit.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
