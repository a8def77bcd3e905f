"""Patient probes, evenly spaced: each waits until the service gets to it, and so sees the true wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gevent import get_hub

from domain.trigger.messages import ProbeLine
from loadgen.crew import Crew
from loadgen.steered.patient import PatientLine

_MOST_SERVER_TEXT = 200

Counters = Callable[[], tuple[int, int]]
"""The attempts of any kind that have been sent, and those of them that were turned away."""


class Probes:
    """Sends a probe every 1/rate seconds; above ``most_open`` open ones none is sent.

    ``tell`` is given each one that ended, ``failed`` a bug.
    """

    def __init__(
        self,
        line: PatientLine,
        most_open: int,
        counters: Counters,
        tell: Callable[[ProbeLine], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self.line = line
        self._most_open = most_open
        self._counters = counters
        self._tell = tell
        self._failed = failed
        self._crew = self._new_crew()
        self._every_s: float | None = None
        self._last_s = -float("inf")
        self._due_s = 0.0
        self._timer: Any = None

    def keep(self, rate_per_s: float) -> None:
        """From now on so many; what is open goes on."""
        self._disarm()
        self._every_s = None
        if rate_per_s > 0:
            self._every_s = 1.0 / rate_per_s
            self._due_s = max(self._last_s + self._every_s, self.line.now_s)
            self._arm()

    def drop(self) -> None:
        """Hang up on all of them and start none."""
        self.keep(0.0)
        self.line.drop()
        self._crew.end_all()
        self._crew = self._new_crew()

    def _new_crew(self) -> Crew:
        return Crew(self._failed, lambda: None)

    def _arm(self) -> None:
        self._timer = get_hub().loop.timer(max(self._due_s - self.line.now_s, 0.0))
        self._timer.start(self._wake, update=True)

    def _disarm(self) -> None:
        if self._timer is not None:
            self._timer.close()
            self._timer = None

    def _wake(self) -> None:
        self._disarm()
        try:
            if self.line.open < self._most_open:
                self._crew.start(self._probe, None, None)
        except Exception as error:  # the event loop would print it and go on without probes
            self._failed(error)
        if self._every_s is not None and self._timer is None:
            # What a loop that was held up has missed is not made up for.
            missed = max((self.line.now_s - self._due_s) // self._every_s, 0.0)
            self._due_s += (1.0 + missed) * self._every_s
            self._arm()

    def _probe(self, _one: None, _other: None) -> None:
        line, number = self.line, self.line.sent
        sent_s, (before, turned_away) = line.now_s, self._counters()
        self._last_s = sent_s
        answer = line.exchange()
        if answer is None:
            return
        outcome, status, server = answer
        self._tell(
            ProbeLine(
                number,
                sent_s,
                line.now_s,
                outcome.value,
                status,
                before,
                turned_away,
                server[:_MOST_SERVER_TEXT],
            )
        )
