"""What every attempt of any kind passes before it is sent: the ceilings, and whether the test may go on."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

from greenlet import GreenletExit

from domain.trigger.plan import Ceiling

CeilingName = Literal["rate_per_s", "attempts", "duration_s"]
_WINDOW_S = 1.0
_PACED_SHARE = 0.9
"""What is paced by us takes at most so much of the ceiling on the rate."""


class Guard:
    """Lets at most ``ceiling.rate_per_s`` attempts pass in any one second, and ``ceiling.attempts`` in all.

    The attempt that would be one too many does not pass, and after it none does. From ``look_at_s`` on every
    attempt first has ``look`` called, which sets ``look_at_s`` anew or closes the guard. ``exceeded`` is
    called with the ceiling that was reached. Times are seconds since the start.
    """

    __slots__ = (
        "_exceeded",
        "_look",
        "_most",
        "_paced",
        "_position",
        "_recent",
        "closed",
        "look_at_s",
        "pace_s",
        "sent",
    )

    def __init__(
        self,
        ceiling: Ceiling,
        exceeded: Callable[[CeilingName], None],
        look: Callable[[float], None] = lambda _now_s: None,
    ) -> None:
        self._exceeded = exceeded
        self._look = look
        self._most = ceiling.attempts
        self._recent = [-math.inf] * max(int(ceiling.rate_per_s), 1)
        """When the last so many attempts were sent, as a ring; the oldest is at ``_position``."""
        self._position = 0
        self._paced = max(int(len(self._recent) * _PACED_SHARE), 1)
        self.pace_s = _WINDOW_S / self._paced
        """How far apart attempts are that are sent as fast as is allowed with room left for others."""
        self.look_at_s = math.inf
        self.closed = False
        self.sent = 0

    def __call__(self, now_s: float) -> None:
        """An attempt is about to be sent. Raises ``GreenletExit`` if it must not be."""
        if now_s >= self.look_at_s:
            self._look(now_s)
        recent, position = self._recent, self._position
        if self.closed or now_s - recent[position] < _WINDOW_S or self.sent >= self._most:
            self._refuse()
        recent[position] = now_s
        position += 1
        self._position = position if position < len(recent) else 0
        self.sent += 1

    def room_s(self, now_s: float) -> float:
        """How long to wait before an attempt leaves the rate well below its ceiling."""
        # The attempt that is so many attempts back must be a second old.
        return max(self._recent[self._position - self._paced] + _WINDOW_S - now_s, 0.0)

    def _refuse(self) -> None:
        if not self.closed:
            self.closed = True
            self._exceeded("attempts" if self.sent >= self._most else "rate_per_s")
        raise GreenletExit
