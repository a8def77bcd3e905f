"""Running a storm against a script instead of a service, in a process of its own: no sockets, no chance.

The child writes the trace as any run does, and beside it every call that its sender got.
"""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.trace import read_trace
from domain.attempts import Outcome
from domain.experiment import Client, Demand, Experiment, Phase
from loadgen.request import Job

FOREVER_S = 3600.0


@dataclass(frozen=True)
class Reply:
    """What an attempt comes to after ``after_s``, if that is within its timeout."""

    after_s: float
    outcome: Outcome = Outcome.OK
    status: int = 200
    retry_after_s: float = 0.0


SILENCE = Reply(FOREVER_S)
BROKEN = Reply(0.0, Outcome.ERROR, 0)
BUSY = Reply(0.0, Outcome.REJECTED, 503)


@dataclass(frozen=True)
class Played:
    """The trace and the sender's calls by (job, attempt); the worker's health; what the meter counted."""

    trace: pd.DataFrame
    calls: dict[tuple[int, int], dict[str, Any]]
    health: dict[str, Any]
    inflight: int
    refusals: dict[str, int]

    def of(self, outcome: Outcome, job: int | None = None) -> pd.DataFrame:
        """The attempts that ended so."""
        found = self.trace[self.trace.outcome == outcome.value]
        return found if job is None else found[found.index.get_level_values("job_id") == job]


def play(
    client: Client,
    script: Mapping[int, Reply],
    out: Path,
    *,
    rate_per_s: float = 10.0,
    duration_s: float = 1.0,
) -> Played:
    """A storm of evenly spaced jobs whose attempt number k gets ``script[k]``, or the last one's reply."""
    experiment = Experiment(
        "scripted",
        "a load on a script",
        client,
        Demand(rate_per_s, (Phase("steady", duration_s),), arrivals="uniform"),
    )
    out.mkdir(exist_ok=True)
    (out / "script.pickle").write_bytes(pickle.dumps((experiment, dict(script))))
    command = [sys.executable, "-m", "tests.loadgen.scripted", str(out)]
    subprocess.run(command, check=True, timeout=60)
    told = json.loads((out / "told.json").read_text())
    trace = read_trace(out)
    assert not trace.faults
    return Played(
        trace.attempts.set_index(["job_id", "attempt"]).sort_index(),
        {(call["job"], call["attempt"]): call for call in told["calls"]},
        json.loads((out / "generator" / "worker-00.json").read_text()),
        told["inflight"],
        told["refusals"],
    )


def main() -> None:
    """``scripted.py OUT``: play the script that is there."""
    import gevent
    from greenlet import GreenletExit

    from loadgen.session import Session, Share
    from meter.counting import AttemptCounts

    out = Path(sys.argv[1])
    experiment, script = pickle.loads((out / "script.pickle").read_bytes())
    calls: list[dict[str, Any]] = []
    begin_s = time.monotonic() + 0.2

    class Actor:
        """Says what the script says."""

        def __call__(self, job: Job, attempt: int, timeout_s: float) -> tuple[Outcome, int, float]:
            call = {"job": job.job_id, "attempt": attempt, "timeout_s": timeout_s, "hung_up_s": None}
            calls.append(call)
            reply: Reply = script[min(attempt, max(script))]
            try:
                if reply.after_s > 0:
                    gevent.sleep(min(reply.after_s, timeout_s))
            except GreenletExit:
                call["hung_up_s"] = time.monotonic() - begin_s
                raise
            if reply.after_s >= timeout_s:
                return Outcome.TIMEOUT, 0, 0.0
            return reply.outcome, reply.status, reply.retry_after_s

        def close(self) -> None:
            """Nothing is kept."""

    counts = AttemptCounts()
    session = Session(experiment, Share(0, 1, begin_s), lambda _health: Actor(), out=out, observer=counts)
    session.start()
    session.join()
    told = {"calls": calls, "inflight": counts.inflight, "refusals": counts.refusals}
    (out / "told.json").write_text(json.dumps(told))
    if session.fault:
        sys.exit(f"fault: {session.fault}")


if __name__ == "__main__":
    main()
