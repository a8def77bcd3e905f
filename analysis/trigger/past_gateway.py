"""Aρ from probes that go past a gateway, whose own retries are to be measured with the client's.

A hidden layer makes the push deep, and probes sent once the spike's retries have gone come back late. Those
of the storm before are back sooner. In a storm a hidden layer may retry less than later, if its retries are
capped, never more: a work per attempt that is too much in the storm is so afterwards. So the storm shows a
trap, never a recovery.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.trigger.hidden_tries import PARAMETERS, Chosen, SentSoFar, Stretches, attempts_arrived
from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval
from analysis.trigger.sequence import LEAST_SQUARED_VARIATION, LOW_ESTIMATE, Floats, boundary
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.slope import TUNED_TIMEOUTS, Slope, out_of_order, plain_slope, returned
from analysis.trigger.standing import wait_s
from domain.trigger.messages import ProbeLine

LEAST_STRETCHES = 3
"""Of the storm, or of the time after it."""


def slope_past_gateway(
    seen: Observations, shot: ShotContext, *, offered_per_s: float, probe_work_s: float
) -> Slope | None:
    """Aρ from the probes sent since the spike's end; None if too few are back, or if the service is not
    first in, first out. Its interval holds at all times at once, of either time with half the error.

    ``offered_per_s``: attempts/s of the client while all fail. ``probe_work_s``: work of a probe.
    """
    probes, timeout_s = seen.probes_sent(shot.spike_start_s), shot.timeout_s
    known = [p for p in probes if p.sent_s >= shot.spike_end_s and returned(p, timeout_s)]
    if out_of_order(probes, timeout_s) is not None:
        return None
    stretches = _stretches(known, timeout_s, probe_work_s)
    fit = attempts_arrived(stretches, SentSoFar(seen, shot.spike_start_s - 2.0 * timeout_s), timeout_s)
    if fit is None:
        return None
    attempts, variation = fit
    squared = max(LEAST_SQUARED_VARIATION, variation * _inflation(stretches.works_s.size - PARAMETERS))
    after_s = shot.settled_s + timeout_s
    storm, after = stretches.within(shot.spike_end_s, shot.settled_s), stretches.within(after_s)

    def found(chosen: Chosen, tuned_attempts: float) -> Slope | None:
        if chosen.sum() < LEAST_STRETCHES:
            return None
        work = _work_per_attempt(
            stretches.works_s[chosen], attempts[chosen], squared, tuned_attempts, 1.0 - shot.confidence
        )
        inside = [p for p in known if p.sent_s >= after_s]
        return Slope(
            work.times(offered_per_s),
            work.value * offered_per_s + shot.probe_rate_per_s * probe_work_s,
            work,
            plain_slope(inside),
            int(chosen.sum()) + 1,
            round(float(attempts[chosen].sum())),
            known[-1].sent_s,
            wait_s(known[-1]),
        )

    later = found(after, TUNED_TIMEOUTS * timeout_s * offered_per_s)
    if later is not None and not (later.amplified_utilization.low <= 1.0 <= later.amplified_utilization.high):
        return later
    early = found(storm, float(attempts[storm].sum())) if storm.any() else None
    return early if early is not None and early.amplified_utilization.low > 1.0 else later


def _stretches(known: Sequence[ProbeLine], timeout_s: float, probe_work_s: float) -> Stretches:
    sent = np.array([probe.sent_s for probe in known])
    done = np.array([probe.done_s for probe in known])
    probes = np.diff(np.array([probe.number for probe in known], dtype=np.float64))
    busy = (done[:-1] - sent[:-1] >= timeout_s) & (sent[1:] < done[:-1])
    return Stretches(sent[:-1][busy], sent[1:][busy], (np.diff(done) - probes * probe_work_s)[busy])


def _work_per_attempt(
    works_s: Floats, attempts: Floats, squared_variation: float, tuned_attempts: float, alpha: float
) -> Interval:
    many = float(attempts.sum())
    mean = float(works_s.sum()) / many
    share = float(boundary(squared_variation * many, squared_variation * tuned_attempts, alpha / 2.0)) / many
    return Interval(mean, max(0.0, mean * (1.0 - share)), mean * (1.0 + share))


def _inflation(freedom: int) -> float:
    """What sets an estimated variance up as if it were lower than most."""
    from scipy.special import chdtri

    return freedom / float(chdtri(freedom, 1.0 - LOW_ESTIMATE))
