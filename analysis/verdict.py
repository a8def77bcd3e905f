"""The outcome of a run, with the sentences that bear it out.

``healthy``: no episode of failure, and at least 90% answered in time at the end. ``recovered``: the last
episode ended, and stayed ended, within the watch. ``trapped``: still failing at the end of the watch, and
the backlog is not draining: measured ingress is at least capacity, or the backlog does not fall by more
than its error. A foreign service shows no backlog: there, failing for the whole of a watch of at least 10
timeouts. ``undecided``: anything else, above all a failure that drains but has not ended yet.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from analysis.episodes import Window, last_failure_s
from analysis.estimators import Findings
from analysis.laws import failing_variance_per_s
from analysis.result import Measurement, Outcome
from analysis.trace import Attempts
from domain.experiment import Experiment

AfterShed = Literal["recovered", "trapped", "undecided"]
FOREIGN_TIMEOUTS = 10.0
SLOPE_TIMEOUTS = 5.0
"""Shortest window, in timeouts, over which a trend of the backlog is worth anything."""
WATCHED_TIMEOUTS = 2.0
WELL_GOODPUT = 0.9
"""A service that never fails for good, but answers fewer jobs than this in time, is not healthy either."""


def judge(
    attempts: Attempts, server: pd.DataFrame, experiment: Experiment, findings: Findings
) -> Measurement:
    """The measured outcome, its evidence, and what shedding did."""
    scale = experiment.run.speedup
    outcome, evidence = _outcome(server, findings, scale)
    after_shed, said = _after_shed(attempts, server, findings, scale)
    return Measurement(outcome, findings.values, (*evidence, *said), after_shed)


def _outcome(server: pd.DataFrame, findings: Findings, scale: float) -> tuple[Outcome, list[str]]:
    watch, episodes = findings.watch, findings.episodes
    evidence = _cut_short(findings, scale)
    if watch.end_s - watch.start_s < WATCHED_TIMEOUTS * watch.timeout_s:
        return "undecided", [*evidence, "Less than two timeouts of the watch were seen: nothing to judge."]
    if not episodes:
        well = (findings.values["goodput_ratio"] or 0.0) >= WELL_GOODPUT
        return ("healthy" if well else "undecided"), [*evidence, _never_failed(findings)]
    for episode in episodes:
        until = f"to {episode.end_s * scale:,.0f} s"
        ended = until if episode.recovered else f"{until}, where what can be judged of the watch ends"
        evidence.append(f"Failing from {episode.start_s * scale:,.0f} s {ended}.")
    if not findings.failing_at_end:
        took = findings.values["recovery_s"] or 0.0
        evidence.append(f"The last failing attempt was sent {took:,.0f} s after the trigger ended.")
        return "recovered", evidence
    begin = max(watch.start_s, episodes[-1].start_s)
    drain = _drain(server, findings, begin, watch.end_s)
    if drain is None:
        outcome, why = _foreign(findings, scale)
        return outcome, [*evidence, why]
    return ("undecided" if drain.draining else "trapped"), [*evidence, *drain.sentences(scale)]


def _cut_short(findings: Findings, scale: float) -> list[str]:
    planned = findings.live.duration_s
    if findings.trace_end_s >= planned - 2 * findings.watch.timeout_s:
        return []
    return [f"The trace ends at {findings.trace_end_s * scale:,.0f} s of {planned * scale:,.0f} s."]


def _never_failed(findings: Findings) -> str:
    ratio = findings.values["goodput_ratio"]
    seen = "" if ratio is None else f"; {100 * ratio:.1f}% of the jobs were answered in time at the end"
    return f"At no time did half of the jobs fail for a timeout or longer{seen}."


def _foreign(findings: Findings, scale: float) -> tuple[Outcome, str]:
    """Without the server's state only the length of the failure speaks."""
    watch, episode = findings.watch, findings.episodes[-1]
    length = watch.end_s - watch.start_s
    whole = episode.start_s <= watch.start_s + watch.timeout_s
    unseen = "whether its backlog drains could not be checked, because its state is not known"
    if whole and length >= FOREIGN_TIMEOUTS * watch.timeout_s * (1 - 1e-9):
        return "trapped", (
            f"The service failed for the whole {length * scale:,.0f} s of the watch "
            f"({length / watch.timeout_s:.0f} timeouts); {unseen}."
        )
    return "undecided", (
        f"The service still failed when the watch ended, but not for all of a watch of "
        f"{FOREIGN_TIMEOUTS:g} timeouts or more; {unseen}."
    )


@dataclass(frozen=True, slots=True)
class _Drain:
    """Evidence on the backlog in a failing window, in seconds of the wall clock.

    ``amplified_utilization`` is measured ingress over capacity; ``slope`` the backlog's change in
    seconds of work per second, ``slope_error`` its standard error; ``left_s`` what is above the timeout.
    """

    amplified_utilization: float | None
    slope: float | None
    slope_error: float
    left_s: float | None

    @property
    def draining(self) -> bool:
        """Ingress below capacity (where known), and a backlog that falls by more than its error."""
        if self.amplified_utilization is not None and self.amplified_utilization >= 1:
            return False
        if self.slope is not None:
            return self.slope < -self.slope_error
        return True

    def sentences(self, scale: float) -> list[str]:
        said = []
        if self.amplified_utilization is not None:
            said.append(f"Measured ingress is {self.amplified_utilization:.3f} of the measured capacity.")
        if self.slope is not None:
            verb = "falls" if self.draining else "does not fall"
            said.append(f"The backlog {verb}: {self.slope:+.3f} ± {self.slope_error:.3f} s of work a second.")
        if self.draining and self.left_s is not None:
            said.append(f"At this rate it fails for about {self.left_s * scale:,.0f} s more.")
        return said


def _drain(server: pd.DataFrame, findings: Findings, start_s: float, end_s: float) -> _Drain | None:
    """What is known of the backlog between two times; None if nothing is."""
    slope, error, level = _backlog_slope(server, findings.live, start_s, end_s)
    in_watch = start_s >= findings.watch.start_s and end_s <= findings.watch.end_s
    amplified = findings.values["amplified_utilization"] if in_watch else None
    if findings.values["ingress_per_s"] is None:
        amplified = None
    if slope is None and amplified is None:
        return None
    falling = slope if slope is not None else (amplified or 1.0) - 1.0
    left = None
    if level is not None and falling < 0:
        left = max(0.0, level - findings.live.client.timeout_s) / -falling
    return _Drain(amplified, slope, error, left)


def _backlog_slope(
    server: pd.DataFrame, live: Experiment, start_s: float, end_s: float
) -> tuple[float | None, float, float | None]:
    """Change of the backlog in s/s from end to end, its standard error, and the backlog at the end.

    The error is that of a random walk with the variance of the failing service: √(variance/length)/C.
    The first m timeouts are left out if enough remains: the trigger's retries still arrive then.
    """
    t, backlog = server["t_s"].to_numpy(), server["backlog_s"].to_numpy()
    inside = (t >= start_s) & (t <= end_s) & np.isfinite(backlog)
    client, service = live.client, live.service
    settled = start_s + min(client.max_attempts, SLOPE_TIMEOUTS) * client.timeout_s
    if end_s - settled >= SLOPE_TIMEOUTS * client.timeout_s:
        inside &= t >= settled
    t, backlog = t[inside], backlog[inside]
    if service is None or t.size < 2 or t[-1] - t[0] < 0.8 * SLOPE_TIMEOUTS * client.timeout_s:
        return None, 0.0, float(backlog[-1]) if t.size else None
    attempts = client.amplification if math.isfinite(client.amplification) else 1.0
    variance = failing_variance_per_s(
        arrival_rate_per_s=live.demand.arrival_rate_per_s,
        capacity_per_s=service.capacity_per_s,
        amplification=attempts,
    )
    length = float(t[-1] - t[0])
    error = math.sqrt(variance / length) / service.capacity_per_s
    return float(backlog[-1] - backlog[0]) / length, error, float(backlog[-1])


def _after_shed(
    attempts: Attempts, server: pd.DataFrame, findings: Findings, scale: float
) -> tuple[AfterShed | None, list[str]]:
    """What shedding did to a service that was failing when it began; None if it was not, or none was shed."""
    live = findings.live
    if live.shed is None:
        return None, []
    if not findings.failing_at_end:
        return None, ["The service was not failing when shedding began."]
    window = Window.judged(attempts, *live.shed, live.client.timeout_s)
    if window.end_s - window.start_s < WATCHED_TIMEOUTS * window.timeout_s:
        return "undecided", ["Less than two timeouts of the shedding were seen: nothing to judge."]
    last = last_failure_s(attempts, window)
    if last is not None:
        took = (last - window.start_s) * scale
        return "recovered", [f"After shedding began, the last failing attempt was sent {took:,.0f} s later."]
    return _failing_after_shed(server, findings, window, scale)


def _failing_after_shed(
    server: pd.DataFrame, findings: Findings, window: Window, scale: float
) -> tuple[AfterShed, list[str]]:
    last_phase = findings.live.placed_phases[-1].start_s
    enough = window.end_s - last_phase >= SLOPE_TIMEOUTS * window.timeout_s
    drain = _drain(server, findings, last_phase if enough else window.start_s, window.end_s)
    if drain is not None:
        said = ["After shedding the service kept failing.", *drain.sentences(scale)]
        return ("undecided" if drain.draining else "trapped"), said
    if window.end_s - window.start_s >= FOREIGN_TIMEOUTS * window.timeout_s * (1 - 1e-9):
        return "trapped", ["The service failed through all of the shedding; its backlog is not known."]
    return "undecided", ["The service still failed when shedding ended, after less than 10 timeouts of it."]
