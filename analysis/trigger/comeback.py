"""A service that answers again by itself: would a plain one, after the same spike? And when one will that
drains."""

from __future__ import annotations

import math

import numpy as np

from analysis.trigger import offer
from analysis.trigger.interval_words import interval_words
from analysis.trigger.measured import Measured
from analysis.trigger.observations import Floats, Observations
from analysis.trigger.result import Word
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.slope import Slope
from analysis.trigger.standing import failed_share
from analysis.trigger.standstill import TURNED_AWAY, turned_away_share
from analysis.wording import number, percent, seconds
from domain.experiment import Client

SHEDS = 0.9
"""Work per attempt over that of a healthy one, below which it sheds work."""
ADDS = 1.15
"""The same, above which a hidden layer adds attempts."""
FULLY_PUSHED = 0.75
"""Of the attempts of the spike that would fail at a plain service, 1 − 1/dose: fewer failures tell
nothing."""
STEPS_A_TIMEOUT = 20
"""How finely the queue is followed until its wait is below a timeout."""
NO_RETRIES = "Its client makes one attempt a job, so failures add no load."


def verdict_back(
    seen: Observations, shot: ShotContext, found: Measured, recovered_s: float
) -> tuple[Word | None, str]:
    """The verdict and its reason; None if the spike was too weak to tell."""
    client_a = shot.client_amplification
    share = found.work_share
    if adds_no_load(shot, found):
        return "not vulnerable", NO_RETRIES
    plain = client_a * shot.utilization
    expected = offer.plain_recovery_s(
        shot.client,
        client_a,
        shot.utilization,
        shot.spike_factor,
        shot.spike_end_s - shot.spike_start_s,
        3.0 * shot.watch_timeouts * shot.timeout_s,
    )
    if share is not None and share.high < SHEDS and recovered_s < expected / 2.0:
        return "not vulnerable", (
            f"An attempt sent while it failed cost it {percent(share.value)} of a healthy one's work "
            f"(at most {percent(share.high)}): it drops or turns away what nobody waits for any more."
        )
    measured = found.amplified_utilization
    if measured is not None and measured.high < 1.0:
        return "recovers", (
            f"While it failed its queue drained, first in, first out: Aρ was {interval_words(measured)}."
        )
    if shot.traps_a_plain_service:
        failed = failed_share(seen, shot.spike_start_s, shot.spike_end_s, shot.baseline_answered)
        weak = math.isfinite(expected) or failed < FULLY_PUSHED * (1.0 - 1.0 / max(1.0, shot.dose))
        if weak or _looks_plain(seen, shot, found):
            return None, (
                f"It came back, but the spike was weak: failed attempts were {percent(failed)} of the "
                "spike's, and a plain first-in first-out service would have come back as well."
            )
        return "not vulnerable", (
            "A plain first-in first-out service would have stayed failed: its client's Aρ is "
            f"{number(plain)}."
        )
    expected_text = f"after about {seconds(expected)}" if math.isfinite(expected) else "not at all"
    return "recovers", (
        f"A plain first-in first-out service would have come back {expected_text}: its client's Aρ is "
        f"{number(plain)}."
    )


def _looks_plain(seen: Observations, shot: ShotContext, found: Measured) -> bool:
    """Whether it served all that was sent, in order: then it came back by the chance of a weak spike."""
    serves_all = found.work_share is not None and found.work_share.value >= SHEDS
    return serves_all and turned_away_share(seen, shot.spike_start_s) < TURNED_AWAY


def adds_no_load(shot: ShotContext, found: Measured) -> bool:
    """Whether failures bring no further attempts: its client makes one a job, and nothing hidden adds to
    it."""
    hidden = found.work_share is not None and found.work_share.low > ADDS
    return shot.client_amplification <= 1.0 and not hidden


def predicted_recovery_s(seen: Observations, shot: ShotContext, found: Measured) -> float | None:
    """Seconds from the end of the spike until the last failing attempt ends; None if its queue grows.

    The wait goes on from that of the last probe, by the work that has come since it was sent; then by the
    work still to come: the spike's jobs have retries left until it is settled. What is sent once the wait is
    below the timeout is answered in time.
    """
    slope = found.slope
    if slope is None or slope.with_probes >= 1.0:
        return None
    now, timeout_s = seen.now_s, shot.timeout_s
    wait = max(0.0, slope.last_wait_s + _work_since(seen, slope) - (now - slope.last_sent_s))
    coming, step_s = _work_to_come(seen, shot, slope), timeout_s / STEPS_A_TIMEOUT
    time = now
    for work in coming:
        if wait <= timeout_s:
            break
        wait, time = max(0.0, wait + float(work) - step_s), time + step_s
    time += max(0.0, wait - timeout_s) / (1.0 - slope.with_probes)
    return time + timeout_s - shot.spike_end_s


def _work_since(seen: Observations, slope: Slope) -> float:
    """Seconds of work that have come since the last probe was sent."""
    sent_s, now = slope.last_sent_s, seen.now_s
    attempts = seen.counted("first", sent_s, now) + seen.counted("retries", sent_s, now)
    return attempts * slope.work_s.value + _own_load(slope) * (now - sent_s)


def _own_load(slope: Slope) -> float:
    """The probes' own work a second."""
    return slope.with_probes - slope.amplified_utilization.value


def _work_to_come(seen: Observations, shot: ShotContext, slope: Slope) -> Floats:
    """Seconds of work in each step from now until the spike is settled, all attempts failing."""
    now, step_s = seen.now_s, shot.timeout_s / STEPS_A_TIMEOUT
    edges = now + step_s * np.arange(max(0, math.ceil((shot.settled_s - now) / step_s)) + 1)
    later = _retries_after_s(shot.client)
    if later is None:
        return np.full(edges.size - 1, slope.with_probes * step_s)
    begun_s = _first_failing_s(seen, shot)
    attempts = np.full(edges.size - 1, shot.arrival_rate_per_s * step_s)
    for after_s in later:
        attempts += np.diff(_jobs_sent_by(np.maximum(edges - after_s, begun_s), seen, shot))
    return attempts * slope.work_s.value + _own_load(slope) * step_s


def _retries_after_s(client: Client) -> list[float] | None:
    """How long after a failing job's start each of its retries is sent, on average; None for a client that
    has no such plan: an endless or hedging one, or one that may refuse."""
    if client.may_refuse or client.hedging is not None or math.isinf(client.max_attempts):
        return None
    backoffs = [sum(client.backoff.bounds_s(number)) / 2.0 for number in range(1, int(client.max_attempts))]
    after = np.cumsum(np.array(backoffs) + client.timeout_s)
    return [float(after_s) for after_s in after if after_s < client.deadline_s]


def _first_failing_s(seen: Observations, shot: ShotContext) -> float:
    """When the first attempt was sent that failed by the spike."""
    times, failed = seen.column("t_s", shot.spike_start_s), seen.column("timeouts", shot.spike_start_s)
    rises = np.flatnonzero(failed > failed[0]) if failed.size else np.zeros(0)
    first = float(times[rises[0]]) if rises.size else shot.spike_end_s
    return max(shot.spike_start_s, first - shot.timeout_s)


def _jobs_sent_by(at_s: Floats, seen: Observations, shot: ShotContext) -> Floats:
    """First attempts sent by then: as counted, and from now on as asked."""
    times, first = seen.column("t_s"), seen.column("first")
    known: Floats = np.interp(at_s, times, first)
    return known + shot.arrival_rate_per_s * np.maximum(0.0, at_s - seen.now_s)
