"""Run directories of autoscaled fleets, made from the request-level simulation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from analysis.simulation.observed import observe
from analysis.trace import OUTCOMES, Attempts
from domain.experiment import Client, Demand, Expectation, Experiment, Phase, RunSettings, Service
from domain.fleet import Fleet, Signal, specimen
from tests.analysis.fifo import Simulated
from tests.analysis.run_files import write_run


def stepped(
    *signals: Signal,
    step_s: float = 900.0,
    max_pods: float = 50,
    seed: int = 1,
    speedup: float = 10.0,
    expect: Expectation | None = None,
) -> Experiment:
    """The four-pod kit of seed 002 under an autoscaler; demand steps up fivefold for good."""
    name = f"f3-{'-'.join(signals)}"
    return Experiment(
        name=name,
        title=f"{name.upper()}: a sustained step under an autoscaler",
        client=Client(10.0, 3),
        demand=Demand(80.0, (Phase("baseline", 100.0), Phase("step", step_s, 5.0))),
        service=Service(4, 40.0),
        run=RunSettings(speedup, seed),
        expect=expect,
        fleet=specimen(*signals, max_pods=max_pods),
    )


def simulated(experiment: Experiment) -> Simulated:
    """The run as rows and scrapes, as a generator and a target would have left them."""
    run = observe(experiment)
    server = run.server.assign(clock_lag_p99_s=0.001, clock_lag_max_s=0.002, refused_sockets=0.0)
    return Simulated(rows_of(run.attempts), server)


def rows_of(attempts: Attempts) -> pd.DataFrame:
    """Rows of a trace; what was open at the end has neither outcome nor end."""
    outcome = np.array(OUTCOMES, dtype=object)[attempts.outcome]
    ended = outcome != "aborted"
    frame = pd.DataFrame({"job_id": attempts.job, "sent_s": attempts.sent_s})
    return pd.DataFrame(
        {
            "job_id": attempts.job,
            "attempt": frame.groupby("job_id").cumcount() + 1,
            "planned_s": attempts.planned_s,
            "sent_s": attempts.sent_s,
            "done_s": np.where(ended, attempts.done_s, np.nan),
            "outcome": np.where(ended, outcome, None),
            "status": attempts.status,
            "worker": 0,
        }
    )


def decision_lines(experiment: Experiment, run: Simulated) -> list[dict[str, Any]]:
    """What the autoscaler of the run would have logged: rates read off the trace, pods off the scrapes."""
    live, service = experiment.live(), experiment.service
    fleet = live.fleet
    assert fleet is not None
    assert service is not None
    lines = []
    for number in range(1, int(live.duration_s / fleet.sync_period_s) + 1):
        now_s = number * fleet.sync_period_s
        scrape = run.server[run.server["t_s"] <= now_s + 1e-9].tail(1)
        ready = int(scrape["pods"].iloc[0]) if len(scrape) else service.pods
        replicas = int(scrape["replicas"].iloc[0]) if len(scrape) else service.pods
        readings = {signal: _reading(fleet, signal, run, now_s, ready, service) for signal in fleet.signals}
        per_pod = fleet.target_utilization * service.rate_per_pod
        proposals = {
            signal: int(
                np.ceil(ready * value / fleet.target_utilization if signal == "cpu" else value / per_pod)
            )
            for signal, value in readings.items()
        }
        wanted = max(proposals.values())
        lines.append(
            {
                "t_s": now_s,
                "at": "2026-01-01T00:00:00Z",
                "replicas": replicas,
                "ready": ready,
                "readings": readings,
                "proposals": proposals,
                "wanted": wanted,
                "ordered": int(min(max(replicas, wanted), fleet.autoscaler.max_pods)),
                "why": "made up",
                "error": None,
            }
        )
    return lines


def _reading(
    fleet: Fleet, signal: Signal, run: Simulated, now_s: float, ready: int, service: Service
) -> float:
    start = max(0.0, now_s - fleet.window_s(signal))
    if signal == "cpu":
        busy = np.interp([start, now_s], run.server["t_s"], run.server["busy_s"])
        return float(min(1.0, (busy[1] - busy[0]) / (now_s - start) / ready))
    sent = run.rows["sent_s"].to_numpy()
    inside = (sent >= start) & (sent < now_s)
    if signal == "first":
        inside &= run.rows["attempt"].to_numpy() == 1
    return float(inside.sum() / (now_s - start))


def write_fleet_run(directory: Path, experiment: Experiment, *, decisions: bool = True) -> Path:
    """A whole run directory, with the autoscaler's decisions if they are wanted."""
    run = simulated(experiment)
    write_run(directory, experiment, run)
    if decisions:
        write_decisions(directory, decision_lines(experiment, run))
    return directory


def write_decisions(directory: Path, lines: Sequence[dict[str, Any]]) -> None:
    """``autoscaler.jsonl``."""
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (directory / "autoscaler.jsonl").write_text(text, encoding="utf-8")
