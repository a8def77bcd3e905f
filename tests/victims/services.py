"""The services: gunicorn with Flask, Python's own HTTP server, and our own target."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.victims.processes import free_port, serving

_APP = "tests.victims.flask_app:app"
_HERE = Path(__file__).parent


@contextmanager
def gunicorn(
    log: Path,
    *,
    workers: int = 1,
    threads: int = 1,
    work_s: float = 0.005,
    kind: str = "fixed",
    backlog: int = 2048,
) -> Iterator[str]:
    """gunicorn with Flask; more than one thread makes it a ``gthread`` worker."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "gunicorn",
        "--chdir",
        str(_HERE.parent.parent),
        "-b",
        f"127.0.0.1:{port}",
    ]
    command += [
        "-w",
        str(workers),
        "--threads",
        str(threads),
        "--backlog",
        str(backlog),
        "--log-level",
        "warning",
    ]
    command += ["--timeout", "120", "--no-control-socket", _APP]
    with serving(command, port, log, {"WORK_S": str(work_s), "WORK_KIND": kind}) as url:
        yield url


@contextmanager
def single_threaded(log: Path, *, work_s: float = 0.005, backlog: int = 2048) -> Iterator[str]:
    """``http.server.HTTPServer``: one request at a time; ``backlog`` wait in the kernel's queue."""
    port = free_port()
    command = [sys.executable, str(_HERE / "plain_server.py"), str(port), str(work_s), str(backlog)]
    with serving(command, port, log) as url:
        yield url


@contextmanager
def own_target(log: Path, *options: str) -> Iterator[str]:
    """``tipover serve target`` with these options."""
    port = free_port()
    command = [sys.executable, "-m", "tipover", "serve", "target", "--port", str(port), *options]
    with serving(command, port, log) as url:
        yield url
