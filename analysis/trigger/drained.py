"""A from how long a service stays busy: all that was sent to it while it failed has to be done first.

A gateway's own timeouts hide the queue, but not when it is empty: then an attempt is answered again. From the
start of the spike until then the service was busy all the time, so

    capacity · busy time = answered attempts + failed attempts · h,

h the tries that each failed attempt made of it, retries of hidden layers included. Needs the capacity.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from analysis.trigger.interval_words import interval_words
from analysis.trigger.observations import Observations
from analysis.trigger.result import Interval, Shot, Word
from analysis.wording import number, seconds

LEAST_FAILED = 60
SAMPLED_ERRORS = 2.0
"""Standard errors of the works' sum to either side, at an exponential service."""
WIDEST = 0.35
"""Of h: an interval that reaches farther to a side tells nothing."""


def tries_of_failed(
    seen: Observations, start_s: float, rescue_s: float, capacity_per_s: Interval
) -> Interval | None:
    """h, from the start of the spike and that of the rescue; None without an answer after it, or if too
    little is known.

    How long it was busy is known up to the time between the last failure and the first answer; attempts that
    were open when the load was dropped may have made any of their tries.
    """
    back = _back_between(seen, rescue_s)
    if back is None:
        return None
    before_s, after_s = back
    answered = seen.counted("answered", start_s, before_s)
    failed = seen.counted("failed", start_s, before_s) + seen.counted("saturated_failed", start_s, before_s)
    failed += seen.counted("probes_sent", start_s, rescue_s)
    tick = seen.at(rescue_s)
    open_then = tick.open_attempts if tick is not None else 0
    if failed < LEAST_FAILED:
        return None
    works = [
        capacity * (time_s - start_s)
        for capacity, time_s in ((capacity_per_s.low, before_s), (capacity_per_s.high, after_s))
    ]
    error = SAMPLED_ERRORS * float(np.sqrt(works[1]))
    low = (works[0] - answered - error) / (failed + open_then)
    high = (works[1] - answered + error) / failed
    middle = (capacity_per_s.value * ((before_s + after_s) / 2.0 - start_s) - answered) / (
        failed + open_then / 2.0
    )
    return Interval(middle, max(0.0, low), high)


def with_drain(
    shot: Shot,
    seen: Observations,
    *,
    spike_start_s: float,
    rescue_s: float,
    capacity_per_s: Interval,
    client_amplification: float,
) -> Shot:
    """The shot with A and a verdict by the time it took to drain, if nothing else could tell."""
    h = tries_of_failed(seen, spike_start_s, rescue_s, capacity_per_s)
    if shot.verdict != "undecided" or shot.amplification is not None or h is None:
        return shot
    if max(h.high - h.value, h.value - h.low) > WIDEST * h.value or not np.isfinite(client_amplification):
        return shot
    a = h.times(client_amplification)
    load = a.times(shot.utilization)
    verdict: Word = "trapped" if load.low > 1.0 else "recovers" if load.high < 1.0 else "undecided"
    back = _back_between(seen, rescue_s)
    decided_s = None if back is None or verdict == "undecided" else back[1] - shot.spike_end_s
    busy_s = 0.0 if back is None else sum(back) / 2.0 - spike_start_s
    said = (
        f"It took {seconds(busy_s)} from the start of the spike until all "
        f"that was sent had been done: each failed attempt made {number(h.value)} works of it, so A is "
        f"{interval_words(a)} and Aρ {interval_words(load)} (by its capacity, which is taken to be steady)."
    )
    return replace(
        shot,
        verdict=verdict,
        decided_s=decided_s,
        amplification=a,
        amplified_utilization=load,
        method="drain",
        evidence=(*shot.evidence, said),
    )


def _back_between(seen: Observations, rescue_s: float) -> tuple[float, float] | None:
    """The last time before, and the first time after, it was answering again, once the load was less."""
    times = seen.column("t_s", rescue_s)
    good = seen.column("answered", rescue_s) + seen.column("saturated", rescue_s)
    bad = seen.column("failed", rescue_s) + seen.column("saturated_failed", rescue_s)
    if not times.size or good[-1] <= good[0]:
        return None
    after = int(np.flatnonzero(good > good[0])[0])
    failures = np.flatnonzero(np.diff(bad[: after + 1], prepend=bad[0]) > 0)
    return float(times[failures[-1]] if failures.size else times[0]), float(times[after])
