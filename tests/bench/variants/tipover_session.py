"""Tipover's generator as ``tipover run`` starts it, less the Locust process around it.

A session with its pooled raw sockets, the counts behind its metrics, its progress lines and its health
file; with the trace written to Parquet, or without. Open loop, Poisson arrivals, one attempt a job; the
client may have a retry budget or a breaker.
"""

from __future__ import annotations

import gevent.monkey

gevent.monkey.patch_all()

import json  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

from domain.experiment import Demand, Experiment, Phase, RunSettings  # noqa: E402
from domain.lag import LagHistogram  # noqa: E402
from loadgen.limits import raise_descriptor_limit  # noqa: E402
from loadgen.request import Job, Request  # noqa: E402
from loadgen.sender import Destination, HttpSender  # noqa: E402
from loadgen.session import Session, Share  # noqa: E402
from meter.counting import AttemptCounts  # noqa: E402
from tests.bench.budgets.rules import client  # noqa: E402
from tests.bench.load import REQUEST_PATH, Load  # noqa: E402
from tests.bench.window import measure  # noqa: E402

_LEAD_S = 0.2


def make_session(load: Load, counts: AttemptCounts, out: Path | None, duration_s: float) -> Session:
    """A session that offers ``rate_per_s`` jobs, each of one attempt that is sent."""
    experiment = Experiment(
        "bench",
        "a steady load",
        client(load.rule, load.timeout_s, storm=load.expected == "timeout"),
        Demand(load.rate_per_s, (Phase("steady", duration_s),)),
        run=RunSettings(seed=os.getpid()),
    )
    request = Request("GET", REQUEST_PATH)
    destination = Destination(load.url)

    def make_request(_job: Job) -> Request:
        return request

    def is_success(status: int) -> bool:
        return 200 <= status < 400

    raise_descriptor_limit()
    return Session(
        experiment,
        Share(0, 1, time.monotonic() + _LEAD_S),
        lambda health: HttpSender(destination, make_request, is_success, health, experiment.client),
        out=out,
        progress_fd=os.open(os.devnull, os.O_WRONLY),
        observer=counts,
    )


def end(session: Session) -> None:
    """Stop it, wait for its trace, and fail if anything was wrong with it but the end."""
    session.stop("measured")
    session.join()
    if session.fault:
        sys.exit(session.fault)


def main() -> None:
    load = Load.from_argument(sys.argv[1])
    counts = AttemptCounts()
    with tempfile.TemporaryDirectory() as folder:
        session = make_session(load, counts, Path(folder) if load.record else None, load.whole_s + 1)
        session.start()

        def lag_from_here() -> None:
            session.health.lag = LagHistogram()

        found = measure(load, lambda: counts.outcomes, gevent.sleep, lag_from_here)
        lag = session.health.lag
        found |= {"lag_p50_s": lag.quantile_s(0.5), "lag_p99_s": lag.quantile_s(0.99)}
        end(session)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
