"""Runs the generator's own code without Locust, in a process of its own: gevent must stay out of pytest."""

from __future__ import annotations

import gevent.monkey

gevent.monkey.patch_all()

import json  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from domain.experiment_json import from_json  # noqa: E402
from loadgen.destination import Destination  # noqa: E402
from loadgen.limits import check_plan_fits, raise_descriptor_limit  # noqa: E402
from loadgen.request import Job, Request  # noqa: E402
from loadgen.sender import HttpSender  # noqa: E402
from loadgen.session import Session, Share  # noqa: E402
from meter.counting import AttemptCounts  # noqa: E402


def main() -> None:
    """``generate.py EXPERIMENT.json URL OUT [METHOD [STALL_S]]``

    With STALL_S every job first holds up the event loop for so long, as a busy machine does.
    """
    experiment = from_json(json.loads(Path(sys.argv[1]).read_text())).live()
    request = Request(sys.argv[4] if len(sys.argv) > 4 else "GET")
    destination = Destination(sys.argv[2])
    raise_descriptor_limit()
    check_plan_fits(experiment, destination.ip)

    stall_s = float(sys.argv[5]) if len(sys.argv) > 5 else 0.0

    def make_request(_job: Job) -> Request:
        until_s = time.monotonic() + stall_s
        while time.monotonic() < until_s:
            pass
        return request

    counts = AttemptCounts()
    session = Session(
        experiment,
        Share(0, 1, time.monotonic() + 0.2),
        lambda health: HttpSender(
            destination, make_request, lambda status: status < 400, health, experiment.client
        ),
        out=Path(sys.argv[3]),
        observer=counts,
    )
    session.start()
    session.join()
    (Path(sys.argv[3]) / "counts.json").write_text(
        json.dumps({"inflight": counts.inflight, "outcomes": dict(counts.outcomes)})
    )
    if session.fault:
        sys.exit(f"fault: {session.fault}")


if __name__ == "__main__":
    main()
