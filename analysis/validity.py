"""Is the run a statement about the service, or about the harness? Reasons why not, and warnings.

Lags, timeouts and clocks here are seconds of the wall clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.completeness import trace_faults
from analysis.estimators import saturated_rate
from analysis.result import GeneratorHealth
from analysis.run_directory import RunFiles
from analysis.trace import TraceFile
from domain.experiment import Experiment

LAG_FLOOR_S = 0.010
CLOCK_LAG_FLOOR_S = 0.020
TIMEOUT_SHARE = 0.1
CPU_LIMIT = 0.97
RATE_TOLERANCE = 0.03
RATE_SIGMAS = 5.0
RARE = 20.0
"""Service times of infinite variance are taken as so many times the services seen would show them."""
SERVED_SLACK = 20
"""Completions at the first scrape that may be the harness's own probing."""


@dataclass(frozen=True, slots=True)
class Validity:
    """``reasons`` make the run invalid, ``warnings`` do not; each is one sentence with number and limit."""

    reasons: tuple[str, ...]
    warnings: tuple[str, ...]

    @property
    def valid(self) -> bool:
        """Whether nothing speaks against the run."""
        return not self.reasons


def generator_health(workers: tuple[dict[str, Any], ...]) -> GeneratorHealth | None:
    """All workers in one: counts summed, lags and CPU those of the worst, the median weighted by jobs."""
    if not workers:
        return None
    sent = sum(int(_number(w, "sent")) for w in workers)
    faults = [f"worker {w.get('worker')}: {w['recorder_fault']}" for w in workers if w.get("recorder_fault")]
    return GeneratorHealth(
        workers=len(workers),
        planned=sum(int(_number(w, "planned")) for w in workers),
        sent=sent,
        attempts=sum(int(_number(w, "attempts")) for w in workers),
        lag_p50_s=sum(_number(w, "lag_p50_s") * _number(w, "sent") for w in workers) / max(1, sent),
        lag_p99_s=max(_number(w, "lag_p99_s") for w in workers),
        lag_max_s=max(_number(w, "lag_max_s") for w in workers),
        cpu_ratio=max(_number(w, "cpu_ratio") for w in workers),
        cpu_ratio_peak=max(_number(w, "cpu_ratio_peak") for w in workers),
        refused_sockets=sum(int(_number(w, "refused_sockets")) for w in workers),
        recorder_fault="; ".join(faults) or None,
    )


def _number(data: Mapping[str, Any], name: str) -> float:
    value = data.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def assess(files: RunFiles, trace: TraceFile | None = None) -> Validity:
    """Every reason and warning that a run directory gives; without a trace, all but those it gives."""
    live = files.experiment.live()
    warnings = [*files.warnings, *_used_before(files.server, live), *_other_clocks(files.run)]
    reasons = list(_state(files.run))
    reasons += [f"The harness reports: {fault}" for fault in files.run.get("harness_faults") or []]
    reasons += _missing_workers(files.run, files.workers)
    for worker in files.workers:
        reasons += generator_reasons(worker, live.client.timeout_s)
        warnings += _busy_but_punctual(worker)
    if trace is not None:
        reasons += trace_faults(trace, files.workers, live)
    drops = _listen_drops(files.server)
    if drops:
        reasons.append(
            f"The kernel dropped {drops:,} connections before the target could accept them (limit 0)."
        )
    # The kernel's own counters are of all programs: they only count where the target's socket is silent.
    blame = reasons if files.owns_target and drops is None else warnings
    blame.extend(_kernel(files.run))
    reasons += _clock(files.server, live)
    return Validity(tuple(reasons), tuple(warnings))


def _state(run: Mapping[str, Any]) -> Iterator[str]:
    state = run.get("state")
    if state == "finished":
        return
    if state == "running":
        yield "The run did not finish: its state is still 'running', so it was killed or is going on."
        return
    why = run.get("interrupted_by")
    said = f": {why}" if why else ""
    what = "it failed" if state == "failed" else f"it was {state}"
    yield f"The run did not finish: {what}{said}."


def _missing_workers(run: Mapping[str, Any], workers: tuple[dict[str, Any], ...]) -> Iterator[str]:
    expected = int(_number(run, "workers")) or 1
    if len(workers) < expected:
        yield f"Only {len(workers)} of {expected} generator workers left a report of their health."
    for worker in workers:
        if not worker.get("finished"):
            yield f"Generator worker {worker.get('worker')} did not finish: its final report is missing."


def _other_clocks(run: Mapping[str, Any]) -> Iterator[str]:
    generators = run.get("generators")
    known = [g for g in generators if isinstance(g, Mapping)] if isinstance(generators, list) else []
    others = [g for g in known if g.get("same_clock") is False]
    if others:
        hosts = ", ".join(sorted({str(g.get("host")) for g in others}))
        yield (
            f"{len(others)} of {len(known)} generator workers have another machine's clock ({hosts}): their "
            "time zero is later by as long as the word of the start took to come, which is not measured."
        )


def generator_reasons(worker: Mapping[str, Any], timeout: float) -> Iterator[str]:
    """What in a worker's own report speaks against the run, of a client with this timeout (s)."""
    name = f"Generator worker {worker.get('worker')}"
    p99, most = _number(worker, "lag_p99_s"), _number(worker, "lag_max_s")
    limit = max(LAG_FLOOR_S, TIMEOUT_SHARE * timeout)
    if p99 > limit:
        yield f"{name} sent first attempts late: p99 lag {_ms(p99)}, over the limit of {_ms(limit)}."
    if most > timeout:
        yield f"{name} sent a first attempt {_ms(most)} late, more than the whole timeout of {_ms(timeout)}."
    peak = _number(worker, "cpu_ratio_peak")
    if peak > CPU_LIMIT and p99 > LAG_FLOOR_S:
        yield (
            f"{name} used {peak:.0%} of a core at its peak (limit {CPU_LIMIT:.0%}) and lagged: "
            f"p99 {_ms(p99)}, over {_ms(LAG_FLOOR_S)}."
        )
    planned = int(_number(worker, "planned"))
    # What the client's own breaker refused was planned as well, and must not be sent.
    sent = int(_number(worker, "sent")) + int(_number(worker, "first_refused"))
    stopped = worker.get("stopped_by")
    if stopped:
        yield f"{name} was stopped before its load was done: {stopped}."
    elif worker.get("finished") and sent != planned:
        # Before its end a worker may be caught between planning a job and sending it.
        yield f"{name} sent {sent:,} of {planned:,} planned jobs: all must be sent, and no others."
    refused = int(_number(worker, "refused_sockets"))
    if refused:
        yield f"{name} had no descriptor or port for {refused:,} attempts (limit 0)."
    if worker.get("recorder_fault"):
        yield f"{name} could not record everything: {worker['recorder_fault']}."


def _busy_but_punctual(worker: Mapping[str, Any]) -> Iterator[str]:
    peak = _number(worker, "cpu_ratio_peak")
    if peak > CPU_LIMIT and _number(worker, "lag_p99_s") <= LAG_FLOOR_S:
        yield (
            f"Generator worker {worker.get('worker')} used {peak:.0%} of a core at its peak (limit "
            f"{CPU_LIMIT:.0%}), but kept time: p99 lag {_ms(_number(worker, 'lag_p99_s'))}."
        )


def _kernel(run: Mapping[str, Any]) -> Iterator[str]:
    kernel = run.get("kernel")
    for name, words in (("listen_overflows", "overflowed a listen queue"), ("listen_drops", "dropped")):
        count = int(_number(kernel, name)) if isinstance(kernel, dict) else 0
        if count > 0:
            yield (
                f"The kernel {words} {count:,} times while connections were opened, "
                "to this or another program of this machine (limit 0)."
            )


def _listen_drops(server: pd.DataFrame) -> int | None:
    """Connections dropped at the target's own socket between the first and the last scrape, if it says."""
    found = server["listen_drops"].dropna() if "listen_drops" in server else pd.Series(dtype="float64")
    return int(found.iloc[-1] - found.iloc[0]) if len(found) else None


def _clock(server: pd.DataFrame, live: Experiment) -> Iterator[str]:
    """Did our own target keep its clock and its rate?"""
    if live.service is None or server.empty:
        return
    limit = max(CLOCK_LAG_FLOOR_S, TIMEOUT_SHARE * live.client.timeout_s)
    lag = float(server["clock_lag_p99_s"].max())
    if lag > limit:
        yield f"The target delivered answers late: p99 clock lag {_ms(lag)}, over the limit of {_ms(limit)}."
    refused = _refused_sockets(server)
    if refused > 0:
        yield f"The target had no descriptor for {refused} connections, so it could not accept them."
    service, per_pod = live.service, live.fleet is not None
    rate, completed = saturated_rate(server, [(0.0, float("inf"))], per_pod=per_pod)
    if rate is None:
        return
    setting = service.rate_per_pod if per_pod else service.capacity_per_s
    variation = live.service.service_time.squared_variation_over(RARE * completed)
    allowed = max(RATE_TOLERANCE, RATE_SIGMAS * (variation / completed) ** 0.5)
    off = rate / setting - 1.0
    if abs(off) > allowed:
        yield (
            f"The target served {rate:.4g} attempts/s {'a pod ' if per_pod else ''}when saturated instead of "
            f"{setting:.4g}: "
            f"{off:+.1%}, over the limit of {allowed:.1%}."
        )


def _refused_sockets(server: pd.DataFrame) -> int:
    """How far the counter moved between scrapes: it runs over the target's life, not the run's."""
    counted = server["refused_sockets"].dropna()
    return int(counted.iloc[-1] - counted.iloc[0]) if len(counted) else 0


def _used_before(server: pd.DataFrame, live: Experiment) -> Iterator[str]:
    """A target that had served more at the first scrape than it can have served since the run's start."""
    counted = server[["t_s", "completed"]].dropna()
    if live.service is None or counted.empty:
        return
    t, completed = float(counted["t_s"].iloc[0]), int(counted["completed"].iloc[0])
    if completed > SERVED_SLACK + 2 * live.service.capacity_per_s * max(0.0, t):
        yield (
            f"The target had completed {completed:,} attempts when it was first looked at, {t:.1f} s into "
            "the run: it served others before, and its clock lags are counted over its whole life."
        )


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:,.1f} ms"
