"""How the service stands now: failing, or back, and since when; read off the counters of the ticks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.trigger.observations import Observations
from analysis.trigger.slope import ANSWERED
from domain.trigger.messages import ProbeLine

BACK_TIMEOUTS = 2.0
BACK_ATTEMPTS = 20
BACK_SHARE = 0.95
"""It is back when, over so many timeouts and attempts at least, this share of the baseline's is answered."""
BACK_WAIT = 0.7
"""Of the timeout: recent probes must come back sooner than that."""
FAILING_SHARE = 0.5
LEAST_ENDED = 5
PUSHED_SHARE = 0.1
"""Of the spike's attempts: if fewer failed, and no probe waited for a timeout, the spike was no trigger."""


@dataclass(frozen=True, slots=True)
class Standing:
    """``answered``: share of the attempts that ended lately; None if too few did."""

    answered: float | None
    is_back: bool
    recovered_s: float | None
    """Seconds from the end of the spike to the last failing, if it is back."""


def standing(
    seen: Observations, timeout_s: float, spike_end_s: float, baseline_answered: float, probing: bool
) -> Standing:
    """How the attempts that ended lately fared; ``probing``: whether patient probes are sent."""
    window_s = _window_s(seen, timeout_s, spike_end_s)
    lately = answered_share(seen, seen.now_s - timeout_s, seen.now_s)
    if window_s is None:
        return Standing(lately, False, None)
    now = seen.now_s
    share = answered_share(seen, now - window_s, now)
    enough = BACK_SHARE * baseline_answered
    back = share is not None and share >= enough
    if not back or (probing and not _probes_come_back(seen, now - window_s, timeout_s)):
        return Standing(lately if lately is not None else share, False, None)
    last = _last_failing_s(seen, timeout_s, spike_end_s, enough)
    return Standing(lately, True, max(0.0, last - spike_end_s))


def answered_share(seen: Observations, start_s: float, end_s: float) -> float | None:
    """Share of the attempts that ended in this time which were answered in time; None below a few."""
    answered, failed = seen.counted("answered", start_s, end_s), seen.counted("failed", start_s, end_s)
    return answered / (answered + failed) if answered + failed >= LEAST_ENDED else None


def was_pushed(seen: Observations, timeout_s: float, start_s: float, end_s: float, answered: float) -> bool:
    """Whether the spike from ``start_s`` to ``end_s`` made attempts fail, or a probe wait for a timeout.

    ``answered`` is the share that is answered without a spike.
    """
    if any(wait_s(probe) > timeout_s for probe in seen.probes_sent(start_s)):
        return True
    return failed_share(seen, start_s, end_s, answered) > PUSHED_SHARE


def failed_share(seen: Observations, start_s: float, end_s: float, answered: float) -> float:
    """Attempts that failed since ``start_s``, less those that fail anyway, over the spike's first
    attempts."""
    now = seen.now_s
    ended = seen.counted("answered", start_s, now) + seen.counted("failed", start_s, now)
    failed = seen.counted("failed", start_s, now) - (1.0 - answered) * ended
    return max(0.0, failed) / max(1, seen.counted("first", start_s, end_s))


def wait_s(probe: ProbeLine) -> float:
    """From sent to ended."""
    return probe.done_s - probe.sent_s


def _window_s(seen: Observations, timeout_s: float, spike_end_s: float) -> float | None:
    """The shortest time up to now of enough timeouts and attempts; None if it reaches back into the spike."""
    now, length = seen.now_s, BACK_TIMEOUTS * timeout_s
    while now - length >= spike_end_s:
        ended = seen.counted("answered", now - length, now) + seen.counted("failed", now - length, now)
        if ended >= BACK_ATTEMPTS:
            return length
        length += timeout_s
    return None


def _probes_come_back(seen: Observations, start_s: float, timeout_s: float) -> bool:
    waits = [wait_s(probe) for probe in seen.probes_sent(start_s) if probe.outcome in ANSWERED]
    return bool(waits) and float(np.median(waits)) <= BACK_WAIT * timeout_s


def _last_failing_s(seen: Observations, timeout_s: float, spike_end_s: float, enough: float) -> float:
    """The last failure in the last timeout of which too few were answered; the spike's end if there was
    none."""
    times = seen.column("t_s", spike_end_s - timeout_s)
    answered = seen.column("answered", spike_end_s - timeout_s)
    failed = seen.column("failed", spike_end_s - timeout_s)
    before = np.maximum(np.searchsorted(times, times - timeout_s, side="right") - 1, 0)
    good, bad = answered - answered[before], failed - failed[before]
    poor = np.flatnonzero((good < enough * (good + bad)) & (bad >= 2) & (times >= spike_end_s))
    if not poor.size:
        return spike_end_s
    rises = np.flatnonzero(np.diff(failed, prepend=failed[0]) > 0)
    rises = rises[rises <= poor[-1]]
    return float(times[rises[-1]]) if rises.size else spike_end_s
