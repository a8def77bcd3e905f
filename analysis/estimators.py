"""Measured values of a run, from its trace and from what the target says of itself.

Work is done in seconds of the wall clock, on ``experiment.live()``; ``Findings.values`` are in scenario
time, rates as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from analysis.episodes import Episode, Window, find_episodes, last_failure_s
from analysis.fleets.figures import fleet_values
from analysis.fleets.pod_path import PodPath
from analysis.prediction import LAST_SHARE
from analysis.result import QUANTITIES, Values
from analysis.trace import Attempts
from domain.experiment import Experiment

SILENT_TIMEOUTS, SILENT_S = 5.0, 2.0
"""A target that told nothing for so many timeouts, and seconds of the wall clock, at the end is not known."""


@dataclass(frozen=True)
class Findings:
    """What was measured, and on how much of it each number rests.

    ``live`` is the experiment in seconds of the wall clock, as are ``watch`` (cut to what the trace
    holds), ``episodes`` and ``judged_end_s``; ``values`` are in scenario time. ``samples`` counts the
    jobs, attempts or completions behind a value.
    """

    live: Experiment
    values: Values
    watch: Window
    episodes: tuple[Episode, ...]
    trace_end_s: float
    samples: dict[str, int] = field(default_factory=dict)

    @property
    def failing_at_end(self) -> bool:
        """Whether the last episode was still going on when the judged part of the watch ended."""
        return bool(self.episodes) and not self.episodes[-1].recovered


def measure(attempts: Attempts, server: pd.DataFrame, experiment: Experiment) -> Findings:
    """Every key of ``QUANTITIES`` as far as the run shows it; None for what it has no samples of."""
    live = experiment.live()
    start, end = live.watch
    timeout = live.client.timeout_s
    episodes = tuple(find_episodes(attempts, Window.judged(attempts, 0.0, end, timeout)))
    watch = Window.judged(attempts, start, end, timeout)
    samples: dict[str, int] = {}
    values: Values = dict.fromkeys(QUANTITIES)
    values["demand_per_s"] = _demand_per_s(attempts, watch, samples)
    if experiment.fleet is not None:
        path = _pod_path(server, experiment, min(end, attempts.end_s))
        values |= fleet_values(experiment, path, _lost(attempts, live) * experiment.run.speedup)
    values["capacity_per_s"] = _capacity_per_s(server, live, samples, values["settled_pods"])
    values["amplification"] = _amplification(attempts, live, episodes, samples)
    values["ingress_per_s"] = _settled_ingress_per_s(attempts, live, watch, episodes, samples)
    values["goodput_ratio"] = _goodput_ratio(attempts, watch, samples)
    scale = experiment.run.speedup
    if episodes:
        began = live.trigger[0] if live.trigger else 0.0
        values["failed_after_s"] = (episodes[0].start_s - began) * scale
        if episodes[-1].recovered:
            values["recovery_s"] = max(0.0, episodes[-1].end_s - start) * scale
    shed = shed_recovery_s(attempts, live, episodes)
    values["shed_recovery_s"] = None if shed is None else shed * scale
    _add_ratios(values, failing=bool(episodes) and not episodes[-1].recovered)
    return Findings(live, values, watch, episodes, attempts.end_s, samples)


def _add_ratios(values: Values, *, failing: bool) -> None:
    """ρ = demand over capacity; Aρ from the settled ingress while failing, else A times ρ."""
    capacity, demand = values["capacity_per_s"], values["demand_per_s"]
    if not capacity:
        return
    if demand is not None:
        values["utilization"] = demand / capacity
    ingress, amplification = values["ingress_per_s"], values["amplification"]
    if failing and ingress is not None:
        values["amplified_utilization"] = ingress / capacity
    elif amplification is not None and demand is not None:
        values["amplified_utilization"] = amplification * demand / capacity


def retry_span_s(live: Experiment) -> float:
    """Longest time from a job's first attempt to its last one's timeout; inf for an endless client.

    What a service may ask for by Retry-After counts only where the service is ours and so known.
    """
    client = live.client
    return min(_attempts_span_s(live), client.deadline_s)


def _attempts_span_s(live: Experiment) -> float:
    client, service = live.client, live.service
    asked = (service.admission.retry_after_s or 0.0) if service and client.honours_retry_after else 0.0
    if client.hedging is not None:
        # A copy that is turned away sets back the next one by what the service asks for.
        gap = max(client.hedging.delay_s, client.timeout_s + asked) if asked else client.hedging.delay_s
        return (client.hedging.copies - 1) * gap + client.timeout_s
    if math.isinf(client.max_attempts):
        return math.inf
    waits = sum(max(client.backoff.bounds_s(n)[1], asked) for n in range(1, int(client.max_attempts)))
    return client.max_attempts * client.timeout_s + waits


def _demand_per_s(attempts: Attempts, watch: Window, samples: dict[str, int]) -> float | None:
    """Jobs due in the watch per second of it."""
    length = watch.end_s - watch.start_s
    due = attempts.planned_s[attempts.first]
    jobs = int(((due >= watch.start_s) & (due < watch.end_s)).sum())
    samples["demand_per_s"] = jobs
    return jobs / length if length > 0 and jobs else None


def _pod_path(server: pd.DataFrame, experiment: Experiment, end_s: float) -> PodPath | None:
    """The pods that served, in scenario time; None if the target stopped telling long before ``end_s``, in
    seconds of the wall clock: how the fleet went on is then not known."""
    scale = experiment.run.speedup
    path = PodPath.of_reports(server["t_s"].to_numpy() * scale, server["pods"].to_numpy(dtype=np.float64))
    silence_s = max(SILENT_TIMEOUTS * experiment.client.timeout_s, SILENT_S * scale)
    return None if path is None or path.t_s[-1] < end_s * scale - silence_s else path


def _lost(attempts: Attempts, live: Experiment) -> float:
    """Jobs due in the watch less the answers in time that arrived in it."""
    start, end = live.watch
    due = attempts.planned_s[attempts.first]
    done = attempts.done_s[attempts.ok]
    answers = int(((done >= start) & (done < end)).sum())
    return float(((due >= start) & (due < end)).sum() - answers)


def _capacity_per_s(
    server: pd.DataFrame, live: Experiment, samples: dict[str, int], settled_pods: float | None
) -> float | None:
    """Completions while every pod was busy over the time they were, in the whole run at full capacity.

    Of a fleet that of one pod, times the pods at the end of the watch.


    Whether the pods are busy is known before the next service is drawn, so that selects no services and
    the ratio is unbiased but for the last, unfinished ones (optional stopping, Wald's identity). To
    look at the episodes alone would select: a short failure begins because services happen to be slow.
    """
    per_pod = live.fleet is not None
    rate, completed = saturated_rate(server, [(0.0, live.duration_s)], per_pod=per_pod)
    samples["capacity_per_s"] = 0 if rate is None else completed
    if not per_pod or rate is None:
        return rate
    return None if settled_pods is None else rate * settled_pods


def saturated_rate(
    server: pd.DataFrame, windows: list[tuple[float, float]], least: int = 30, *, per_pod: bool = False
) -> tuple[float | None, int]:
    """Completions/s while saturated between scrapes at unchanged full capacity, and how many there were.

    ``per_pod``: of each pod, between scrapes that saw the same number of them. None with fewer than
    ``least`` completions.
    """
    if len(server) < 2:
        return None, 0
    t = server["t_s"].to_numpy()
    pods = server["pods"].to_numpy() if per_pod else np.ones(len(server))
    full = server["capacity_factor"].fillna(1.0).to_numpy() == 1.0
    usable = full[1:] & full[:-1] & (pods[1:] == pods[:-1])
    inside = np.zeros(usable.shape, dtype=np.bool_)
    for start, end in windows:
        inside |= (t[:-1] >= start) & (t[1:] <= end)
    usable &= inside
    busy = (np.diff(server["saturated_s"].to_numpy()) * pods[1:])[usable]
    done = np.diff(server["saturated_completed"].to_numpy())[usable]
    seconds, completed = float(np.nansum(busy)), int(np.nansum(done))
    if completed < least or seconds <= 0:
        return None, completed
    return completed / seconds, completed


def _amplification(
    attempts: Attempts, live: Experiment, episodes: tuple[Episode, ...], samples: dict[str, int]
) -> float | None:
    """Attempts sent per job, over all jobs due in the settled part of an episode, answered or not.

    Settled is from a timeout after its start, when the wait has surely passed T, to the last moment that
    leaves a job the time for all its attempts before the episode, or what is judged of it, ends.
    """
    due, span = attempts.job_planned_s, retry_span_s(live)
    inside = np.zeros(due.shape, dtype=np.bool_)
    for episode in episodes:
        inside |= (due >= episode.start_s + live.client.timeout_s) & (due <= episode.end_s - span)
    samples["amplification"] = int(inside.sum())
    return float(attempts.job_sent[inside].mean()) if inside.any() else None


def _settled_ingress_per_s(
    attempts: Attempts,
    live: Experiment,
    watch: Window,
    episodes: tuple[Episode, ...],
    samples: dict[str, int],
) -> float | None:
    """Attempts sent per second in the watch, once the retries of the trigger (m·T and the backoffs) are
    gone, and those of an episode that ended, or all of an episode that lasts has begun. None for an endless
    client, whose retries are never gone."""
    start = watch.start_s
    if episodes:
        start = max(start, episodes[-1].end_s if episodes[-1].recovered else episodes[-1].start_s)
    if live.trigger or episodes:
        start += retry_span_s(live)
    length = watch.end_s - start
    sent = attempts.sent_s[attempts.sent]
    count = int(((sent >= start) & (sent < watch.end_s)).sum())
    samples["ingress_per_s"] = count
    return count / length if length > 0 and count else None


def _goodput_ratio(attempts: Attempts, watch: Window, samples: dict[str, int]) -> float | None:
    """Answers in time that arrived in the last fifth of the watch, over jobs due in it."""
    start = watch.end_s - LAST_SHARE * (watch.end_s - watch.start_s)
    due = attempts.planned_s[attempts.first]
    jobs = int(((due >= start) & (due < watch.end_s)).sum())
    done = attempts.done_s[attempts.ok]
    answers = int(((done >= start) & (done < watch.end_s)).sum())
    samples["goodput_ratio"] = jobs
    # Answers to jobs due a moment before the window can make it a little more than all.
    return min(1.0, answers / jobs) if jobs else None


def shed_recovery_s(attempts: Attempts, live: Experiment, episodes: tuple[Episode, ...]) -> float | None:
    """Wall-clock seconds from the start of shedding to the last failing attempt.

    None if nothing was shed, nothing was failing when it began, or it never recovered.
    """
    if live.shed is None or not episodes or episodes[-1].recovered:
        return None
    window = Window.judged(attempts, *live.shed, live.client.timeout_s)
    last = last_failure_s(attempts, window)
    return None if last is None else last - window.start_s
