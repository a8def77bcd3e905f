"""What one run says of a mitigation: what it did to the storm, and what it cost while all was well.

The same code reads simulated and live runs. Windows are in seconds of the wall clock, as the attempts
are; durations in a ``Score`` are in scenario time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.episodes import Window
from analysis.estimators import measure
from analysis.result import Floats, Measurement, Outcome
from analysis.trace import OUTCOMES, Attempts, Mask
from analysis.verdict import judge
from domain import attempts as domain_attempts
from domain.experiment import Experiment
from domain.retry import THROTTLING

_REJECTED = OUTCOMES.index(domain_attempts.Outcome.REJECTED)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of a run in shares; None where there was nothing to take a share of.

    ``answered`` and ``refused`` are of the ``jobs`` due in it: answered in time; first attempt refused by
    the client's own budget or breaker. ``turned_away`` is of the same: first attempt answered with 429 or
    503. ``rejected`` is that of all attempts sent in it, ``attempts`` how many were sent per job due, and
    ``goodput_per_s`` how many jobs got their answer in it per second of the wall clock.
    """

    jobs: int
    answered: float | None
    refused: float | None
    turned_away: float | None
    rejected: float | None
    attempts: float | None
    goodput_per_s: float | None


@dataclass(frozen=True, slots=True)
class Score:
    """One run of a storm. ``trigger`` is None where nothing is triggered.

    ``goodput_ratio`` is over the last fifth of the watch, ``wasted`` the share of the service's busy time in
    trigger and watch that went to attempts nobody waited for any more, ``amplification`` attempts per job
    while failing, the latencies those of jobs answered before the trigger, from when they were due.
    """

    outcome: Outcome
    recovery_s: float | None
    goodput_ratio: float | None
    amplification: float | None
    wasted: float | None
    latency_p50_s: float | None
    latency_p99_s: float | None
    before: Stretch
    trigger: Stretch | None
    watch: Stretch

    @property
    def storm_answered(self) -> float | None:
        """Share of the jobs due in trigger and watch that were answered in time; None without any."""
        parts = [
            part for part in (self.trigger, self.watch) if part is not None and part.answered is not None
        ]
        jobs = sum(part.jobs for part in parts)
        return sum(part.jobs * (part.answered or 0.0) for part in parts) / jobs if jobs else None


def score(attempts: Attempts, server: pd.DataFrame, experiment: Experiment) -> Score:
    """Measure and judge a run, and read off it what its mitigations did."""
    findings = measure(attempts, server, experiment)
    return score_of(attempts, server, experiment, judge(attempts, server, experiment, findings))


def score_of(
    attempts: Attempts, server: pd.DataFrame, experiment: Experiment, measurement: Measurement
) -> Score:
    """The score of a run that has been measured and judged already."""
    live = experiment.live()
    trigger, (watch_start, watch_end) = live.trigger, live.watch
    watch = Window.judged(attempts, watch_start, watch_end, live.client.timeout_s)
    healthy_until = trigger[0] if trigger else watch.end_s
    p50, p99 = latencies(attempts, 0.0, healthy_until)
    scale = experiment.run.speedup
    return Score(
        outcome=measurement.outcome,
        recovery_s=measurement.values["recovery_s"],
        goodput_ratio=measurement.values["goodput_ratio"],
        amplification=measurement.values["amplification"],
        wasted=wasted_share(server, trigger[0] if trigger else 0.0, watch_end),
        latency_p50_s=None if p50 is None else p50 * scale,
        latency_p99_s=None if p99 is None else p99 * scale,
        before=stretch(attempts, 0.0, healthy_until),
        trigger=stretch(attempts, *trigger) if trigger else None,
        watch=stretch(attempts, watch.start_s, watch.end_s),
    )


def stretch(attempts: Attempts, start_s: float, end_s: float) -> Stretch:
    """What happened to the jobs due, and to the attempts sent, in [start, end)."""
    due = _inside(attempts.job_planned_s, start_s, end_s)
    sent = attempts.sent & _inside(attempts.sent_s, start_s, end_s)
    first = attempts.first & due[attempts.job]
    throttled = (attempts.outcome == _REJECTED) & np.isin(attempts.status, THROTTLING)
    jobs, length = int(due.sum()), end_s - start_s
    return Stretch(
        jobs=jobs,
        answered=_share(int((due & attempts.job_answered).sum()), jobs),
        refused=_share(int((first & ~attempts.sent).sum()), jobs),
        turned_away=_share(int((first & throttled).sum()), jobs),
        rejected=_share(int((sent & throttled).sum()), int(sent.sum())),
        attempts=_share(int(sent.sum()), jobs),
        goodput_per_s=answers(attempts, start_s, end_s) / length if length > 0 else None,
    )


def attempts_per_job(attempts: Attempts, start_s: float, end_s: float) -> float | None:
    """Attempts that were ever sent of the jobs due in [start, end), over those jobs; None without any."""
    due = _inside(attempts.job_planned_s, start_s, end_s)
    return _share(int(attempts.job_sent[due].sum()), int(due.sum()))


def longest_job_s(attempts: Attempts, start_s: float, end_s: float) -> float:
    """The longest that a job due in [start, end) took, from when it was due to the end of its last attempt.

    Infinite when one of them has not ended; 0 without any.
    """
    of = _inside(attempts.job_planned_s, start_s, end_s)[attempts.job]
    took = attempts.done_s[of] - attempts.job_planned_s[attempts.job[of]]
    if np.isnan(took).any():
        return math.inf
    return float(took.max()) if took.size else 0.0


def answers(attempts: Attempts, start_s: float, end_s: float) -> int:
    """Jobs that got their answer in [start, end)."""
    return int(_inside(_answered_at(attempts), start_s, end_s).sum())


def latencies(attempts: Attempts, start_s: float, end_s: float) -> tuple[float | None, float | None]:
    """Median and 99th percentile of the time from when a job was due to its answer.

    Of the answered jobs due in [start, end), in seconds of the wall clock; None without any.
    """
    took = (_answered_at(attempts) - attempts.job_planned_s)[
        _inside(attempts.job_planned_s, start_s, end_s) & attempts.job_answered
    ]
    if not took.size:
        return None, None
    p50, p99 = np.quantile(took, (0.5, 0.99))
    return float(p50), float(p99)


def wasted_share(server: pd.DataFrame, start_s: float, end_s: float) -> float | None:
    """Share of the service's busy time between two moments given to attempts nobody waited for.

    None where the service told nothing of it, or was not busy.
    """
    known = server[["t_s", "busy_s", "abandoned_s"]].dropna()
    t = known["t_s"].to_numpy()
    if t.size < 2 or t[-1] <= start_s:
        return None
    busy, abandoned = (
        float(np.diff(np.interp((start_s, end_s), t, known[name].to_numpy()))[0])
        for name in ("busy_s", "abandoned_s")
    )
    # Abandoned work is counted when it ends, so what began before the first scrape may count in full.
    return min(1.0, abandoned / busy) if busy > 0 else None


def _answered_at(attempts: Attempts) -> Floats:
    """When each job got its first answer in time; inf for those that never did."""
    moments = np.full(attempts.job_planned_s.size, math.inf)
    np.minimum.at(moments, attempts.job[attempts.ok], attempts.done_s[attempts.ok])
    return moments


def _inside(times_s: Floats, start_s: float, end_s: float) -> Mask:
    return np.asarray((times_s >= start_s) & (times_s < end_s))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
