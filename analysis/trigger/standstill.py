"""A queue that is full at a wait beyond the timeout: it cannot grow, and it does not drain."""

from __future__ import annotations

import numpy as np

from analysis.trigger.observations import Observations
from analysis.trigger.slope import ANSWERED
from analysis.trigger.standing import wait_s
from analysis.wording import percent, seconds

LEAST_PROBES = 6
LEAST_TIMEOUTS = 4.0
FLAT = 0.15
"""Widest robust spread of the waits, as a share of their median."""
TURNED_AWAY = 0.05
"""Least share of attempts turned away, or of probes that failed."""


def full_queue(
    seen: Observations, timeout_s: float, settled_s: float, *, turned_away: bool = True
) -> str | None:
    """Why it is trapped at a full queue, in a sentence; None if that is not what is seen.

    Of the probes sent since ``settled_s``, over some timeouts: answered after the same wait, above the
    timeout, while attempts are rejected, or probes fail to connect. Without ``turned_away`` rejections do
    not count: they are a gateway's no to work that is done all the same.
    """
    sent = seen.probes_sent(settled_s)
    answered = [probe for probe in sent if probe.outcome in ANSWERED]
    if len(answered) < LEAST_PROBES or answered[-1].sent_s - answered[0].sent_s < LEAST_TIMEOUTS * timeout_s:
        return None
    waits = np.array([wait_s(probe) for probe in answered])
    quarter, median, three_quarters = np.quantile(waits, [0.25, 0.5, 0.75])
    if median <= timeout_s or three_quarters - quarter > FLAT * median:
        return None
    away = turned_away_share(seen, settled_s) if turned_away else 0.0
    lost = 1.0 - len(answered) / len(sent)
    if max(away, lost) < TURNED_AWAY:
        return None
    return (
        f"Its queue is full at a wait of {seconds(float(median))}, beyond the timeout of "
        f"{seconds(timeout_s)}: what it does is late, and {percent(max(away, lost))} of what comes is turned "
        "away, so more comes than it does."
    )


def turned_away_share(seen: Observations, start_s: float) -> float:
    """Share of the attempts since then that were rejected or ended by an error."""
    now = seen.now_s
    sent = seen.counted("first", start_s, now) + seen.counted("retries", start_s, now)
    away = seen.counted("rejected", start_s, now) + seen.counted("errors", start_s, now)
    return away / sent if sent else 0.0
