"""``tipover serve meter --tail``: the counts of the proxy from access logs, without a proxy."""

from __future__ import annotations

import json
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from domain.errors import ConfigurationError, Fault

if TYPE_CHECKING:
    from domain.recognition import Recognition
    from domain.sightings import Sightings
    from meter.access_log.tail import LogTail
    from meter.edge import EdgeCounter
    from meter.page_server import Page

POLL_S = 0.1


def serve_tail(
    paths: list[Path],
    kind: str,
    host: str,
    admin_port: int,
    recognition: Recognition,
    sightings: Sightings,
    *,
    count: tuple[str, ...] = (),
    ignore: tuple[str, ...] = (),
    by_route: bool = False,
    from_start: bool = False,
    announce: bool = False,
) -> None:
    """Follow the logs at ``paths`` (``-``: standard input), whose lines are of ``kind`` (one of
    ``meter.access_log.line.FORMATS``), and serve the counts on ``host:admin_port`` until SIGTERM or SIGINT.

    ``count`` and ``ignore`` are prefixes of the paths that count and that do not. Raises ConfigurationError,
    with every fault, before anything is read.
    """
    from meter.access_log.exporter import LogLinesCollector
    from meter.access_log.line import reader
    from meter.access_log.tail import LogTail, sources_of
    from meter.counting import AttemptCounts
    from meter.edge import EdgeCounter
    from meter.edge_pages import edge_registry
    from meter.page_server import MetricsServer
    from tipover.version import VERSION

    _check(paths, kind, count, ignore)
    counter = EdgeCounter(recognition, sightings, AttemptCounts(), by_route)
    tail = LogTail(
        sources_of(paths, from_start=from_start),
        reader(kind),
        counter,
        covers=_covering(count, ignore),
        complain=lambda sentence: print(f"tipover: {sentence}", file=sys.stderr),
    )
    registry = edge_registry(counter, VERSION)
    registry.register(LogLinesCollector(tail.lines))
    stop = _until_signalled()
    server = MetricsServer(registry, host, admin_port, pages=_pages(tail, counter))
    try:
        _say_where(f"http://{host}:{server.port}", paths, announce)
        while not stop():
            if not tail.poll(time.monotonic()):
                time.sleep(POLL_S)
    finally:
        server.close()
        tail.close()


def _check(paths: Sequence[Path], kind: str, count: Sequence[str], ignore: Sequence[str]) -> None:
    from meter.access_log.line import FORMATS

    faults = []
    if kind not in FORMATS:
        faults.append(Fault("--format", f"must be one of {', '.join(FORMATS)}", kind))
    twice = sorted({str(path) for path in paths if list(paths).count(path) > 1})
    faults += [Fault("--tail", "must not be given twice", path) for path in twice]
    for option, prefixes in (("--count", count), ("--ignore", ignore)):
        faults += [Fault(option, "must begin with /", prefix) for prefix in prefixes if prefix[:1] != "/"]
    if faults:
        raise ConfigurationError("the meter cannot be started", faults)


def _covering(count: tuple[str, ...], ignore: tuple[str, ...]) -> Callable[[str], bool]:
    def covers(path: str) -> bool:
        return not path.startswith(ignore) and (not count or path.startswith(count))

    return covers


def _until_signalled() -> Callable[[], bool]:
    """Whether SIGTERM or SIGINT has come since."""
    signals: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: signals.append(got))
    return lambda: bool(signals)


def _pages(tail: LogTail, counter: EdgeCounter) -> dict[str, Page]:
    from meter.edge_pages import edge_state

    def state() -> tuple[int, str, bytes]:
        routes = {route: list(row) for route, row in dict(counter.routes).items()}
        body = {**edge_state(counter), "routes": routes, "lines": dict(tail.lines)}
        return 200, "application/json", json.dumps(body).encode()

    def ready() -> tuple[int, str, bytes]:
        return (200, "text/plain", b"ready\n") if tail.ready else (503, "text/plain", b"a log is missing\n")

    return {"/healthz": lambda: (200, "text/plain", b"ok\n"), "/readyz": ready, "/state": state}


def _say_where(url: str, paths: Sequence[Path], announce: bool) -> None:
    if announce:
        print(json.dumps({"url": url, "admin_url": url}), flush=True)
    else:
        print(f"{url}/metrics  (from {', '.join(map(str, paths))}; /state)", file=sys.stderr)
