"""Tells the harness why attempts ended as errors, when there is something new to tell."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from domain.trigger.messages import TROUBLES_EVERY_S, Troubles


class TroubleTeller:
    """Watches the cumulative ``reasons`` (text → count); ``tell`` is given what they have come to."""

    def __init__(self, reasons: Mapping[str, int], tell: Callable[[Troubles], None]) -> None:
        self._reasons = reasons
        self._tell = tell
        self._told_s = -math.inf
        self._told = 0

    def look(self, now_s: float, *, last: bool = False) -> None:
        """Tell what is new at ``now_s``, unless something was told just now; the last time all the same."""
        if not last and now_s - self._told_s < TROUBLES_EVERY_S:
            return
        counted = sum(self._reasons.values())
        if counted != self._told:
            self._told, self._told_s = counted, now_s
            self._tell(Troubles(now_s, dict(self._reasons)))
