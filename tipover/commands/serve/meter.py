"""``tipover serve meter``: counts first attempts and ingress at the edge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from domain.recognition import Recognition


def serve_meter(
    upstream: Annotated[
        list[str] | None,
        typer.Option("--upstream", metavar="URL", help="http://HOST[:PORT] to pass requests to; repeatable."),
    ] = None,
    tail: Annotated[
        list[str] | None,
        typer.Option(
            "--tail", metavar="FILE", help="No proxy: count an access log; - for stdin; repeatable."
        ),
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option("--format", help="Of its lines: auto, json, haproxy, envoy.", show_default="auto"),
    ] = None,
    from_start: Annotated[bool, typer.Option("--from-start", help="Count what the log has already.")] = False,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="Port to listen on; 0 for any free one.")] = 8081,
    admin_host: Annotated[
        str | None,
        typer.Option("--admin-host", help="Address of the meter's own pages.", show_default="--host"),
    ] = None,
    admin_port: Annotated[
        int, typer.Option("--admin-port", help="Port of /metrics, /healthz, /readyz and /state.")
    ] = 8082,
    convention: Annotated[
        str, typer.Option("--convention", help="any, ours, aws, envoy, grpc, stainless or id; docs/meter.md.")
    ] = "any",
    id_header: Annotated[
        list[str] | None,
        typer.Option(
            "--id-header",
            help="Header with an id that retries share; repeatable, in order.",
            show_default="Idempotency-Key, X-Request-Id",
        ),
    ] = None,
    id_capacity: Annotated[int, typer.Option("--id-capacity", help="Most ids remembered.")] = 1_000_000,
    id_expiry: Annotated[float, typer.Option("--id-expiry", help="Seconds for which an id is.")] = 300.0,
    by_route: Annotated[
        bool, typer.Option("--by-route", help="Count by the path's first segment as well.")
    ] = False,
    count: Annotated[
        list[str] | None,
        typer.Option("--count", metavar="PREFIX", help="Count these paths only; repeatable."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="PREFIX", help="Do not count these paths; repeatable."),
    ] = None,
    balance: Annotated[
        str, typer.Option("--balance", help="round-robin, least-outstanding or random.")
    ] = "round-robin",
    resolve_every: Annotated[
        float, typer.Option("--resolve-every", help="Seconds between look-ups of upstreams' names.")
    ] = 1.0,
    rewrite_host: Annotated[
        bool, typer.Option("--rewrite-host", help="Send the upstream's Host instead of the client's.")
    ] = False,
    via: Annotated[bool, typer.Option("--via/--no-via", help="Add a Via header to requests.")] = True,
    forwarded: Annotated[
        str,
        typer.Option("--forwarded", help="Tell upstreams the client: x-forwarded-for, forwarded or none."),
    ] = "none",
    upstream_timeout: Annotated[
        float | None,
        typer.Option("--upstream-timeout", help="Longest silence of an upstream, s.", show_default="none"),
    ] = None,
    client_timeout: Annotated[
        float, typer.Option("--client-timeout", help="Longest idleness of a client, s.")
    ] = 60.0,
    cancel_upstream: Annotated[
        bool, typer.Option("--cancel-upstream", help="Hang up on an upstream when the client does.")
    ] = False,
    max_outstanding: Annotated[
        int | None,
        typer.Option(
            "--max-outstanding",
            help="Exchanges at once, above which the meter says 503.",
            show_default="by descriptors",
        ),
    ] = None,
    announce: Annotated[
        bool, typer.Option("--announce", "--json", help="Say where it listens as a line of JSON.")
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.", hidden=True)
    ] = False,
) -> None:
    """Count first attempts and retries, at the edge of a service.

    Until SIGTERM or Ctrl-C; see docs/meter.md.
    """
    from domain.errors import ConfigurationError, Fault
    from domain.sightings import Sightings

    if tail:
        _serve_tail(
            tail,
            upstream,
            log_format or "auto",
            admin_host or host,
            admin_port,
            _recognition(convention, id_header),
            Sightings(id_capacity, id_expiry),
            count=tuple(count or ()),
            ignore=tuple(ignore or ()),
            by_route=by_route,
            from_start=from_start,
            announce=announce,
            stop_with_stdin=stop_with_stdin,
        )
        return
    if log_format is not None or from_start:
        faults = [Fault("--format, --from-start", "go with --tail", None)]
        raise ConfigurationError("the meter cannot be started", faults)

    from meter.counting import AttemptCounts
    from meter.edge import EdgeCounter
    from meter.proxy.server import run_proxy
    from meter.proxy.settings import ProxySettings, parse_origin
    from tipover.version import VERSION

    settings = ProxySettings(
        upstreams=tuple(parse_origin(url) for url in upstream or ()),
        host=host,
        port=port,
        balance=balance,  # type: ignore[arg-type]  # checked by the settings
        rewrite_host=rewrite_host,
        via=via,
        forwarded=forwarded,  # type: ignore[arg-type]  # checked by the settings
        upstream_timeout_s=upstream_timeout,
        client_timeout_s=client_timeout,
        cancel_upstream=cancel_upstream,
        max_outstanding=max_outstanding,
        resolve_every_s=resolve_every,
        count=tuple(count or ()),
        ignore=tuple(ignore or ()),
    )
    recognition, sightings = _recognition(convention, id_header), Sightings(id_capacity, id_expiry)
    edge = EdgeCounter(recognition, sightings, AttemptCounts(), by_route)

    def ready(bound_host: str, bound_port: int, admin: int) -> None:
        url = f"http://{bound_host}:{bound_port}"
        pages = f"http://{admin_host or bound_host}:{admin}"
        if announce:
            print(json.dumps({"url": url, "admin_url": pages}), flush=True)
        else:
            behind = ", ".join(origin.authority for origin in settings.upstreams)
            print(f"{url} → {behind}  (pages: {pages}/metrics, /state)", file=sys.stderr)

    if stop_with_stdin:
        from tipover.commands.serve.stopping import stop_with_stdin as begin

        begin()
    run_proxy(
        settings,
        edge,
        ready=ready,
        version=VERSION,
        admin_host=admin_host or host,
        admin_port=admin_port,
    )


def _recognition(convention: str, id_headers: list[str] | None) -> Recognition:
    from domain.recognition import DEFAULT_ID_HEADERS, Recognition

    names = DEFAULT_ID_HEADERS if not id_headers else tuple(id_headers)
    return Recognition(convention, names)  # type: ignore[arg-type]  # checked there


def _serve_tail(
    paths: list[str], upstream: list[str] | None, *arguments: Any, stop_with_stdin: bool, **options: Any
) -> None:
    from domain.errors import ConfigurationError, Fault
    from tipover.commands.serve.meter_tail import serve_tail

    faults = []
    if upstream:
        faults.append(Fault("--upstream", "is for the proxy; do not give it with --tail", upstream[0]))
    if stop_with_stdin and "-" in paths:
        faults.append(Fault("--stop-with-stdin", "does not go with a log on standard input", None))
    if faults:
        raise ConfigurationError("the meter cannot be started", faults)
    if stop_with_stdin:
        from tipover.commands.serve.stopping import stop_with_stdin as begin

        begin()
    serve_tail([Path(path) for path in paths], *arguments, **options)
