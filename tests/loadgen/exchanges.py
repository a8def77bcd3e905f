"""Attempts by the generator's own sender, one after another, in a process of its own that has gevent."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Exchange:
    """``times`` attempts of one sender; ``at_once`` of them side by side."""

    url: str
    address: str | None = None
    timeout_s: float = 10.0
    times: int = 1
    at_once: int = 1
    patiently: bool = False
    method: str = "GET"
    body_bytes: int = 0
    body_match: str | None = None
    ca_file: str | None = None
    max_answer_bytes: int | None = None


@dataclass(frozen=True)
class Exchanged:
    """What each attempt returned, how long it took, the reasons of errors, by how much memory had grown."""

    ends: list[tuple[Any, ...]]
    took_s: list[float]
    errors: dict[str, int] = field(default_factory=dict)
    grown_bytes: int = 0


def exchange(*exchanges: Exchange) -> list[Exchanged]:
    """Run them in turn, in one process."""
    command = [sys.executable, "-m", "tests.loadgen.exchanges"]
    asked = json.dumps([asdict(one) for one in exchanges])
    done = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return [
        Exchanged([tuple(end) for end in one["ends"]], one["took_s"], one["errors"], one["grown_bytes"])
        for one in json.loads(done.stdout)
    ]


def main() -> None:
    """Reads what is asked, writes what came of it."""
    import gevent.monkey

    gevent.monkey.patch_all()
    answers = [_exchanged(Exchange(**one)) for one in json.loads(sys.stdin.read())]
    print(json.dumps([asdict(answer) for answer in answers]))


def _exchanged(asked: Exchange) -> Exchanged:
    import re
    import resource
    import time

    from gevent.pool import Pool

    from domain.experiment import Client
    from loadgen.destination import Destination
    from loadgen.health import Health
    from loadgen.request import Job, Request
    from loadgen.response import MAX_ANSWER_BYTES
    from loadgen.sender import HttpSender

    request = Request(asked.method, body=bytes(asked.body_bytes))
    health = Health(0, 1, None)
    sender = HttpSender(
        Destination(asked.url, address=asked.address),
        lambda _job: request,
        lambda status: 200 <= status < 300,
        health,
        Client(asked.timeout_s, 1),
        body_match=None if asked.body_match is None else re.compile(asked.body_match.encode()),
        ca_file=asked.ca_file,
        max_answer_bytes=asked.max_answer_bytes or MAX_ANSWER_BYTES,
    )

    def attempt(number: int) -> tuple[tuple[Any, ...], float]:
        job, began_s = Job(number, 0.0, 0), time.monotonic()
        if asked.patiently:
            end: tuple[Any, ...] = sender.exchange_patiently(job, asked.timeout_s)
        else:
            end = sender(job, 1, asked.timeout_s)
        return end, time.monotonic() - began_s

    def peak_bytes() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    before = peak_bytes()
    found = Pool(asked.at_once).map(attempt, range(asked.times))
    grown = peak_bytes() - before
    sender.close()
    reasons = dict(health.error_reasons)
    return Exchanged([end for end, _ in found], [took_s for _, took_s in found], reasons, grown)


if __name__ == "__main__":
    main()
