"""``tipover serve worker``: a generator that stands by for masters elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def serve_worker(
    master: Annotated[
        str, typer.Option("--master", metavar="HOST:PORT", help="Where the master is or will be.")
    ] = "127.0.0.1:5557",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host", help="A host or address other than loopback that masters may have loaded."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", help="Write traces below this directory only.  [default: where the master does]"
        ),
    ] = None,
    locustfile: Annotated[
        Path | None, typer.Option("--locustfile", help="A locustfile with a StormUser of your own.")
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option("--metrics-port", help="Serve Prometheus metrics here while there is a master."),
    ] = None,
    host: Annotated[str, typer.Option("--host", help="Address to serve the metrics on.")] = "127.0.0.1",
    announce: Annotated[
        bool, typer.Option("--announce", "--json", help="Say what it does as lines of JSON.")
    ] = False,
    stop_with_stdin: Annotated[
        bool, typer.Option("--stop-with-stdin", help="Stop when standard input ends.", hidden=True)
    ] = False,
) -> int:
    """Make a share of the load for masters elsewhere.

    One master after another, one run after another, until SIGTERM or Ctrl-C.
    """
    from domain.errors import ConfigurationError, Fault
    from tipover.live.meeting_place import meeting_place
    from tipover.live.worker_host import WorkerHost, WorkerOptions

    faults: list[Fault] = []
    place = meeting_place("--master", master, faults)
    if locustfile is not None and not locustfile.is_file():
        faults.append(Fault("--locustfile", "must be a file", str(locustfile)))
    if out is not None and not out.is_dir():
        faults.append(Fault("--out", "must be a directory, the one that the master writes in", str(out)))
    if metrics_port is not None and not 1 <= metrics_port <= 65535:
        faults.append(Fault("--metrics-port", "must be a port number from 1 to 65535", metrics_port))
    if faults:
        raise ConfigurationError("the worker cannot be started", faults)

    def say(state: str, words: str) -> None:
        if announce:
            print(json.dumps({"state": state, "master": master}), flush=True)
        else:
            print(words, file=sys.stderr, flush=True)

    if stop_with_stdin:
        from tipover.commands.serve.stopping import stop_with_stdin as begin

        begin()
    options = WorkerOptions(*place, tuple(allow_host or ()), out, locustfile, host, metrics_port)
    return WorkerHost(options, say).serve()
