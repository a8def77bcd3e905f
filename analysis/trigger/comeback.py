"""A service that answers again by itself: would a plain one, after the same spike?"""

from __future__ import annotations

import math

from analysis.trigger import offer
from analysis.trigger.interval_words import interval_words
from analysis.trigger.measured import Measured
from analysis.trigger.observations import Observations
from analysis.trigger.result import Word
from analysis.trigger.shot_context import ShotContext
from analysis.trigger.standing import failed_share
from analysis.trigger.standstill import TURNED_AWAY, turned_away_share
from analysis.wording import number, percent, seconds

SHEDS = 0.9
"""Work per attempt over that of a healthy one, below which it sheds work."""
ADDS = 1.15
"""The same, above which a hidden layer adds attempts."""
FULLY_PUSHED = 0.75
"""Of the attempts of the spike that would fail at a plain service, 1 − 1/dose: fewer failures tell
nothing."""
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
