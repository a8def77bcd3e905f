"""``tipover serve target``: the service that is tipped over."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from domain.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    from domain.admission import Admission
    from domain.service_time import ServiceTime, ServiceTimeKind


def serve_target(
    pods: Annotated[int, typer.Option("--pods", help="Servers it begins with; see PUT /scale.")] = 4,
    rate_per_pod: Annotated[float, typer.Option("--rate-per-pod", help="Attempts/s of one pod.")] = 40.0,
    service_time: Annotated[
        str, typer.Option("--service-time", help="Distribution of service times; see docs/scenarios.md.")
    ] = "exponential",
    shape: Annotated[
        float | None, typer.Option("--shape", help="Its shape, for kinds that have one.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the service times.")] = 1,
    mode: Annotated[str, typer.Option("--mode", help="sleep, or spin to burn CPU instead.")] = "sleep",
    dead_time: Annotated[
        float,
        typer.Option("--dead-time", help="Seconds until a pod serves that PUT /scale has ordered."),
    ] = 0.0,
    routing: Annotated[
        str,
        typer.Option(
            "--routing",
            metavar="KIND",
            help="shared: one queue for all pods; or a queue each: round-robin, random, shortest-queue.",
        ),
    ] = "shared",
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 for any free one.")] = 8080,
    discipline: Annotated[
        str | None, typer.Option("--discipline", help="fifo, lifo or adaptive-lifo.", show_default="fifo")
    ] = None,
    standing: Annotated[
        int | None,
        typer.Option(
            "--standing", help="Attempts above which an adaptive queue is newest first.", show_default="pods"
        ),
    ] = None,
    queue_cap: Annotated[
        int | None, typer.Option("--queue-cap", help="At most so many wait; a further one gets 503.")
    ] = None,
    drop_expired: Annotated[
        bool, typer.Option("--drop-expired", help="Serve nothing past its X-Deadline or grpc-timeout.")
    ] = False,
    least_s: Annotated[
        float | None, typer.Option("--least-s", help="Nor what has so many seconds left.")
    ] = None,
    cancel_on_disconnect: Annotated[
        bool, typer.Option("--cancel-on-disconnect", help="Forget what waits when its client hangs up.")
    ] = False,
    first_before_retry: Annotated[
        bool, typer.Option("--first-before-retry", help="A first attempt takes the place of a retry.")
    ] = False,
    codel: Annotated[
        str | None, typer.Option("--codel", metavar="TARGET:INTERVAL", help="Shed by CoDel; seconds.")
    ] = None,
    limit: Annotated[
        str | None, typer.Option("--limit", metavar="KIND", help="Concurrency limit; see docs/scenarios.md.")
    ] = None,
    degradation: Annotated[
        str | None,
        typer.Option(
            "--degradation", metavar="HALF:FLOOR", help="Slow down with the number in the system, to a floor."
        ),
    ] = None,
    retry_after: Annotated[
        float | None, typer.Option("--retry-after", help="Seconds that a 503 tells the client to wait.")
    ] = None,
    error_rate: Annotated[
        float | None, typer.Option("--error-rate", help="Share of answers that are 500, though served.")
    ] = None,
    admission: Annotated[
        str | None,
        typer.Option("--admission", metavar="JSON", help="All of these at once, as /state shows them."),
    ] = None,
    announce: Annotated[
        bool, typer.Option("--announce", "--json", help="Say where it listens as a line of JSON.")
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.", hidden=True)
    ] = False,
) -> None:
    """Serve /work, from one queue or from one a pod, until SIGTERM."""
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
        dead_time_s=dead_time,
        routing=routing,  # type: ignore[arg-type]  # likewise
        host=host,
        port=port,
        admission=_admission(
            admission,
            {
                "discipline": discipline,
                "standing": standing,
                "queue_cap": queue_cap,
                "drop_expired": drop_expired or None,
                "least_s": least_s,
                "cancel_on_disconnect": cancel_on_disconnect or None,
                "first_before_retry": first_before_retry or None,
                "codel": _pair("--codel", codel, "target_s", "interval_s"),
                "limit": None if limit is None else {"kind": limit},
                "degradation": _pair("--degradation", degradation, "half_queue", "floor"),
                "retry_after_s": retry_after,
                "error_rate": error_rate,
            },
        ),
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
        from tipover.commands.serve.stopping import stop_with_stdin as begin

        begin()
    counts = AttemptCounts()
    run_target(
        settings, ready=ready, observer=counts, metrics=ServerPage(CollectorRegistry(), counts, VERSION)
    )


def _admission(text: str | None, options: dict[str, Any]) -> Admission:
    """The defences, from one option that has all of them or from those that are given (not None)."""
    from domain.experiment_json import admission_from_json

    given = {name: value for name, value in options.items() if value is not None}
    if text is None:
        faults = list(_idle_options(given))
        try:
            made = admission_from_json(given)
        except ConfigurationError as error:
            faults += [_of_option(fault, given) for fault in error.faults]
        if faults:
            raise ConfigurationError("the target cannot be started", faults)
        return made
    if given:
        rule = f"has all defences; do not give {', '.join(given)} besides"
        raise ConfigurationError("the target cannot be started", [Fault("--admission", rule, text)])
    try:
        return admission_from_json(json.loads(text))
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no JSONDecodeError
        faults = [Fault("--admission", "must be JSON", text)]
        raise ConfigurationError("the target cannot be started", faults) from error


def _idle_options(given: Mapping[str, Any]) -> Iterator[Fault]:
    """Options that change nothing without another one."""
    if "standing" in given and given.get("discipline") != "adaptive-lifo":
        yield Fault("--standing", "goes with --discipline adaptive-lifo", given["standing"])
    if "least_s" in given and "drop_expired" not in given:
        yield Fault("--least-s", "needs --drop-expired", given["least_s"])
    if "retry_after_s" in given and not {"queue_cap", "limit", "codel"} & set(given):
        rule = "needs something that answers 503: --queue-cap, --limit or --codel"
        yield Fault("--retry-after", rule, given["retry_after_s"])


def _of_option(fault: Fault, given: Mapping[str, Any]) -> Fault:
    """The fault in the words of whoever gave options: ``admission.queue_cap`` is ``--queue-cap``."""
    place, rule = fault.field.split(".")[1:], fault.rule
    said = re.fullmatch(r"(\w+): (.*?) \(got .*\)", rule)
    if said is not None:  # a value of the domain, which names its own field
        place, rule = [*place, said[1]], said[2]
    name = place[0]
    option = "--retry-after" if name == "retry_after_s" else f"--{name.replace('_', '-')}"
    rule = ": ".join([*(inner for inner in place[1:] if inner != "kind"), rule])
    value = given.get(name, fault.value)
    return Fault(option, rule, ":".join(map(str, value.values())) if isinstance(value, dict) else value)


def _pair(option: str, text: str | None, first: str, second: str) -> dict[str, float] | None:
    """Two numbers with a colon between them, by name."""
    if text is None:
        return None
    try:
        left, right = map(float, text.split(":"))
    except ValueError as error:
        faults = [Fault(option, "must be two numbers with a colon between them", text)]
        raise ConfigurationError("the target cannot be started", faults) from error
    return {first: left, second: right}


def _service_time(kind: ServiceTimeKind, shape: float | None) -> ServiceTime:
    from domain.service_time import KINDS, SHAPE_RULES, ServiceTime, shape_is_valid

    if kind not in KINDS:
        fault = Fault("--service-time", f"must be one of {', '.join(KINDS)}", kind)
        raise ConfigurationError("the target cannot be started", [fault])
    if shape is not None and not (kind in SHAPE_RULES and shape_is_valid(kind, shape)):
        rule = f"must be {SHAPE_RULES[kind]}" if kind in SHAPE_RULES else f"does not go with {kind}"
        raise ConfigurationError("the target cannot be started", [Fault("--shape", rule, shape)])
    return ServiceTime(kind, shape)
