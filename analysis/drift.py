"""Does the backlog of a failing service grow or drain? One drift, estimated twice, each with its error.

The drift is the backlog's growth in seconds of work per second: Aρ − 1 in the theory. It is read off
the attempts (settled ingress over capacity, less 1) and off the target's own backlog (its change over
the settled part of the window). Both errors follow from counts and from the spread of the service time,
not from the scatter around a line: the backlog is a random walk, so its residuals are correlated and would
promise far too much. The two see much the same arrivals, so their mean is taken with the larger of the
errors, and one test is made of it. A service of somebody else is taken to be exponential: its spread is not
known, and heavier services than that are called trapped, or draining, too often.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
import pandas as pd

from analysis.estimators import Findings, retry_span_s
from analysis.fleets.rest import at_rest
from analysis.spread import dispersion, failing_variance_per_s, squared_variation
from analysis.trace import Attempts
from analysis.trap import attempts_a_job
from domain.experiment import Experiment

CONFIDENCE = 0.95
"""One-sided: a service at the very edge is called trapped, or draining, in one run of twenty each."""
SIGMAS = NormalDist().inv_cdf(CONFIDENCE)
SLOPE_TIMEOUTS = 5.0
"""Shortest window, in timeouts, over which a trend of the backlog is worth anything."""
LONGEST_ADVICE = 1000.0
"""A watch that would have to be this many times as long is not worth advising."""

Direction = Literal["grows", "drains", "unclear"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number and its standard error, both in the same unit."""

    value: float
    error: float

    def above(self, limit: float) -> bool:
        """Whether it lies above the limit at the stated confidence."""
        return self.value - SIGMAS * self.error >= limit

    def below(self, limit: float) -> bool:
        """Whether it lies below the limit at the stated confidence."""
        return self.value + SIGMAS * self.error <= limit


@dataclass(frozen=True, slots=True)
class Drift:
    """What a failing window shows of the backlog; seconds are those of the wall clock.

    ``amplified_utilization`` is settled ingress over capacity; ``slope`` the backlog's change in seconds
    of work per second; ``level_s`` the last backlog above the timeout. ``known`` is False for a service
    that told nothing of its backlog or capacity.
    """

    amplified_utilization: Estimate | None
    slope: Estimate | None
    level_s: float | None
    known: bool

    @property
    def mean(self) -> Estimate | None:
        """The drift in seconds of work per second, from what there is of the two; None if unsettled."""
        estimates = [self.slope] if self.slope is not None else []
        if self.amplified_utilization is not None:
            utilization = self.amplified_utilization
            estimates.append(Estimate(utilization.value - 1.0, utilization.error))
        if not estimates:
            return None
        # Choosing the smaller error instead would favour the lower estimate: the errors grow with them.
        mean = sum(estimate.value for estimate in estimates) / len(estimates)
        return Estimate(mean, max(estimate.error for estimate in estimates))

    @property
    def direction(self) -> Direction:
        """Positive evidence for one or the other, or neither."""
        mean = self.mean
        if mean is None:
            return "unclear"
        if mean.above(0.0):
            return "grows"
        return "drains" if mean.below(0.0) else "unclear"

    def sentences(self, scale: float) -> list[str]:
        """The numbers, what they say, and what would say more; ``scale`` turns seconds into scenario time."""
        said = []
        if self.amplified_utilization is not None:
            ratio = self.amplified_utilization
            said.append(f"Measured ingress is {ratio.value:.3f} ± {ratio.error:.3f} of measured capacity.")
        if self.slope is not None:
            slope = self.slope
            said.append(
                f"The reported backlog changes by {slope.value:+.3f} ± {slope.error:.3f} s of work a second."
            )
        said.append(self._conclusion())
        mean = self.mean
        if mean is not None and mean.value < 0 and self.level_s is not None:
            left = max(0.0, self.level_s) / -mean.value
            said.append(f"At this rate it fails for about {left * scale:,.0f} s more.")
        return said

    def _conclusion(self) -> str:
        mean = self.mean
        if mean is None:
            return "Too little was seen after the trigger's own retries to tell whether the backlog drains."
        if self.direction != "unclear":
            verb = "does not drain" if self.direction == "grows" else "drains"
            return f"The backlog {verb} (one-sided, {CONFIDENCE:.0%} confidence)."
        # Twice the quantile: then a drift of this size would be told in 19 runs of 20.
        times = (2 * SIGMAS * mean.error / mean.value) ** 2 if mean.value else math.inf
        advice = f"; a watch {times:,.0f} times as long would" if times < LONGEST_ADVICE else ""
        return f"That does not tell at {CONFIDENCE:.0%} confidence whether the backlog drains{advice}."


def drift_of(
    attempts: Attempts, server: pd.DataFrame, findings: Findings, start_s: float, end_s: float
) -> Drift:
    """The drift of the backlog in a failing window, times in seconds of the wall clock.

    Ingress is settled over the watch, so it counts only for windows inside it.
    """
    in_watch = start_s >= findings.watch.start_s and end_s <= findings.watch.end_s
    ratio = _amplified_utilization(findings) if in_watch else None
    capacity = None if findings.live.service is None else findings.live.service.capacity_per_s
    t, backlog = server["t_s"].to_numpy(), server["backlog_s"].to_numpy()
    rest = at_rest(server, findings.live, start_s, end_s)
    if rest is not None and findings.live.service is not None:
        # Work is told over the capacity of its moment; a trend needs one capacity for all.
        start_s, capacity = rest.since_s, rest.pods * findings.live.service.rate_per_pod
        backlog = backlog * server["pods"].to_numpy() / rest.pods
    inside = (t >= start_s) & (t <= end_s) & np.isfinite(backlog)
    known = ratio is not None or bool(inside.any())
    level = float(backlog[inside][-1]) - findings.live.client.timeout_s if inside.any() else None
    inside &= t >= settled_from_s(findings.live, start_s)
    slope = (
        None if capacity is None else _slope(attempts, findings.live, t[inside], backlog[inside], capacity)
    )
    return Drift(ratio, slope, level, known)


def settled_from_s(live: Experiment, start_s: float) -> float:
    """When the retries of what came before have gone: m timeouts and the backoffs; 5 for an endless client,
    whose retries never go."""
    span = retry_span_s(live)
    return start_s + (span if math.isfinite(span) else SLOPE_TIMEOUTS * live.client.timeout_s)


def _amplified_utilization(findings: Findings) -> Estimate | None:
    """Aρ ± Aρ·√(1/jobs + c²/completions), c² the squared variation of that many services.

    Attempts come A at a time, so jobs are the independent samples.
    """
    ratio, samples = findings.values["amplified_utilization"], findings.samples
    completed = samples.get("capacity_per_s", 0)
    jobs = samples.get("ingress_per_s", 0) / attempts_a_job(findings.live)
    if ratio is None or findings.values["ingress_per_s"] is None or not completed or not jobs:
        return None
    works = _works(findings.live, completed)
    return Estimate(ratio, ratio * math.sqrt(dispersion(findings.live) / jobs + works / completed))


def _slope(
    attempts: Attempts,
    live: Experiment,
    t_s: np.ndarray[tuple[int], np.dtype[np.float64]],
    backlog_s: np.ndarray[tuple[int], np.dtype[np.float64]],
    capacity_per_s: float,
) -> Estimate | None:
    """Change of the backlog from end to end ± √((A²λ+c²C)/length)/C, λ as measured in the same time.

    End to end is the best that can be made of a random walk. None below 5 timeouts (less a scrape or two).
    """
    client = live.client
    if t_s.size < 2 or t_s[-1] - t_s[0] < 0.8 * SLOPE_TIMEOUTS * client.timeout_s:
        return None
    length = float(t_s[-1] - t_s[0])
    due = attempts.job_planned_s
    jobs = int(((due >= t_s[0]) & (due < t_s[-1])).sum())
    variance = failing_variance_per_s(
        live,
        arrival_rate_per_s=jobs / length,
        capacity_per_s=capacity_per_s,
        squared_variation=_works(live, capacity_per_s * length),
    )
    error = math.sqrt(variance / length) / capacity_per_s
    return Estimate(float(backlog_s[-1] - backlog_s[0]) / length, error)


def _works(live: Experiment, services: float) -> float:
    """c² of a service time, up to the work that one run in twenty has: with an infinite variance, and an
    even chance of a larger work, one run in eleven at the very edge would be called trapped."""
    return squared_variation(live, services / (1.0 - CONFIDENCE))
