"""A service that is gone: for some timeouts all that is sent to it ends at once by an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.trigger.observations import Observations
from analysis.trigger.result import Shot
from analysis.trigger.troubles import reasons_text
from analysis.wording import number

GONE_TIMEOUTS = 2.0
"""So long attempts end by errors when a service is called gone."""
DOWN_TIMEOUTS = 5.0
"""After so long it stays down: there is nothing to be watched."""
ERRORS_SHARE = 0.9
"""Least share of errors among what ends meanwhile; a full queue answers somebody, or lets them wait."""
LEAST_ERRORS = 5
CRASHED = "it refused connections: it crashed or was restarted"


@dataclass(frozen=True, slots=True)
class Gone:
    """From ``start_s`` to ``end_s`` of the lines it refused connections; ``end_s`` None: it still does."""

    start_s: float
    end_s: float | None
    said: str


def gone(seen: Observations, timeout_s: float, since_s: float) -> Gone | None:
    """The first stretch since then in which practically all attempts ended by errors, for at least
    ``GONE_TIMEOUTS`` timeouts; None if there is none."""
    if seen.counted("errors", since_s, seen.now_s) < LEAST_ERRORS:
        return None
    times, errors = seen.column("t_s", since_s), seen.column("errors", since_s)
    ended = seen.column("answered", since_s) + seen.column("failed", since_s)
    before = np.searchsorted(times, times - GONE_TIMEOUTS * timeout_s, side="right") - 1
    whole = np.flatnonzero(before >= 0)
    some, failed = errors[whole] - errors[before[whole]], ended[whole] - ended[before[whole]]
    down = (some >= LEAST_ERRORS) & (some >= ERRORS_SHARE * failed)
    if not down.any():
        return None
    first = int(np.argmax(down))
    start = times[before[whole[first]]]
    up = np.flatnonzero(~down[first:])
    end = None if not up.size else float(times[whole[first + up[0]]])
    # A window that has just become poor of errors ends a little after they do.
    rises = times[np.flatnonzero(np.diff(errors, prepend=errors[0]) > 0)]
    if end is not None:
        end = float(rises[rises <= end][-1])
    began = float(rises[rises > start][0])
    return Gone(began, end, _said(began, end, seen))


def stayed_down(shot: Shot) -> bool:
    """Whether this shot's finding is that the service crashed, and no more."""
    return shot.verdict == "undecided" and says_crashed(shot.evidence)


def says_crashed(evidence: Sequence[str]) -> bool:
    """Whether the first sentence is that of ``gone``."""
    return bool(evidence) and CRASHED in evidence[0]


def _said(start_s: float, end_s: float | None, seen: Observations) -> str:
    until = "on" if end_s is None else f"to t = {number(end_s)} s"
    reasons = reasons_text(seen.error_reasons)
    return f"From t = {number(start_s)} s {until} {CRASHED}" + (f" ({reasons})." if reasons else ".")
