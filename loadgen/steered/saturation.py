"""A closed loop: so many patient requests open at any time, each followed by the next, without retries."""

from __future__ import annotations

from collections.abc import Callable

from domain.attempts import Outcome
from loadgen.crew import Crew
from loadgen.steered.guard import Guard
from loadgen.steered.patient import PatientLine

_FAILED_PACE_S = 0.1
"""A loop whose requests fail at once sends no more than one in this time: a dead service is not hammered."""
_INSTANT_S = 0.001


class Saturation:
    """Loops, as many as were asked for last. ``failed`` is told of a bug in one of them."""

    def __init__(self, line: PatientLine, guard: Guard, failed: Callable[[Exception], None]) -> None:
        self.line = line
        self._guard = guard
        self._failed = failed
        self._crew = self._new_crew()
        self._wanted = 0
        self._running: set[int] = set()
        self._slot_s = 0.0
        self.answered = 0
        self.failures = 0

    def keep(self, in_flight: int) -> None:
        """From now on so many; what is open beyond that comes to its end. For callbacks of the event loop."""
        self._wanted = in_flight
        running = self._running
        for number in range(in_flight):
            if running is self._running and number not in running:
                running.add(number)
                self._crew.start(self._loop, number, running)

    def drop(self) -> None:
        """Hang up on all of them and start none."""
        self._wanted = 0
        self.line.drop()
        # Loops that are still to end keep their own set of numbers; new ones cannot meet them.
        self._running = set()
        self._crew.end_all()
        self._crew = self._new_crew()

    def _new_crew(self) -> Crew:
        return Crew(self._failed, lambda: None)

    def _loop(self, number: int, running: set[int]) -> None:
        crew = self._crew
        try:
            while self._goes_on(number, running):
                if not self._paced(crew) or not self._goes_on(number, running):
                    continue
                pause_s = self._send()
                if pause_s is None:
                    return
                if pause_s >= 0:
                    crew.sleep(pause_s)
        finally:
            running.discard(number)

    def _goes_on(self, number: int, running: set[int]) -> bool:
        return running is self._running and number < self._wanted

    def _paced(self, crew: Crew) -> bool:
        """Wait for a turn; False if there is no room for it all the same."""
        # Turns are given out evenly spaced, so that no loop waits for the same one as another.
        now_s = self.line.now_s
        turn_s = max(self._slot_s, now_s)
        self._slot_s = turn_s + self._guard.pace_s
        if turn_s > now_s:
            crew.sleep(turn_s - now_s)
        room_in_s = self._guard.room_s(self.line.now_s)
        if room_in_s > 0:
            crew.sleep(room_in_s)
        return room_in_s == 0

    def _send(self) -> float | None:
        """One request; how long to pause after it (negative: not at all), None if it was dropped."""
        sent_s = self.line.now_s
        answer = self.line.exchange()
        if answer is None:
            return None
        took_s = self.line.now_s - sent_s
        if answer[0] is Outcome.OK:
            self.answered += 1
            # A request that ended without waiting has let nothing else run.
            return 0.0 if took_s < _INSTANT_S else -1.0
        self.failures += 1
        return max(_FAILED_PACE_S - took_s, 0.0)
