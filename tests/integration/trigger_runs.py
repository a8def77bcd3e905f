"""Trigger tests as their users start them, services to push, and what such a test leaves behind."""

from __future__ import annotations

import contextlib
import http.client
import json
import queue
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pyarrow.parquet as pq

from tests import servers
from tests.integration.commands import none_left, started, wait_until
from tests.servers import Behaviour, Conversation, ServerLog, serving

WORK = b"/work"
"""Part of every request of the load; what a test asks itself goes elsewhere."""
SERVICE_S = 0.007
TRAP = ("--timeout", ".25", "--attempts", "3", "--utilization", ".6")
CAPACITY = ("--capacity", "140")
"""Aρ = 1.8 at one worker with ``SERVICE_S`` (143/s): the service is caught after the spike."""
STOPS_WITHIN_S = 1.0
GONE_WITHIN_S = 3.0


@dataclass
class Service:
    """A service under test, and what it has seen of the load."""

    log: ServerLog

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.log.port}"

    def load(self) -> list[float]:
        """When the requests of the load came."""
        return [at for at, head in list(self.log.requests) if WORK in head.partition(b"\r\n")[0]]

    def is_well(self) -> bool:
        """Whether five requests in a row are answered, each within a second."""
        return all(_asked(self.log.port) == 200 for _ in range(5))


def _asked(port: int) -> int | None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", "/well")
        return connection.getresponse().status
    except OSError:
        return None
    finally:
        connection.close()


@contextmanager
def one_worker(answer: Callable[[int], bytes] = lambda _number: servers.OK) -> Iterator[Service]:
    """One worker with an endless queue in arrival order, which also works for clients that have gone.

    ``answer`` says what the worker's request of this number (from 0) is answered.
    """
    waiting: queue.SimpleQueue[tuple[threading.Event, list[bytes]] | None] = queue.SimpleQueue()

    def work() -> None:
        number, free_s = 0, 0.0
        while (job := waiting.get()) is not None:
            free_s = max(free_s, time.monotonic()) + SERVICE_S
            time.sleep(max(0.0, free_s - time.monotonic()))
            done, given = job
            given.append(answer(number))
            number += 1
            done.set()

    def queueing(talk: Conversation) -> None:
        while talk.read_request() is not None:
            done, given = threading.Event(), list[bytes]()
            waiting.put((done, given))
            while not done.wait(1):
                if talk.over.is_set():
                    return
            talk.send(given[0])

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    try:
        with serving(queueing) as log:
            yield Service(log)
    finally:
        waiting.put(None)


@contextmanager
def serving_as(behaviour: Behaviour) -> Iterator[Service]:
    """A service that behaves so."""
    with serving(behaviour) as log:
        yield Service(log)


@dataclass
class TriggerRun:
    """A started ``tipover trigger``."""

    out: Path
    process: subprocess.Popen[str]
    output: str = ""

    def lines(self, kind: str) -> list[dict[str, Any]]:
        """The recorded lines of this kind so far."""
        try:
            text = (self.out / "trigger-lines.jsonl").read_text()
        except FileNotFoundError:
            return []
        whole = text[: text.rfind("\n") + 1].splitlines()
        return [found for found in map(json.loads, whole) if found["kind"] == kind]

    def generator(self) -> psutil.Process | None:
        """The process that sends; None while there is none."""
        with contextlib.suppress(psutil.NoSuchProcess):
            for child in psutil.Process(self.process.pid).children(recursive=True):
                if "--trigger-plan" in child.cmdline():
                    return child
        return None

    def wait_for(self, phase: str) -> None:
        """Return once the generator has begun this phase; "start": once it is there at all."""

        def begun() -> bool:
            ended = self.process.poll() is not None
            if phase == "start" and self.generator() is not None:
                return True
            if any(line["command"].get("phase") == phase for line in self.lines("obeyed")):
                return True
            assert not ended, f"ended before {phase}: {self.process.communicate()}"
            return False

        wait_until(begun, f"the phase {phase} begins")

    def processes(self) -> list[psutil.Process]:
        """The harness and everything it started."""
        harness = psutil.Process(self.process.pid)
        return [harness, *harness.children(recursive=True)]

    def ended(self, within_s: float = 30) -> int:
        """Its exit status, once it has ended; ``output`` is what it has printed then."""
        out, err = self.process.communicate(timeout=within_s)
        self.output = out + err
        return self.process.returncode

    def attempts(self) -> int:
        """Attempts in the trace (rows without ``outcome`` are the ends of jobs); fails if a part of it cannot
        be read."""
        parts = [pq.read_table(path)["outcome"] for path in sorted(self.out.glob("attempts/*.parquet"))]
        return sum(len(part) - part.null_count for part in parts)

    def json(self, name: str = "trigger.json") -> dict[str, Any]:
        """A file of the run directory."""
        found: dict[str, Any] = json.loads((self.out / name).read_text())
        return found


@contextmanager
def triggered(
    folder: Path, url: str, *options: str | Path, path: str = WORK.decode(), within: Sequence[str] = ()
) -> Iterator[TriggerRun]:
    """``tipover trigger`` in ``folder``, into ``folder/run``, with nobody at a terminal; ``url`` "": it is in
    the options."""
    out = folder / "run"
    where = ("--url", url, "--path", path) if url else ()
    command = ("-m", "tipover", "trigger", *where, "--out", out, *options)
    with started(*command, cwd=folder, within=within, stdin=subprocess.DEVNULL) as process:
        yield TriggerRun(out, process)


def assert_load_over(service: Service, stopped_s: float, within_s: float = STOPS_WITHIN_S) -> None:
    """No request of the load came later than this, and none comes in the time after it."""
    time.sleep(max(0.0, stopped_s + within_s + 1.0 - time.monotonic()))
    late = [at - stopped_s for at in service.load() if at > stopped_s + within_s]
    assert not late, f"{len(late)} requests came {late[0]:.2f} s and more after the stop"


def assert_gone(processes: list[psutil.Process], since_s: float, within_s: float = GONE_WITHIN_S) -> None:
    """None of these processes is left in time."""
    left_s = max(0.1, since_s + within_s - time.monotonic())
    wait_until(lambda: none_left(processes), f"the processes are gone: {processes}", left_s)
